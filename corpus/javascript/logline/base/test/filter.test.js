import { describe, it } from "node:test";
import assert from "node:assert/strict";
import { compileFilter, matches } from "../src/filter.js";

const entry = { level: "warn", free: "12", host: "web1" };

describe("matches", () => {
  it("compares for equality", () => {
    assert.equal(matches(entry, "level=warn"), true);
    assert.equal(matches(entry, "level=info"), false);
  });

  it("compares for inequality", () => {
    assert.equal(matches(entry, "level!=info"), true);
    assert.equal(matches(entry, "level!=warn"), false);
  });

  it("needs all terms", () => {
    assert.equal(matches(entry, "level=warn host=web1"), true);
    assert.equal(matches(entry, "level=warn host=web2"), false);
  });
});

describe("compileFilter", () => {
  it("refuses bad terms", () => {
    assert.throws(() => compileFilter("level"), new SyntaxError("bad term: level"));
  });

  it("can be used again", () => {
    const filter = compileFilter("host=web1");
    assert.deepEqual([entry, { host: "db" }].filter(filter), [entry]);
  });
});
