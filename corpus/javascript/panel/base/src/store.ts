export type Listener<State> = (state: State) => void;

/** Holds a state and tells listeners when it changes. */
export class Store<State extends object> {
  private listeners: Listener<State>[] = [];

  constructor(private state: State) {}

  get(): State {
    return this.state;
  }

  set(change: Partial<State>): void {
    Object.assign(this.state, change);
    for (const listener of this.listeners) listener(this.state);
  }

  /** Calls a listener on every change; gives a function that ends it. */
  subscribe(listener: Listener<State>): () => void {
    this.listeners.push(listener);
    return () => {
      this.listeners.splice(this.listeners.indexOf(listener), 1);
    };
  }

  /** Loads a change and applies it. */
  async load(source: () => Promise<Partial<State>>): Promise<void> {
    this.set(await source());
  }
}
