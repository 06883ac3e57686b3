import { parseDuration } from './duration.js';

/**
 * @typedef {{ value: unknown, expires: number }} Entry
 */

export class Cache {
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  #hits = 0;
  #misses = 0;
  #evictions = 0;

  /**
   * @param {{ max?: number, ttl?: string | number, clock?: () => number }} [options]
   */
  constructor({ max = 1000, ttl, clock = Date.now } = {}) {
    if (!Number.isInteger(max) || max < 1) throw new RangeError('max must be a positive integer');
    this.max = max;
    this.ttl = ttl === undefined ? Infinity : parseDuration(ttl);
    this.clock = clock;
  }

  get size() {
    return this.#entries.size;
  }

  /** @param {string} key */
  get(key) {
    const entry = this.#fresh(key);
    if (!entry) {
      this.#misses += 1;
      return undefined;
    }
    this.#hits += 1;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /**
   * @param {string} key
   * @param {unknown} value
   * @param {string | number} [ttl]
   */
  set(key, value, ttl) {
    const life = ttl === undefined ? this.ttl : parseDuration(ttl);
    this.#entries.delete(key);
    this.#entries.set(key, { value, expires: this.clock() + life });
    while (this.#entries.size > this.max) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest);
      this.#evictions += 1;
    }
    return this;
  }

  /** @param {string} key */
  has(key) {
    return this.#fresh(key) !== undefined;
  }

  /** @param {string} key */
  delete(key) {
    return this.#entries.delete(key);
  }

  keys() {
    return [...this.#entries.keys()].filter((key) => this.has(key));
  }

  stats() {
    const total = this.#hits + this.#misses;
    const rate = total === 0 ? 0 : Math.round((this.#hits / total) * 1000) / 10;
    return { hits: this.#hits, misses: this.#misses, evictions: this.#evictions, rate };
  }

  /**
   * @param {string} key
   * @returns {Entry | undefined}
   */
  #fresh(key) {
    const entry = this.#entries.get(key);
    if (entry && entry.expires <= this.clock()) {
      this.#entries.delete(key);
      return undefined;
    }
    return entry;
  }
}
