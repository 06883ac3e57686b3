export default [
  {
    rules: {
      eqeqeq: 'error',
      'no-empty': 'error',
      'no-unused-vars': 'error',
      'prefer-const': 'error',
    },
  },
];
