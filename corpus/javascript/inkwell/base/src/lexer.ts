export type Token =
  | { kind: 'text'; value: string }
  | { kind: 'print'; path: string; filters: string[] }
  | { kind: 'tag'; name: string; rest: string };

export class TemplateError extends Error {
  constructor(
    message: string,
    readonly line: number,
  ) {
    super(`line ${line}: ${message}`);
    this.name = 'TemplateError';
  }
}

const OPEN = /\[\[|\{%/g;

export function lex(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < source.length) {
    OPEN.lastIndex = at;
    const found = OPEN.exec(source);
    const start = found ? found.index : source.length;
    if (start > at) tokens.push({ kind: 'text', value: source.slice(at, start) });
    if (!found) break;
    const close = found[0] === '[[' ? ']]' : '%}';
    const end = source.indexOf(close, start);
    if (end < 0) throw new TemplateError(`${found[0]} is not closed`, lineOf(source, start));
    const inner = source.slice(start + 2, end).trim();
    if (found[0] === '[[') {
      const [path = '', ...filters] = inner.split('|').map((part) => part.trim());
      tokens.push({ kind: 'print', path, filters });
    } else {
      const [name = '', ...rest] = inner.split(/\s+/);
      tokens.push({ kind: 'tag', name, rest: rest.join(' ') });
    }
    at = end + 2;
  }
  return tokens;
}

function lineOf(source: string, index: number): number {
  return source.slice(0, index).split('\n').length - 1;
}
