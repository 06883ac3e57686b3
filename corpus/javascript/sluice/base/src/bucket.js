import { positiveInteger } from './check.js';

/** Holds up to `capacity` tokens and gets a new one every `intervalMs`. */
export class TokenBucket {
  constructor({ capacity, intervalMs, clock = Date.now }) {
    this.capacity = positiveInteger('capacity', capacity);
    if (!(intervalMs > 0)) {
      throw new RangeError(`intervalMs must be positive, not ${intervalMs}`);
    }
    this.intervalMs = intervalMs;
    this.clock = clock;
    this.level = capacity;
    this.filledAt = clock();
  }

  #refill() {
    const now = this.clock();
    const gained = (now - this.filledAt) / this.intervalMs;
    this.level = Math.min(this.capacity, this.level + gained);
    this.filledAt = now;
  }

  /** Takes `count` tokens, or none and returns false. */
  take(count = 1) {
    this.#refill();
    if (this.level < count) return false;
    this.level -= count;
    return true;
  }

  /** The time until `count` tokens are there. */
  retryAfterMs(count = 1) {
    this.#refill();
    return Math.max(0, Math.ceil((count - this.level) * this.intervalMs));
  }

  get remaining() {
    this.#refill();
    return Math.floor(this.level);
  }
}
