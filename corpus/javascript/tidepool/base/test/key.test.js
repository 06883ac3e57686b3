import assert from 'node:assert/strict';
import { test } from 'node:test';

import { keyOf } from '../src/index.js';

test('strings are their own keys', () => {
  assert.equal(keyOf('user:1'), 'user:1');
});

test('numbers, null and lists', () => {
  assert.equal(keyOf(42), '42');
  assert.equal(keyOf(null), 'null');
  assert.equal(keyOf([2, 1]), '[2,1]');
});

test('the order of properties does not matter', () => {
  assert.equal(keyOf({ b: 1, a: { d: 2, c: 3 } }), keyOf({ a: { c: 3, d: 2 }, b: 1 }));
  assert.equal(keyOf({ b: 1, a: 2 }), '{"a":2,"b":1}');
});

test('different objects have different keys', () => {
  assert.notEqual(keyOf({ a: 1 }), keyOf({ a: 2 }));
});
