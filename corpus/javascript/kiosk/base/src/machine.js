/** Which event leads from which state to which. */
export const TRANSITIONS = {
  open: { pay: 'paid', cancel: 'cancelled' },
  paid: { print: 'done', refund: 'refunded' },
  done: { refund: 'refunded' },
  cancelled: {},
  refunded: {},
};

export class TransitionError extends Error {
  constructor(state, event) {
    super(`cannot ${event} an order that is ${state}`);
    this.name = 'TransitionError';
    this.state = state;
    this.event = event;
  }
}

export function next(state, event) {
  const target = TRANSITIONS[state]?.[event];
  if (target === undefined) throw new TransitionError(state, event);
  return target;
}

export function isFinal(state) {
  return Object.keys(TRANSITIONS[state]).length === 0;
}
