import { beforeEach, describe, it } from "node:test";
import assert from "node:assert/strict";
import { Cart } from "../src/index.js";

const tea = { id: "tea", price: 450 };
const milk = { id: "milk", price: 120 };

describe("Cart", () => {
  let cart;

  beforeEach(() => {
    cart = new Cart();
  });

  it("is empty at first", () => {
    assert.equal(cart.count(), 0);
    assert.equal(cart.total(), 0);
  });

  it("adds up", () => {
    cart.add(tea, 2).add(milk);
    assert.equal(cart.total(), 1020);
  });

  it("joins lines of the same item", () => {
    cart.add(tea).add(tea, 2);
    assert.equal(cart.lines.length, 1);
    assert.equal(cart.count(), 3);
  });

  it("refuses a count of nothing", () => {
    assert.throws(() => cart.add(tea, 0), RangeError);
  });

  it("removes a line", () => {
    cart.add(tea).add(milk);
    cart.remove("tea");
    assert.deepEqual(cart.lines, [{ item: milk, count: 1 }]);
  });

  it("knows the dearest line", () => {
    cart.add(tea).add(milk, 5);
    assert.equal(cart.dearest().item, milk);
  });
});
