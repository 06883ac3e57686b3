import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOON, kiosk, order } from './helpers/kiosk.js';

test('creates an order', () => {
  const { send } = kiosk();
  assert.deepEqual(order(send), {
    id: 1,
    items: [{ sku: 'day', quantity: 2 }],
    state: 'open',
    due: 1400,
    at: NOON.toISOString(),
  });
});

test('pays, prints and refunds', () => {
  const { send } = kiosk();
  order(send);
  assert.equal(send('POST', '/orders/1/pay', { amount: 1400 }).json.state, 'paid');
  assert.equal(send('POST', '/orders/1/print').json.state, 'done');
  assert.equal(send('POST', '/orders/1/refund').json.state, 'refunded');
});

test('wants the exact amount', () => {
  const { send } = kiosk();
  order(send);
  const answer = send('POST', '/orders/1/pay', { amount: 1399 });
  assert.equal(answer.status, 402);
  assert.deepEqual(answer.json, { error: 'wrong amount', due: 1400 });
  assert.equal(send('GET', '/orders/1').json.state, 'open');
});

test('refuses what the state does not allow', () => {
  const { send } = kiosk();
  order(send);
  const answer = send('POST', '/orders/1/print');
  assert.equal(answer.status, 409);
  assert.deepEqual(answer.json, { error: 'cannot print an order that is open' });
});

test('unknown tickets', () => {
  const { send } = kiosk();
  assert.equal(send('POST', '/orders', { items: [{ sku: 'moon', quantity: 1 }] }).status, 422);
});

test('unknown orders and paths', () => {
  const { send } = kiosk();
  assert.equal(send('GET', '/orders/9').status, 404);
  assert.equal(send('POST', '/orders/9/pay', { amount: 1 }).status, 404);
  assert.equal(send('GET', '/').status, 404);
});
