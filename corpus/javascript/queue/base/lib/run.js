/** Runs all functions, at most so many at once; results in their order. */
async function runAll(jobs, limit = 2) {
  const results = [];
  const waiting = [...jobs.entries()];
  async function worker() {
    while (waiting.length) {
      const [index, job] = waiting.shift();
      results.push(await job());
    }
  }
  await Promise.all(Array.from({ length: limit }, worker));
  return results;
}

module.exports = { runAll };
