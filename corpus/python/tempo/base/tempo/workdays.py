"""Working days: Monday to Friday, without holidays."""

from datetime import date, timedelta

ONE_DAY = timedelta(days=1)


def is_workday(day, holidays=()):
    return day.weekday() < 5 and day not in holidays


def add_workdays(start, count, holidays=()):
    """The day ``count`` working days after ``start`` (before it, if negative)."""
    step = ONE_DAY if count >= 0 else -ONE_DAY
    day = start
    left = abs(count)
    while left:
        day += step
        if is_workday(day, holidays):
            left -= 1
    return day


def count_workdays(first, last, holidays=()):
    """Working days from ``first`` up to and including ``last``."""
    if last < first:
        return -count_workdays(last, first, holidays)
    days = 0
    day = first
    while day < last:
        if is_workday(day, holidays):
            days += 1
        day += ONE_DAY
    return days + (1 if last.weekday() < 5 else 0)


def read_holidays(path):
    """One ISO date per line; ``#`` starts a comment."""
    days = set()
    with open(path) as file:
        for line in file:
            text = line.split("#")[0].strip()
            if text:
                days.add(date.fromisoformat(text))
    return frozenset(days)
