import { expect } from 'vitest';
import { type Scope, render } from '../../src/render.js';

export const PAGE = `<h1>[[ title ]]</h1>
<ul>
{% for item in items %}  <li{% if item.hot %} class="hot"{% endif %}>[[ item.name | title ]]</li>
{% endfor %}</ul>
{% if user %}Hello [[ user.name ]]{% else %}Sign in{% endif %}
`;

export const MENU: Scope = {
  title: 'Soups & stews',
  items: [{ name: 'leek soup' }, { name: 'goulash', hot: true }],
};

export function renders(source: string, scope: Scope, expected: string): void {
  expect(render(source, scope)).toBe(expected);
}
