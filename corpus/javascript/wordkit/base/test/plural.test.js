const { countOf, plural } = require("../src");

describe("plural", () => {
  test.each([
    ["cat", "cats"],
    ["box", "boxes"],
    ["child", "children"],
    ["city", "cities"],
  ])("%s", (word, expected) => {
    expect(plural(word)).toBe(expected);
  });
});

describe("countOf", () => {
  test("one", () => {
    expect(countOf(1, "mouse")).toBe("1 mouse");
  });

  test("several", () => {
    expect(countOf(3, "mouse")).toBe("3 mice");
  });
});
