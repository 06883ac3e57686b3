import unittest

from gatehouse import Limiter
from tests.support import FakeClock


class LimiterTest(unittest.TestCase):
    def setUp(self):
        self.clock = FakeClock()
        self.limiter = Limiter(rate=1, burst=2, clock=self.clock, idle=60)

    def test_keys_are_apart(self):
        self.assertTrue(self.limiter.allow("a", cost=2))
        self.assertFalse(self.limiter.allow("a"))
        self.assertTrue(self.limiter.allow("b"))

    def test_allows_again_later(self):
        self.limiter.allow("a", cost=2)
        self.clock.advance(0.9)
        self.assertFalse(self.limiter.allow("a"))
        self.clock.advance(0.2)
        self.assertTrue(self.limiter.allow("a"))

    def test_sweep(self):
        self.limiter.allow("old")
        self.clock.advance(61)
        self.limiter.allow("new")
        self.assertEqual(self.limiter.sweep(), 1)
        self.assertEqual(list(self.limiter.buckets), ["new"])
