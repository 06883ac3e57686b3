/** Prices in cents. */
export const PRICES = { single: 280, day: 700, week: 2450 };

export function total(items) {
  let sum = 0;
  for (const { sku, quantity } of items) {
    if (!(sku in PRICES)) throw new RangeError(`unknown ticket: ${sku}`);
    sum += PRICES[sku] * quantity;
  }
  return sum;
}

/** Ten percent off from five tickets on, rounded to whole cents. */
export function discounted(items) {
  const count = items.reduce((n, item) => n + item.quantity, 0);
  const sum = total(items);
  return count > 5 ? Math.round(sum * 0.9) : sum;
}

export function formatCents(cents) {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}
