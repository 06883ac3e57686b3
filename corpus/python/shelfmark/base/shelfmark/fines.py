"""What a late return costs, in cents."""

DAILY = {"book": 20, "dvd": 100, "magazine": 10}
GRACE_DAYS = 2
CAP = 1500


def days_late(due, returned):
    return max(0, (returned - due).days)


def fine(kind, due, returned):
    """The fine for one item. Returns within the grace period are free."""
    late = days_late(due, returned)
    if late < GRACE_DAYS:
        return 0
    return min(DAILY[kind] * late, CAP)


def total(items):
    """The sum of the fines of ``(kind, due, returned)``."""
    result = 0
    for kind, due, returned in items:
        result += fine(kind, due, returned)
    return result


def format_cents(cents):
    return f"{cents // 100}.{cents % 100} EUR"
