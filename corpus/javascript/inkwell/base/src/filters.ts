export type Filter = (value: unknown) => unknown;

export const filters: Record<string, Filter> = {
  upper: (value) => String(value).toUpperCase(),
  trim: (value) => String(value).trim(),
  title: (value) => String(value).replace(/\b\w/g, (letter) => letter.toUpperCase()),
  length: (value) => (value as { length: number }).length,
  json: (value) => JSON.stringify(value),
  raw: (value) => value,
};

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => ESCAPES[char]!);
}
