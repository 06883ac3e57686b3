import { describe, expect, it } from "vitest";
import { match } from "./match";

describe("match", () => {
  it("matches a fixed path", () => {
    expect(match("/about", "/about")).toEqual({});
  });

  it("gives parameters", () => {
    expect(match("/users/:id", "/users/7")).toEqual({ id: "7" });
  });

  it("refuses another path", () => {
    expect(match("/about", "/contact")).toBeUndefined();
  });

  it("refuses a shorter path", () => {
    expect(match("/users/:id", "/users")).toBeUndefined();
  });
});
