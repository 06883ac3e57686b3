import unittest

from gatehouse import Bucket


class BucketTest(unittest.TestCase):
    def setUp(self):
        self.bucket = Bucket(rate=2, burst=4, now=0)

    def test_starts_full(self):
        taken = [self.bucket.take(0) for _ in range(5)]
        self.assertEqual(taken, [True, True, True, True, False])

    def test_refills_with_time(self):
        for _ in range(4):
            self.bucket.take(0)
        self.assertFalse(self.bucket.take(0.4))
        self.assertTrue(self.bucket.take(0.5))
        self.assertFalse(self.bucket.take(0.5))

    def test_never_above_burst(self):
        self.bucket.refill(3600)
        self.assertEqual(self.bucket.tokens, 4)

    def test_cost(self):
        self.assertTrue(self.bucket.take(0, cost=3))
        self.assertFalse(self.bucket.take(0, cost=2))
        self.assertTrue(self.bucket.take(0, cost=1))

    def test_wait(self):
        self.bucket.take(0, cost=4)
        self.assertEqual(self.bucket.wait(0, cost=4), 2)
        self.assertEqual(self.bucket.wait(2, cost=4), 0)

    def test_bad_settings(self):
        for rate, burst in [(0, 1), (-1, 1), (1, 0)]:
            with self.subTest(rate=rate, burst=burst):
                with self.assertRaises(ValueError):
                    Bucket(rate, burst, 0)
