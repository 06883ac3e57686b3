"""Recurring dates."""

from datetime import date, timedelta
from itertools import islice


def weekly(start, every=1):
    """Every ``every`` weeks from ``start``, without end."""
    if every < 1:
        raise ValueError("every must be positive")
    day = start
    while True:
        yield day
        day += timedelta(weeks=every)


def monthly(start, every=1):
    """The same day each month, without end."""
    if every < 1:
        raise ValueError("every must be positive")
    index = start.year * 12 + start.month - 1
    while True:
        year, month = divmod(index, 12)
        yield date(year, month + 1, start.day)
        index += every


def take(count, dates):
    return list(islice(dates, count))


def quarter(day):
    return (day.month - 1) // 3 + 1
