"""A token bucket."""


class Bucket:
    """Holds up to ``burst`` tokens and gains ``rate`` of them per second."""

    def __init__(self, rate, burst, now):
        if rate <= 0 or burst < 1:
            raise ValueError("rate must be positive and burst at least 1")
        self.rate = rate
        self.burst = burst
        self.tokens = float(burst)
        self.updated = now

    def refill(self, now):
        self.tokens += (now - self.updated) * self.rate
        self.tokens = min(self.tokens, self.burst)
        self.updated = now

    def take(self, now, cost=1):
        """True, and ``cost`` tokens less, if there are enough."""
        self.refill(now)
        if self.tokens < cost:
            return False
        self.tokens -= cost
        return True

    def wait(self, now, cost=1):
        """Whole seconds until ``cost`` tokens are there."""
        self.refill(now)
        missing = cost - self.tokens
        return int(missing / self.rate) if missing > 0 else 0
