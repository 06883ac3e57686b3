import { escapeHtml, filters } from './filters.js';
import { type Node, parse } from './parser.js';

export type Scope = Record<string, unknown>;

export function lookup(scope: Scope, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Scope | undefined)?.[key], scope);
}

function print(value: unknown, names: string[]): string {
  for (const name of names) {
    const filter = filters[name];
    if (!filter) throw new Error(`unknown filter ${name}`);
    value = filter(value);
  }
  const text = value === undefined || value === null ? '' : String(value);
  return names.at(-1) === 'raw' ? text : escapeHtml(text);
}

function walk(nodes: Node[], scope: Scope): string {
  let out = '';
  for (const node of nodes) {
    switch (node.kind) {
      case 'text':
        out += node.value;
        break;
      case 'print':
        out += print(lookup(scope, node.path), node.filters);
        break;
      case 'if':
        out += walk(Boolean(lookup(scope, node.path)) !== node.negate ? node.then : node.otherwise, scope);
        break;
      case 'for':
        for (const item of (lookup(scope, node.path) as unknown[] | undefined) ?? []) {
          out += walk(node.body, { ...scope, [node.variable]: item });
        }
        break;
    }
  }
  return out;
}

export function render(source: string, scope: Scope = {}): string {
  return walk(parse(source), scope);
}
