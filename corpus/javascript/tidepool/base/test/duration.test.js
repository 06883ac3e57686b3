import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseDuration } from '../src/index.js';

test('single units', () => {
  assert.equal(parseDuration('250ms'), 250);
  assert.equal(parseDuration('90s'), 90_000);
  assert.equal(parseDuration('5m'), 300_000);
  assert.equal(parseDuration('2h'), 7_200_000);
  assert.equal(parseDuration('1d'), 86_400_000);
});

test('units add up', () => {
  assert.equal(parseDuration('1h30m'), 5_400_000);
  assert.equal(parseDuration(' 1m30s '), 90_000);
});

test('numbers are milliseconds', () => {
  assert.equal(parseDuration(1500), 1500);
});

test('invalid durations', () => {
  for (const value of ['', '5', 'm', '5 m', '5x', '-5m', '1.5h', 0, -1, Number.NaN]) {
    assert.throws(() => parseDuration(value), { name: 'RangeError', message: /invalid duration/ });
  }
});
