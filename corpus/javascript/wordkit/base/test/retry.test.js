const { retry } = require("../src");

test("returns the first result", async () => {
  const work = jest.fn().mockRejectedValueOnce(new Error("once")).mockResolvedValue("done");
  await expect(retry(work, 3)).resolves.toBe("done");
  expect(work).toHaveBeenCalledTimes(2);
});

test("does not call again after success", async () => {
  const work = jest.fn().mockResolvedValue(1);
  await retry(work, 5);
  expect(work).toHaveBeenCalledTimes(1);
});
