const assert = require("assert");
const { Queue } = require("../lib/queue");

describe("Queue", function () {
  beforeEach(function () {
    this.queue = new Queue();
  });

  it("gives back what came first", function () {
    this.queue.push("a");
    this.queue.push("b");
    assert.strictEqual(this.queue.pop(), "a");
    assert.strictEqual(this.queue.size, 1);
  });

  it("prefers urgent jobs", function () {
    this.queue.push("a");
    this.queue.push("b", 5);
    assert.strictEqual(this.queue.pop(), "b");
  });

  it("says how many there are", function () {
    assert.strictEqual(this.queue.push("a"), 1);
    assert.strictEqual(this.queue.push("b"), 2);
  });

  context("drop", function () {
    it("keeps urgent jobs", function () {
      this.queue.push("a", 1);
      this.queue.push("b", 9);
      assert.strictEqual(this.queue.drop(5), 1);
      assert.deepStrictEqual(this.queue.pop(), "b");
    });
  });
});
