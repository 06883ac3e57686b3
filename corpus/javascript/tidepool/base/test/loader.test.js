import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cache, Loader } from '../src/index.js';

test('loads once and then answers from the cache', async () => {
  const calls = [];
  const loader = new Loader(new Cache(), async (id) => {
    calls.push(id);
    return { id };
  });
  assert.deepEqual(await loader.get(7), { id: 7 });
  assert.deepEqual(await loader.get(7), { id: 7 });
  assert.deepEqual(calls, [7]);
});

test('concurrent calls share one load', async () => {
  let calls = 0;
  const loader = new Loader(new Cache(), async (id) => {
    calls += 1;
    return id * 2;
  });
  assert.deepEqual(await loader.getAll([3, 3, 4]), [6, 6, 8]);
  assert.equal(calls, 2);
});

test('errors reach every caller', async () => {
  const loader = new Loader(new Cache(), async () => {
    throw new Error('down');
  });
  const results = await Promise.allSettled([loader.get(1), loader.get(1)]);
  assert.deepEqual(
    results.map((result) => [result.status, result.reason?.message]),
    [
      ['rejected', 'down'],
      ['rejected', 'down'],
    ],
  );
});

test('errors are not cached', async () => {
  let calls = 0;
  const loader = new Loader(new Cache(), async () => {
    calls += 1;
    if (calls === 1) throw new Error('down');
    return 'up';
  });
  await assert.rejects(loader.get('x'), /down/);
  assert.equal(await loader.get('x'), 'up');
});

test('equal objects are one key', async () => {
  let calls = 0;
  const loader = new Loader(new Cache(), async () => {
    calls += 1;
    return calls;
  });
  await loader.get({ page: 1, size: 20 });
  await loader.get({ size: 20, page: 1 });
  assert.equal(calls, 1);
});

test('invalidate forces another load', async () => {
  let calls = 0;
  const loader = new Loader(new Cache(), async () => (calls += 1));
  assert.equal(await loader.get('x'), 1);
  loader.invalidate('x');
  assert.equal(await loader.get('x'), 2);
});
