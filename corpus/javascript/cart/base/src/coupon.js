/** Takes a coupon off a total: `{ percent }` or `{ amount }`. */
export function applyCoupon(total, coupon) {
  if (coupon.percent) return total - (total * coupon.percent) / 100;
  return total - coupon.amount;
}

/** Whether a coupon may be used on the given day. */
export function isValid(coupon, day) {
  return day >= coupon.from && day < coupon.until;
}
