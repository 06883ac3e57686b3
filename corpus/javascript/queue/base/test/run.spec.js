const assert = require("assert");
const { runAll } = require("../lib/run");

describe("runAll", () => {
  it("runs all", async () => {
    assert.deepStrictEqual(await runAll([async () => 1, async () => 2]), [1, 2]);
  });

  it("runs at most so many at once", async () => {
    let running = 0;
    let most = 0;
    const job = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
    };
    await runAll([job, job, job, job], 2);
    assert.strictEqual(most, 2);
  });

  it("passes failures on", async () => {
    await assert.rejects(
      runAll([
        async () => {
          throw new Error("broken");
        },
      ]),
      /broken/,
    );
  });
});
