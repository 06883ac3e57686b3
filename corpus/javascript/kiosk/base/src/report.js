import { formatCents } from './prices.js';

/** A text table: tickets sold and the sum, of orders that were paid. */
export function report(orders) {
  const sold = new Map();
  let sum = 0;
  for (const order of orders) {
    if (order.state === 'open' || order.state === 'cancelled') continue;
    sum += order.due;
    for (const { sku, quantity } of order.items) sold.set(sku, (sold.get(sku) ?? 0) + quantity);
  }
  const lines = [...sold].sort(([a], [b]) => (a < b ? -1 : 1)).map(([sku, n]) => `${sku.padEnd(8)}${String(n).padStart(4)}`);
  lines.push(`${'total'.padEnd(8)}${formatCents(sum).padStart(8)}`);
  return lines.join('\n') + '\n';
}
