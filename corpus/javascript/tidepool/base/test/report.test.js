import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { formatReport } from '../src/index.js';

test('matches the recorded report', () => {
  const expected = readFileSync(new URL('./fixtures/report.txt', import.meta.url), 'utf8');
  const report = formatReport({
    users: { hits: 120, misses: 40, evictions: 3, rate: 75 },
    sessions: { hits: 0, misses: 0, evictions: 0, rate: 0 },
    teams: { hits: 2, misses: 1, evictions: 0, rate: 66.7 },
  });
  assert.equal(`${report}\n`, expected);
});

test('a report without caches has only the head', () => {
  assert.equal(formatReport({}), 'cache  hits  misses  evictions  rate');
});
