import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { makeHandler } from '../../src/handler.js';
import { Store } from '../../src/store.js';

export const NOON = new Date('2024-05-06T12:00:00Z');

/** A handler over an empty store whose clock stands still. */
export function kiosk() {
  const store = new Store({ clock: () => NOON });
  const handle = makeHandler(store);
  const send = (method, path, body) => {
    const answer = handle({ method, path, body: body === undefined ? undefined : JSON.stringify(body) });
    return { ...answer, json: JSON.parse(answer.body) };
  };
  return { store, handle, send };
}

export function order(send, items = [{ sku: 'day', quantity: 2 }]) {
  const answer = send('POST', '/orders', { items });
  assert.equal(answer.status, 201);
  return answer.json;
}

export function assertFixture(name, actual) {
  const expected = readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8');
  assert.equal(actual, expected);
}
