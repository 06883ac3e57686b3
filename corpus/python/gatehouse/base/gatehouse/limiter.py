"""One bucket per key."""

import time

from .bucket import Bucket


class Limiter:
    def __init__(self, rate, burst, clock=time.monotonic, idle=600):
        self.rate = rate
        self.burst = burst
        self.clock = clock
        self.idle = idle
        self.buckets = {}

    def _bucket(self, key, now):
        if key not in self.buckets:
            self.buckets[key] = Bucket(self.rate, self.burst, now)
        return self.buckets[key]

    def allow(self, key, cost=1):
        now = self.clock()
        return self._bucket(key, now).take(now, cost)

    def retry_after(self, key, cost=1):
        now = self.clock()
        return self._bucket(key, now).wait(now, cost)

    def sweep(self):
        """Forget keys that were idle for long. Returns how many."""
        now = self.clock()
        old = [key for key, bucket in self.buckets.items() if now - bucket.updated > self.idle]
        for key in old:
            del self.buckets[key]
        return len(old)
