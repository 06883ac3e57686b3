import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { discounted, formatCents, total } from '../src/prices.js';

describe('total', () => {
  it('adds up', () => {
    assert.equal(total([{ sku: 'single', quantity: 2 }, { sku: 'week', quantity: 1 }]), 3010);
    assert.equal(total([]), 0);
  });

  it('knows its tickets', () => {
    assert.throws(() => total([{ sku: 'moon', quantity: 1 }]), { name: 'RangeError', message: 'unknown ticket: moon' });
  });
});

describe('discounted', () => {
  it('takes ten percent off many tickets', () => {
    assert.equal(discounted([{ sku: 'day', quantity: 6 }]), 3780);
  });

  it('rounds to cents', () => {
    assert.equal(discounted([{ sku: 'week', quantity: 7 }]), 15435);
  });

  it('leaves a few tickets alone', () => {
    assert.equal(discounted([{ sku: 'day', quantity: 1 }, { sku: 'single', quantity: 2 }]), 1260);
  });
});

describe('formatCents', () => {
  for (const [cents, text] of [[0, '0.00'], [5, '0.05'], [280, '2.80'], [123456, '1234.56']]) {
    it(`${cents} is ${text}`, () => assert.equal(formatCents(cents), text));
  }
});
