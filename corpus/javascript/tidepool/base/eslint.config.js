export default [
  {
    files: ['src/**/*.js', 'test/**/*.js'],
    languageOptions: { ecmaVersion: 2023, sourceType: 'module' },
    rules: {
      eqeqeq: 'error',
      'no-empty': 'error',
      'no-unused-vars': 'error',
      'prefer-const': 'error',
      complexity: ['error', 8],
    },
  },
];
