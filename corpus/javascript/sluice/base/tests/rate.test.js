import assert from 'node:assert/strict';
import { test } from 'node:test';

import { formatRate, parseRate } from '../src/index.js';

test('rates are parsed', () => {
  assert.deepEqual(parseRate('10/s'), { amount: 10, perMs: 1000 });
  assert.deepEqual(parseRate(' 100 / min '), { amount: 100, perMs: 60_000 });
  assert.deepEqual(parseRate('5 per hour'), { amount: 5, perMs: 3_600_000 });
});

test('wrong rates are refused', () => {
  assert.throws(() => parseRate('fast'), { name: 'SyntaxError', message: "not a rate: 'fast'" });
  assert.throws(() => parseRate('10/day'), { name: 'SyntaxError', message: "unknown unit 'day' in '10/day'" });
});

test('rates are formatted', () => {
  assert.equal(formatRate({ amount: 10, perMs: 1000 }), '10/s');
  assert.equal(formatRate({ amount: 10, perMs: 250 }), '10/250ms');
});
