/** How many entries there are for each value of a key, and the mean of a numeric key. */
export function summarize(entries, key, numeric) {
  const counts = {};
  let sum = 0;
  for (const entry of entries) {
    counts[entry[key]] = (counts[entry[key]] ?? 0) + 1;
    sum += Number(entry[numeric]);
  }
  return { counts, mean: sum / entries.length };
}
