export { Cart } from "./cart.js";
export { applyCoupon } from "./coupon.js";
export { formatPrice, parsePrice } from "./price.js";
export { fetchRate } from "./rates.js";
