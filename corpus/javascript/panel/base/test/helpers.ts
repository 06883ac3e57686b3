import { Store } from "../src/store.js";

export interface Job {
  name: string;
  done: number;
}

export const JOBS: Job[] = [
  { name: "build", done: 7 },
  { name: "test", done: 120 },
  { name: "deploy", done: 0 },
];

/** A store, and what its listener saw. */
export function watched(): { store: Store<Job>; seen: Job[] } {
  const store = new Store<Job>({ name: "build", done: 0 });
  const seen: Job[] = [];
  store.subscribe((state) => seen.push({ ...state }));
  return { store, seen };
}
