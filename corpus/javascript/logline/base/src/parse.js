const PAIR = /([\w.]+)=("(?:[^"\\]|\\.)*"|\S*)/g;

function unquote(text) {
  if (!text.startsWith('"')) return text;
  return text.slice(1, -1).replace('\\"', '"');
}

/** The entry of one line. Values are strings. */
export function parseLine(line) {
  const entry = {};
  for (const [, key, value] of line.matchAll(PAIR)) {
    entry[key] = unquote(value);
  }
  return entry;
}

/** The entries of a text, one for each line. */
export function parseLines(text) {
  return text.split("\n").map(parseLine);
}
