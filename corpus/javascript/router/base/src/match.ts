export type Params = Record<string, string>;

/** The parameters of a path, or nothing if the pattern does not match. */
export function match(pattern: string, path: string): Params | undefined {
  const wanted = pattern.split("/");
  const given = path.split("/");
  const params: Params = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index];
    if (value === undefined) return undefined;
    if (part.startsWith(":")) params[part.slice(1)] = value;
    else if (part !== value) return undefined;
  }
  return params;
}
