module.exports = {
  root: true,
  extends: "eslint:recommended",
  env: { node: true, es2022: true, jest: true },
  rules: {
    "no-unused-vars": 2,
    eqeqeq: [2, "always"],
    "max-depth": ["error", 3],
  },
};
