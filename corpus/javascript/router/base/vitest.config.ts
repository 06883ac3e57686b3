import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts"],
    testTimeout: 5000,
    coverage: {
      include: ["src/**"],
      thresholds: { lines: 90, branches: 85 },
    },
  },
});
