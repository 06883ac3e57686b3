import { beforeEach, describe, expect, it, vi } from "vitest";
import { Router } from "./router";

describe("Router", () => {
  let router: Router;

  beforeEach(() => {
    router = new Router().on("/about", () => "about").on("/users/:id", ({ id }) => `user ${id}`);
  });

  it("calls the handler", async () => {
    expect(await router.go("/about")).toBe("about");
  });

  it("passes parameters", async () => {
    await expect(router.go("/users/7")).resolves.toBe("user 7");
  });

  it("rejects an unknown path", async () => {
    await expect(router.go("/nothing")).rejects.toThrow("no route for /nothing");
  });

  it("takes the first pattern", async () => {
    const second = vi.fn();
    router.on("/about", second);
    await router.go("/about");
    expect(second).not.toHaveBeenCalled();
  });

  it("forgets a route", async () => {
    router.off("/about");
    await expect(router.go("/about")).rejects.toThrow();
  });
});
