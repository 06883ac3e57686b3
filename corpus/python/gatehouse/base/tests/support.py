"""A clock to turn by hand, and a call of a WSGI application."""

import json


class FakeClock:
    def __init__(self, now=1000.0):
        self.now = now

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += seconds


class Response:
    def __init__(self, status, headers, body):
        self.status = int(status.split()[0])
        self.headers = dict(headers)
        self.body = body

    def json(self):
        return json.loads(self.body)


def call(app, path="/", **environ):
    seen = {}

    def start_response(status, headers):
        seen.update(status=status, headers=headers)

    body = b"".join(app({"PATH_INFO": path, "REMOTE_ADDR": "10.0.0.1", **environ}, start_response))
    return Response(seen["status"], seen["headers"], body)


def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]
