import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { report } from '../src/report.js';
import { assertFixture } from './helpers/kiosk.js';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

test('the report of a day', () => {
  const out = execFileSync(process.execPath, [path('../bin/report.js'), path('fixtures/orders.json')], { encoding: 'utf8' });
  assertFixture('report.txt', out);
});

test('an empty day', () => {
  assert.equal(report([]), 'total       0.00\n');
});
