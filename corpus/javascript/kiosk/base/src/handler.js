import { TransitionError } from './machine.js';

const ACTION = /^\/orders\/(\d+)\/(pay|cancel|print|refund)$/;

function reply(status, body) {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** Requests are `{ method, path, body }`, answers `{ status, headers, body }`. */
export function makeHandler(store) {
  return function handle({ method, path, body = '' }) {
    try {
      if (method === 'POST' && path === '/orders') {
        const { items } = JSON.parse(body);
        return reply(201, store.create(items));
      }
      const one = /^\/orders\/(\d+)$/.exec(path);
      if (method === 'GET' && one) {
        const order = store.get(Number(one[1]));
        return order ? reply(200, order) : reply(404, { error: 'no such order' });
      }
      const action = ACTION.exec(path);
      if (method === 'POST' && action) {
        const order = store.get(Number(action[1]));
        if (!order) return reply(404, { error: 'no such order' });
        if (action[2] === 'pay' && JSON.parse(body).amount !== order.due) {
          return reply(402, { error: 'wrong amount', due: order.due });
        }
        return reply(200, store.apply(order.id, action[2]));
      }
      return reply(404, { error: 'not found' });
    } catch (error) {
      if (error instanceof TransitionError) return reply(409, { error: error.message });
      if (error instanceof RangeError) return reply(422, { error: error.message });
      throw error;
    }
  };
}
