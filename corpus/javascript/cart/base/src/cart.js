/** What somebody wants to buy. */
export class Cart {
  constructor() {
    this.lines = [];
  }

  add(item, count = 1) {
    if (count < 1) throw new RangeError("count must be at least 1");
    const line = this.lines.find((line) => line.item === item);
    if (line) line.count += count;
    else this.lines.push({ item, count });
    return this;
  }

  remove(id) {
    const index = this.lines.findIndex((line) => line.item.id === id);
    this.lines.splice(index, 1);
  }

  count() {
    return this.lines.reduce((sum, line) => sum + line.count, 0);
  }

  total() {
    return this.lines.reduce((sum, line) => sum + line.item.price * line.count, 0);
  }

  /** The line that costs most. */
  dearest() {
    return this.lines.reduce((a, b) => (b.item.price * b.count > a.item.price * a.count ? b : a));
  }
}
