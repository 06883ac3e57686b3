import { expect } from "vitest";

expect.extend({
  toBeAsWideAs(text: string, width: number) {
    const widest = Math.max(...text.split("\n").map((line) => line.length));
    return {
      pass: widest === width,
      message: () => `the widest line has ${widest} characters, not ${width}`,
    };
  },
});
