import { next } from './machine.js';
import { discounted } from './prices.js';

export class Store {
  #orders = new Map();
  #lastId = 0;

  constructor({ clock = () => new Date() } = {}) {
    this.clock = clock;
  }

  create(items) {
    const id = ++this.#lastId;
    const order = { id, items, state: 'open', due: discounted(items), at: this.clock().toISOString() };
    this.#orders.set(id, order);
    return order;
  }

  get(id) {
    return this.#orders.get(id);
  }

  apply(id, event) {
    const order = this.#orders.get(id);
    order.state = next(order.state, event);
    return order;
  }

  all() {
    return [...this.#orders.values()];
  }
}
