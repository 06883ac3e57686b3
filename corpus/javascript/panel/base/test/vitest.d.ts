import "vitest";

declare module "vitest" {
  interface Assertion<T> {
    toBeAsWideAs(width: number): T;
  }
}
