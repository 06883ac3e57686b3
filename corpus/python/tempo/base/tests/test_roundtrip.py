"""What `format_duration` writes, `parse_duration` reads back."""

import random

from tempo.duration import format_duration, parse_duration
from tempo.workdays import add_workdays, count_workdays


def test_format_then_parse():
    rng = random.Random(20240301)
    for _ in range(500):
        seconds = rng.randrange(0, 10_000_000)
        assert parse_duration(format_duration(seconds)) == seconds


def test_added_days_are_counted(holidays):
    from datetime import date, timedelta

    rng = random.Random(7)
    for _ in range(200):
        start = date(2024, 1, 1) + timedelta(days=rng.randrange(120))
        end = add_workdays(start, rng.randrange(1, 40), holidays)
        assert count_workdays(start, end, holidays) >= 1
