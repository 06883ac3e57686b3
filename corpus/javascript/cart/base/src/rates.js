const cache = new Map();

/** The rate of a currency, from `load`, which is asked once for each. */
export async function fetchRate(currency, load) {
  if (!cache.has(currency)) cache.set(currency, await load(currency));
  return cache.get(currency);
}

/** Forgets all rates. */
export function forgetRates() {
  cache.clear();
}
