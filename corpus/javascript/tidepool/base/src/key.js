/**
 * A text that is the same for equal keys. The order of properties doesn't matter.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function keyOf(value) {
  if (typeof value === 'string') return value;
  return JSON.stringify(sorted(value));
}

/**
 * @param {unknown} value
 * @returns {unknown}
 */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}
