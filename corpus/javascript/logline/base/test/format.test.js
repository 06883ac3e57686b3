import { test } from "node:test";
import assert from "node:assert/strict";
import { formatDuration, formatEntry } from "../src/format.js";

test("formats an entry", () => {
  assert.equal(formatEntry({ level: "warn", free: "12" }), "level=warn free=12");
});

test("quotes values with spaces", () => {
  assert.equal(formatEntry({ msg: "disk is full" }), 'msg="disk is full"');
});

test("formats seconds", () => {
  assert.equal(formatDuration(42), "42s");
});

test("formats minutes", () => {
  assert.equal(formatDuration(150), "2m30s");
});
