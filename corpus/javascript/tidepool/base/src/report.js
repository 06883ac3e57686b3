/**
 * A table of the numbers of several caches.
 *
 * @param {Record<string, { hits: number, misses: number, evictions: number, rate: number }>} caches
 */
export function formatReport(caches) {
  const rows = [['cache', 'hits', 'misses', 'evictions', 'rate']];
  for (const [name, stats] of Object.entries(caches)) {
    rows.push([
      name,
      String(stats.hits),
      String(stats.misses),
      String(stats.evictions),
      `${stats.rate.toFixed(1)}%`,
    ]);
  }
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
        .join('  '),
    )
    .join('\n');
}
