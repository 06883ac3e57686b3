const UNITS = { s: 1000, sec: 1000, second: 1000, min: 60_000, minute: 60_000, h: 3_600_000, hour: 3_600_000 };
const RATE = /^(\d+)\s*(?:\/|per)\s*(\w+)$/;

/** `10/s` is `{ amount: 10, perMs: 1000 }`. */
export function parseRate(text) {
  const match = RATE.exec(text.trim());
  if (!match) throw new SyntaxError(`not a rate: '${text}'`);
  const [, amount, unit] = match;
  if (!Object.hasOwn(UNITS, unit)) throw new SyntaxError(`unknown unit '${unit}' in '${text}'`);
  return { amount: Number(amount), perMs: UNITS[unit] };
}

export function formatRate({ amount, perMs }) {
  const unit = ['s', 'min', 'h'].find((name) => UNITS[name] === perMs);
  return unit ? `${amount}/${unit}` : `${amount}/${perMs}ms`;
}
