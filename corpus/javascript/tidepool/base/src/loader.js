import { keyOf } from './key.js';

export class Loader {
  /** @type {Map<string, Promise<unknown>>} */
  #pending = new Map();

  /**
   * @param {import('./cache.js').Cache} cache
   * @param {(key: any) => Promise<unknown>} load
   */
  constructor(cache, load) {
    this.cache = cache;
    this.load = load;
  }

  /** @param {unknown} key */
  async get(key) {
    const id = keyOf(key);
    const cached = this.cache.get(id);
    if (cached !== undefined) return cached;
    const running = this.#pending.get(id);
    if (running) return running;
    const promise = this.#fill(id, key);
    this.#pending.set(id, promise);
    return promise;
  }

  /** @param {unknown[]} keys */
  async getAll(keys) {
    return Promise.all(keys.map((key) => this.get(key)));
  }

  /** @param {unknown} key */
  invalidate(key) {
    this.cache.delete(keyOf(key));
  }

  /**
   * @param {string} id
   * @param {unknown} key
   */
  async #fill(id, key) {
    try {
      const value = await this.load(key);
      this.cache.set(id, value);
      return value;
    } finally {
      this.#pending.delete(id);
    }
  }
}
