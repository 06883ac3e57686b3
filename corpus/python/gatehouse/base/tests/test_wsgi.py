import unittest

from gatehouse import Limiter, RateLimited
from tests.support import FakeClock, call, hello


class RateLimitedTest(unittest.TestCase):
    def setUp(self):
        self.clock = FakeClock()
        limiter = Limiter(rate=0.5, burst=2, clock=self.clock)
        self.app = RateLimited(hello, limiter, exempt=["/health"])

    def exhaust(self):
        for _ in range(2):
            self.assertEqual(call(self.app).status, 200)

    def test_passes_through(self):
        response = call(self.app)
        self.assertEqual(response.status, 200)
        self.assertEqual(response.body, b"hello")

    def test_too_many(self):
        self.exhaust()
        response = call(self.app)
        self.assertEqual(response.status, 429)
        self.assertEqual(response.headers["Retry-After"], "2")
        self.assertEqual(response.json(), {"error": "too many requests", "retry_after": 2})
        self.assertEqual(response.headers["Content-Length"], str(len(response.body)))

    def test_recovers(self):
        self.exhaust()
        self.clock.advance(2)
        self.assertEqual(call(self.app).status, 200)

    def test_clients_are_apart(self):
        self.exhaust()
        self.assertEqual(call(self.app, REMOTE_ADDR="10.0.0.2").status, 200)

    def test_forwarded(self):
        self.exhaust()
        self.assertEqual(call(self.app, HTTP_X_FORWARDED_FOR="192.0.2.7, 10.0.0.1").status, 200)

    def test_exempt(self):
        self.exhaust()
        self.assertEqual(call(self.app, path="/health").status, 200)
        self.assertEqual(call(self.app, path="/health/db").status, 200)
