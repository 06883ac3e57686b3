import { describe, expect, it, test } from "vitest";
import { bar, percent } from "../src/bar.js";

describe("bar", () => {
  it.each([
    [0, "[          ]"],
    [5, "[#####     ]"],
    [10, "[##########]"],
  ])("draws %i of 10", (part, drawn) => {
    expect(bar(part, 10)).toBe(drawn);
  });

  it("has a width", () => {
    expect(bar(1, 2, 4)).toBe("[##  ]");
    expect(bar(1, 3, 30)).toBeAsWideAs(32);
  });
});

test("percents are rounded down", () => {
  expect(percent(2, 3)).toBe("66 %");
});
