module.exports = {
  testEnvironment: "node",
  collectCoverageFrom: ["src/**/*.js"],
  coverageThreshold: {
    global: { branches: 85, lines: 90 },
  },
  testTimeout: 5000,
};
