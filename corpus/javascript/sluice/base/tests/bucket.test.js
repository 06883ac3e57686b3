import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TokenBucket } from '../src/index.js';
import { fakeClock } from './helpers/clock.js';

test('a full bucket allows a burst', () => {
  const bucket = new TokenBucket({ capacity: 3, intervalMs: 100, clock: fakeClock() });
  assert.deepEqual([bucket.take(), bucket.take(), bucket.take(), bucket.take()], [true, true, true, false]);
});

test('a token comes back after the interval', () => {
  const clock = fakeClock();
  const bucket = new TokenBucket({ capacity: 1, intervalMs: 100, clock });
  assert.equal(bucket.take(), true);
  clock.advance(99);
  assert.equal(bucket.take(), false);
  clock.advance(1);
  assert.equal(bucket.take(), true);
});

test('a refused request takes nothing', () => {
  const bucket = new TokenBucket({ capacity: 3, intervalMs: 100, clock: fakeClock() });
  assert.equal(bucket.take(5), false);
  assert.equal(bucket.remaining, 3);
});

test('the bucket never overflows', () => {
  const clock = fakeClock();
  const bucket = new TokenBucket({ capacity: 2, intervalMs: 100, clock });
  clock.advance(60_000);
  assert.equal(bucket.remaining, 2);
});

test('time until the next token', () => {
  const clock = fakeClock();
  const bucket = new TokenBucket({ capacity: 2, intervalMs: 100, clock });
  assert.equal(bucket.retryAfterMs(), 0);
  bucket.take(2);
  clock.advance(30);
  assert.equal(bucket.retryAfterMs(), 70);
  assert.equal(bucket.retryAfterMs(2), 170);
});

test('options are checked', () => {
  assert.throws(() => new TokenBucket({ capacity: 0, intervalMs: 100 }), RangeError);
  assert.throws(() => new TokenBucket({ capacity: 1.5, intervalMs: 100 }), RangeError);
  assert.throws(() => new TokenBucket({ capacity: 1, intervalMs: 0 }), RangeError);
});
