import { positiveInteger } from './check.js';

/** Allows `limit` hits in any `windowMs`. */
export class SlidingWindow {
  constructor({ limit, windowMs, clock = Date.now }) {
    this.limit = positiveInteger('limit', limit);
    this.windowMs = positiveInteger('windowMs', windowMs);
    this.clock = clock;
    this.hits = [];
  }

  #expire() {
    const now = this.clock();
    while (this.hits.length > 0 && now - this.hits[0] > this.windowMs) this.hits.shift();
    return now;
  }

  hit() {
    const now = this.#expire();
    if (this.hits.length >= this.limit) return false;
    this.hits.push(now);
    return true;
  }

  get count() {
    this.#expire();
    return this.hits.length;
  }
}
