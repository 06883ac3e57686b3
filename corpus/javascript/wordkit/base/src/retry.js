/** Calls something up to so many times until it does not throw. */
async function retry(work, times) {
  for (let n = 0; n < times; n++) {
    try {
      return await work(n);
    } catch (error) {
      if (n === times) throw error;
    }
  }
}

module.exports = { retry };
