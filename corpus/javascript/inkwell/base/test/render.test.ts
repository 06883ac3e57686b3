import { describe, expect, it } from 'vitest';
import { lookup, render } from '../src/render.js';
import { MENU, PAGE, renders } from './support/templates.js';

describe('render', () => {
  it('renders the page', () => {
    expect(render(PAGE, MENU)).toMatchSnapshot();
  });

  it('renders the page for a user', () => {
    expect(render(PAGE, { ...MENU, user: { name: 'Ann' } })).toMatchSnapshot();
  });

  it('escapes', () => {
    renders('[[ a ]]', { a: '<b>"x" & y</b>' }, '&lt;b&gt;&quot;x&quot; &amp; y&lt;/b&gt;');
    renders('[[ a | raw ]]', { a: '<b>' }, '<b>');
  });

  it.each([
    ['[[ a ]]', {}, ''],
    ['[[ a.b.c ]]', { a: null }, ''],
    ['[[ a ]]', { a: 0 }, '0'],
    ['[[ a | length ]]', { a: [1, 2, 3] }, '3'],
    ['[[ a | trim | upper ]]', { a: ' x ' }, 'X'],
    ['{% if a %}yes{% else %}no{% endif %}', { a: [] }, 'yes'],
    ['{% for x in xs %}[[ x ]],{% endfor %}', { xs: [1, 2] }, '1,2,'],
    ['{% for x in xs %}[[ x ]]{% endfor %}', {}, ''],
  ])('%s of %j', (source, scope, expected) => {
    renders(source, scope, expected);
  });

  it('knows its filters', () => {
    expect(() => render('[[ a | shout ]]')).toThrow('unknown filter shout');
  });
});

describe('lookup', () => {
  it('follows a path', () => {
    expect(lookup({ a: { b: [10, 20] } }, 'a.b.1')).toBe(20);
  });
});
