/** Reads `?a=1&b=2`. */
export function parseQuery(text: string): Map<string, string> {
  const query = new Map<string, string>();
  for (const pair of text.replace("?", "").split("&")) {
    const [key, value] = pair.split("=");
    query.set(key!, decodeURIComponent(value!));
  }
  return query;
}

/** Writes `a=1&b=2`, keys in order. */
export function writeQuery(query: Map<string, string>): string {
  return [...query]
    .sort()
    .map(([key, value]) => `${key}=${value}`)
    .join("&");
}
