import { TokenBucket } from './bucket.js';
import { parseRate } from './rate.js';

/** One token bucket for each key. */
export class Limiter {
  constructor(rate, { burst, clock = Date.now, sleep = defaultSleep } = {}) {
    const { amount, perMs } = parseRate(rate);
    this.capacity = burst ?? amount;
    this.intervalMs = perMs / amount;
    this.clock = clock;
    this.sleep = sleep;
    this.buckets = {};
    this.listeners = [];
    this.#bucket('');
  }

  #bucket(key) {
    this.buckets[key] ??= new TokenBucket({
      capacity: this.capacity,
      intervalMs: this.intervalMs,
      clock: this.clock,
    });
    return this.buckets[key];
  }

  /** `listener(key)` is called for each refused request. */
  onReject(listener) {
    this.listeners.push(listener);
  }

  take(key, count = 1) {
    const taken = this.#bucket(key).take(count);
    if (!taken) {
      for (const listener of this.listeners) listener(key);
    }
    return taken;
  }

  retryAfterMs(key, count = 1) {
    return this.#bucket(key).retryAfterMs(count);
  }

  remaining(key) {
    return this.#bucket(key).remaining;
  }

  /** Waits until a token is there, and takes it. */
  async acquire(key) {
    while (!this.#bucket(key).take()) await this.sleep(this.retryAfterMs(key));
  }
}

function defaultSleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
