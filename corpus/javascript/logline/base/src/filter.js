const TERM = /^([\w.]+)(!=|=|>|<)(.*)$/;

const OPERATORS = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  ">": (a, b) => a > b,
  "<": (a, b) => a < b,
};

/** A predicate for terms such as `level=warn free<10`. All of them must hold. */
export function compileFilter(query) {
  const terms = query.split(" ").map((term) => {
    const match = TERM.exec(term);
    if (!match) throw new SyntaxError(`bad term: ${term}`);
    const [, key, operator, value] = match;
    return (entry) => OPERATORS[operator](entry[key], value);
  });
  return (entry) => terms.every((term) => term(entry));
}

export function matches(entry, query) {
  return compileFilter(query)(entry);
}
