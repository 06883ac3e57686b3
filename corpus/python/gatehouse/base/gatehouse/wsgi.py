"""The limiter in front of a WSGI application."""

import json


def client_key(environ):
    """The client's address; the first of X-Forwarded-For behind a proxy."""
    forwarded = environ.get("HTTP_X_FORWARDED_FOR")
    if forwarded:
        return forwarded.split(",")[0]
    return environ.get("REMOTE_ADDR", "")


class RateLimited:
    def __init__(self, app, limiter, key=client_key, exempt=()):
        self.app = app
        self.limiter = limiter
        self.key = key
        self.exempt = tuple(exempt)

    def __call__(self, environ, start_response):
        path = environ.get("PATH_INFO", "/")
        if path.startswith(self.exempt) or self.limiter.allow(self.key(environ)):
            return self.app(environ, start_response)
        wait = self.limiter.retry_after(self.key(environ))
        body = json.dumps({"error": "too many requests", "retry_after": wait}).encode()
        start_response(
            "429 Too Many Requests",
            [
                ("Content-Type", "application/json"),
                ("Content-Length", str(len(body))),
                ("Retry-After", str(wait)),
            ],
        )
        return [body]
