import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TRANSITIONS, TransitionError, isFinal, next } from '../src/machine.js';

test('an order goes from open to done', () => {
  assert.equal(next('open', 'pay'), 'paid');
  assert.equal(next('paid', 'print'), 'done');
});

test('final states', () => {
  const final = Object.keys(TRANSITIONS).filter(isFinal);
  assert.deepEqual(final, ['cancelled', 'refunded']);
});

for (const [state, event] of [
  ['open', 'print'],
  ['open', 'refund'],
  ['paid', 'pay'],
  ['paid', 'cancel'],
  ['cancelled', 'pay'],
  ['refunded', 'refund'],
]) {
  test(`no ${event} when ${state}`, () => {
    assert.throws(() => next(state, event), new TransitionError(state, event));
  });
}
