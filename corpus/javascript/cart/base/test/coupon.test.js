import { test } from "node:test";
import assert from "node:assert/strict";
import { applyCoupon, isValid } from "../src/coupon.js";

test("a percentage is taken off", () => {
  assert.equal(applyCoupon(1000, { percent: 10 }), 900);
});

test("an amount is taken off", () => {
  assert.equal(applyCoupon(1000, { amount: 300 }), 700);
});

test("a coupon holds between two days", () => {
  const coupon = { from: "2024-03-01", until: "2024-03-31" };
  assert.ok(isValid(coupon, "2024-03-15"));
  assert.ok(!isValid(coupon, "2024-04-01"));
});
