const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The milliseconds of `90s`, `5m`, `1h30m`. Numbers are milliseconds already.
 *
 * @param {string | number} value
 * @returns {number}
 */
export function parseDuration(value) {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || value <= 0) throw new RangeError(`invalid duration: ${value}`);
    return value;
  }
  const text = value.trim();
  if (!/^(\d+(ms|s|m|h|d))+$/.test(text)) throw new RangeError(`invalid duration: ${value}`);
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+)(ms|s|m|h|d)/g)) {
    total += Number(amount) * UNITS[/** @type {keyof typeof UNITS} */ (unit)];
  }
  return total;
}
