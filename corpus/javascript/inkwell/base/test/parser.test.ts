import { describe, expect, it } from 'vitest';
import { parse } from '../src/parser.js';
import { PAGE } from './support/templates.js';

describe('parse', () => {
  it('nests', () => {
    expect(parse('{% for x in xs %}{% if not x %}-{% else %}[[ x ]]{% endif %}{% endfor %}')).toEqual([
      {
        kind: 'for',
        variable: 'x',
        path: 'xs',
        body: [
          {
            kind: 'if',
            path: 'x',
            negate: true,
            then: [{ kind: 'text', value: '-' }],
            otherwise: [{ kind: 'print', path: 'x', filters: [] }],
          },
        ],
      },
    ]);
  });

  it('reads the page', () => {
    expect(parse(PAGE).map((node) => node.kind)).toEqual(['text', 'print', 'text', 'for', 'text', 'if', 'text']);
  });

  it.each([
    ['{% for in xs %}', 'cannot read for in xs'],
    ['{% while x %}', 'unknown tag while'],
  ])('rejects %s', (source, message) => {
    expect(() => parse(source)).toThrow(message);
  });
});
