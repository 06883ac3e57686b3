const { slug } = require("../src");

describe("slug", () => {
  it("joins words by hyphens", () => {
    expect(slug("Some Title")).toBe("some-title");
  });

  it("drops other characters at the start", () => {
    expect(slug("¿Some Title")).toBe("some-title");
  });
});
