import { describe, expect, it, vi } from "vitest";
import { Store } from "../src/store.js";
import { watched } from "./helpers.js";

describe("Store", () => {
  it("tells listeners", () => {
    const { store, seen } = watched();
    store.set({ done: 3 });
    expect(seen).toEqual([{ name: "build", done: 3 }]);
  });

  it("can be left", () => {
    const { store } = watched();
    const listener = vi.fn();
    const leave = store.subscribe(listener);
    leave();
    store.set({ done: 1 });
    expect(listener).not.toHaveBeenCalled();
  });

  it("loads", async () => {
    const { store, seen } = watched();
    await store.load(async () => ({ name: "test" }));
    expect(store.get()).toEqual({ name: "test", done: 0 });
    expect(seen).toHaveLength(1);
  });

  it("passes failures of loading on", async () => {
    const store = new Store({ done: 0 });
    await expect(store.load(() => Promise.reject(new Error("offline")))).rejects.toThrow("offline");
    expect(store.get()).toEqual({ done: 0 });
  });
});
