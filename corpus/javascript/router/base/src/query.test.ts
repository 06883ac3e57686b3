import { expect, test } from "vitest";
import { parseQuery, writeQuery } from "./query";

test("reads pairs", () => {
  expect([...parseQuery("?a=1&b=2")]).toEqual([
    ["a", "1"],
    ["b", "2"],
  ]);
});

test("decodes values", () => {
  expect(parseQuery("q=a%20b").get("q")).toBe("a b");
});

test("writes keys in order", () => {
  expect(writeQuery(new Map([["b", "2"], ["a", "1"]]))).toBe("a=1&b=2");
});
