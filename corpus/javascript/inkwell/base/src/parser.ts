import { TemplateError, lex } from './lexer.js';

export type Node =
  | { kind: 'text'; value: string }
  | { kind: 'print'; path: string; filters: string[] }
  | { kind: 'if'; path: string; negate: boolean; then: Node[]; otherwise: Node[] }
  | { kind: 'for'; variable: string; path: string; body: Node[] };

export function parse(source: string): Node[] {
  const tokens = lex(source);
  let at = 0;

  function block(ends: string[]): { nodes: Node[]; end: string } {
    const nodes: Node[] = [];
    while (at < tokens.length) {
      const token = tokens[at++]!;
      if (token.kind !== 'tag') {
        nodes.push(token);
      } else if (ends.includes(token.name)) {
        return { nodes, end: token.name };
      } else if (token.name === 'if') {
        const negate = token.rest.startsWith('not ');
        const path = negate ? token.rest.slice(4) : token.rest;
        const first = block(['else', 'endif']);
        const otherwise = first.end === 'else' ? block(['endif']).nodes : [];
        nodes.push({ kind: 'if', path, negate, then: first.nodes, otherwise });
      } else if (token.name === 'for') {
        const match = /^(\w+) in ([\w.]+)$/.exec(token.rest);
        if (!match) throw new TemplateError(`cannot read for ${token.rest}`, 0);
        nodes.push({ kind: 'for', variable: match[1]!, path: match[2]!, body: block(['endfor']).nodes });
      } else {
        throw new TemplateError(`unknown tag ${token.name}`, 0);
      }
    }
    return { nodes, end: '' };
  }

  return block([]).nodes;
}
