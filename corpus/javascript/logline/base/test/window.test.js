import { test } from "node:test";
import assert from "node:assert/strict";
import { SlidingWindow } from "../src/window.js";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("counts what was added", () => {
  const window = new SlidingWindow(1000);
  window.add();
  window.add();
  assert.equal(window.count(), 2);
});

test("forgets old events", async () => {
  const window = new SlidingWindow(20);
  window.add();
  await sleep(60);
  window.add();
  assert.equal(window.count(), 1);
});
