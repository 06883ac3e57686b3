"""Reads and writes times of day."""


def parse_time(text):
    """`9:30` as minutes."""
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


def format_time(minutes):
    """Minutes as `09:30`."""
    return "%02d:%02d" % (minutes / 60, minutes % 60)


def overlap(a, b):
    """Whether two spans have a time in common."""
    return a[0] <= b[1] and b[0] <= a[1]
