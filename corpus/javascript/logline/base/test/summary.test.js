import { test } from "node:test";
import assert from "node:assert/strict";
import { summarize } from "../src/summary.js";

const entries = [
  { level: "warn", ms: "10" },
  { level: "info", ms: "20" },
  { level: "warn", ms: "60" },
];

test("counts values", () => {
  assert.deepEqual(summarize(entries, "level", "ms").counts, { warn: 2, info: 1 });
});

test("has the mean", () => {
  assert.equal(summarize(entries, "level", "ms").mean, 30);
});
