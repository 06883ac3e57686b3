import { test } from "node:test";
import assert from "node:assert/strict";
import { formatPrice, parsePrice } from "../src/index.js";

for (const [cents, text] of [
  [5, "0.05"],
  [1250, "12.50"],
  [199, "1.99"],
]) {
  test(`formats ${cents}`, () => {
    assert.equal(formatPrice(cents), text);
  });
}

test("reads a price", () => {
  assert.equal(parsePrice("12.50"), 1250);
  assert.equal(parsePrice("1,000.00"), 100000);
});
