/** Jobs by priority; equal priorities in the order they came. */
class Queue {
  constructor() {
    this.jobs = [];
  }

  push(job, priority = 0) {
    this.jobs.push({ job, priority });
    this.jobs.sort((a, b) => b.priority - a.priority);
    return this.jobs.length;
  }

  pop() {
    return this.jobs.shift().job;
  }

  get size() {
    return this.jobs.length;
  }

  /** Drops all jobs of less than the given priority, and says how many. */
  drop(priority) {
    const before = this.jobs.length;
    this.jobs = this.jobs.filter((entry) => entry.priority > priority);
    return before - this.jobs.length;
  }
}

module.exports = { Queue };
