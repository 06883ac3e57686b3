import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Limiter } from '../src/index.js';
import { fakeClock } from './helpers/clock.js';

test('keys do not share a bucket', () => {
  const limiter = new Limiter('1/s', { clock: fakeClock() });
  assert.equal(limiter.take('ann'), true);
  assert.equal(limiter.take('ann'), false);
  assert.equal(limiter.take('bob'), true);
});

test('burst is the capacity', () => {
  const limiter = new Limiter('1/s', { burst: 5, clock: fakeClock() });
  assert.equal(limiter.take('ann', 5), true);
  assert.equal(limiter.retryAfterMs('ann'), 1000);
});

test('listeners hear of refused requests', () => {
  const heard = [];
  const limiter = new Limiter('1/s', { clock: fakeClock() });
  limiter.onReject((key) => heard.push(key));
  limiter.take('ann');
  limiter.take('ann');
  assert.deepEqual(heard, ['ann']);
});

test('acquire waits for its turn', async () => {
  const clock = fakeClock();
  const naps = [];
  const sleep = async (ms) => {
    naps.push(ms);
    clock.advance(ms);
  };
  const limiter = new Limiter('2/s', { clock, sleep });
  await limiter.acquire('ann');
  await limiter.acquire('ann');
  await limiter.acquire('ann');
  assert.deepEqual(naps, [500]);
  assert.equal(limiter.remaining('ann'), 0);
});
