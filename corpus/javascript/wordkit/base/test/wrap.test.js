const { wrap } = require("../src");

test("wraps at the width", () => {
  expect(wrap("one two three", 8)).toEqual(["one two", "three"]);
});

test("short texts are one line", () => {
  expect(wrap("one", 8)).toEqual(["one"]);
});

test("lines of a paragraph", () => {
  expect(wrap("a quick brown fox jumps over", 10)).toMatchSnapshot();
});
