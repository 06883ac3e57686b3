import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { Cache } from '../src/index.js';

describe('Cache', () => {
  let now;
  const clock = () => now;

  beforeEach(() => {
    now = 1_000_000;
  });

  it('returns what was set', () => {
    const cache = new Cache();
    cache.set('a', 1).set('b', 2);
    assert.equal(cache.get('a'), 1);
    assert.equal(cache.get('b'), 2);
    assert.equal(cache.get('c'), undefined);
    assert.equal(cache.size, 2);
  });

  it('evicts the entry that was used longest ago', () => {
    const cache = new Cache({ max: 2 });
    cache.set('a', 1).set('b', 2);
    cache.get('a');
    cache.set('c', 3);
    assert.deepEqual(cache.keys(), ['a', 'c']);
    assert.equal(cache.stats().evictions, 1);
  });

  it('does not count has as a use', () => {
    const cache = new Cache({ max: 2 });
    cache.set('a', 1).set('b', 2);
    assert.ok(cache.has('a'));
    cache.set('c', 3);
    assert.deepEqual(cache.keys(), ['b', 'c']);
  });

  it('drops an entry when its age reaches the ttl', () => {
    const cache = new Cache({ ttl: '1s', clock });
    cache.set('a', 1);
    now += 999;
    assert.equal(cache.get('a'), 1);
    now += 1;
    assert.equal(cache.get('a'), undefined);
    assert.equal(cache.size, 0);
  });

  it('takes a ttl per entry', () => {
    const cache = new Cache({ ttl: '1s', clock });
    cache.set('a', 1, '1m');
    cache.set('b', 2);
    now += 5000;
    assert.deepEqual(cache.keys(), ['a']);
  });

  it('refreshes the age when a key is set again', () => {
    const cache = new Cache({ ttl: '1s', clock });
    cache.set('a', 1);
    now += 800;
    cache.set('a', 2);
    now += 800;
    assert.equal(cache.get('a'), 2);
  });

  it('counts hits and misses', () => {
    const cache = new Cache();
    assert.deepEqual(cache.stats(), { hits: 0, misses: 0, evictions: 0, rate: 0 });
    cache.set('a', 1);
    cache.get('a');
    cache.get('a');
    cache.get('b');
    assert.deepEqual(cache.stats(), { hits: 2, misses: 1, evictions: 0, rate: 66.7 });
  });

  it('deletes', () => {
    const cache = new Cache();
    cache.set('a', 1);
    assert.equal(cache.delete('a'), true);
    assert.equal(cache.delete('a'), false);
    assert.equal(cache.has('a'), false);
  });

  it('refuses a max that is not a positive integer', () => {
    for (const max of [0, -1, 1.5, Number.NaN]) {
      assert.throws(() => new Cache({ max }), RangeError);
    }
  });
});
