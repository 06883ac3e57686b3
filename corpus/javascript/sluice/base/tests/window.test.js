import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SlidingWindow } from '../src/index.js';
import { fakeClock } from './helpers/clock.js';

test('the limit holds within a window', () => {
  const clock = fakeClock();
  const window = new SlidingWindow({ limit: 2, windowMs: 1000, clock });
  assert.equal(window.hit(), true);
  clock.advance(500);
  assert.equal(window.hit(), true);
  clock.advance(499);
  assert.equal(window.hit(), false);
});

test('old hits leave the window one by one', () => {
  const clock = fakeClock();
  const window = new SlidingWindow({ limit: 2, windowMs: 1000, clock });
  window.hit();
  clock.advance(600);
  window.hit();
  clock.advance(600);
  assert.equal(window.count, 1);
  assert.equal(window.hit(), true);
});
