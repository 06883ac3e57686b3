"""Limits as text: ``10/s``, ``100/min``, ``5000/h``."""

PERIODS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}


def parse_rule(text):
    """(tokens per second, burst)."""
    count, slash, period = text.partition("/")
    if not slash or period not in PERIODS:
        raise ValueError(f"not a limit: {text!r}")
    return int(count) / PERIODS[period], int(count)
