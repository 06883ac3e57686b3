import { describe, expect, it } from 'vitest';
import { TemplateError, lex } from '../src/lexer.js';

describe('lex', () => {
  it('splits text, prints and tags', () => {
    expect(lex('a [[ b.c | upper|trim ]] {% if d %}')).toEqual([
      { kind: 'text', value: 'a ' },
      { kind: 'print', path: 'b.c', filters: ['upper', 'trim'] },
      { kind: 'text', value: ' ' },
      { kind: 'tag', name: 'if', rest: 'd' },
    ]);
  });

  it('has no tokens for nothing', () => {
    expect(lex('')).toEqual([]);
  });

  it('wants what it opens closed', () => {
    expect(() => lex('a [[ b')).toThrow(TemplateError);
    expect(() => lex('{% if')).toThrow('{% is not closed');
  });
});
