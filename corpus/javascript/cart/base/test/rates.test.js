import { beforeEach, test } from "node:test";
import assert from "node:assert/strict";
import { fetchRate, forgetRates } from "../src/rates.js";

beforeEach(() => forgetRates());

test("asks once for each currency", async () => {
  let asked = 0;
  const load = async () => {
    asked += 1;
    return 1.1;
  };
  assert.equal(await fetchRate("EUR", load), 1.1);
  assert.equal(await fetchRate("EUR", load), 1.1);
  assert.equal(asked, 1);
});

test("passes failures on", async () => {
  await assert.rejects(
    fetchRate("XXX", async () => {
      throw new Error("unknown currency");
    }),
    /unknown currency/,
  );
});
