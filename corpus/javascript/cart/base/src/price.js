/** Writes cents as `12.50`. */
export function formatPrice(cents) {
  return `${Math.floor(cents / 100)}.${cents % 100}`.replace(/\.(\d)$/, ".0$1");
}

/** Reads `12.50` as cents. */
export function parsePrice(text) {
  return Math.floor(parseFloat(text.replace(",", "")) * 100);
}
