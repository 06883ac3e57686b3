import { test } from "node:test";
import assert from "node:assert/strict";
import { parseLine, parseLines } from "../src/parse.js";

test("parses pairs", () => {
  assert.deepEqual(parseLine("level=warn free=12"), { level: "warn", free: "12" });
});

test("parses quoted values", () => {
  assert.deepEqual(parseLine('msg="disk is full" level=warn'), { msg: "disk is full", level: "warn" });
});

test("parses escaped quotes", () => {
  assert.deepEqual(parseLine('msg="a \\" b"'), { msg: 'a " b' });
});

test("parses dotted keys", () => {
  assert.deepEqual(parseLine("http.status=200"), { "http.status": "200" });
});

test("parses lines", () => {
  assert.deepEqual(parseLines("a=1\na=2"), [{ a: "1" }, { a: "2" }]);
});
