export default [
  {
    files: ["src/**/*.ts"],
    rules: {
      "no-unused-vars": "error",
      eqeqeq: "error",
      "no-warning-comments": "warn",
    },
  },
];
