/** Counts events of the last `span` milliseconds. */
export class SlidingWindow {
  #times = [];

  constructor(span, now = Date.now) {
    this.span = span;
    this.now = now;
  }

  add() {
    this.#times.push(this.now());
  }

  count() {
    const start = this.now() - this.span;
    this.#times = this.#times.filter((time) => time >= start);
    return this.#times.length;
  }
}
