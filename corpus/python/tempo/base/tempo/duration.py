"""Durations such as ``1h30m`` or ``2d``, as seconds."""

import re

UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
_PART = re.compile(r"(\d+(?:\.\d+)?)([wdhms])")


class DurationError(ValueError):
    """The text is not a duration."""


def parse_duration(text):
    """Seconds in ``text``. Units must come from large to small, each at most once."""
    rest = text.strip()
    if not rest:
        raise DurationError("empty duration")
    sign = 1
    if rest[0] == "-":
        sign, rest = -1, rest[1:]
    total = 0.0
    seen = []
    while rest:
        match = _PART.match(rest)
        if match is None:
            raise DurationError(f"cannot read {rest!r}")
        number, unit = match.groups()
        seen.append(UNITS[unit])
        total += float(number) * UNITS[unit]
        rest = rest[match.end():]
    if seen != sorted(seen, reverse=True):
        raise DurationError(f"units out of order in {text!r}")
    return sign * total


def format_duration(seconds, parts=None):
    """The shortest text that ``parse_duration`` reads back, with at most ``parts`` units."""
    left = int(round(seconds))
    if left == 0:
        return "0s"
    out = []
    for unit, size in UNITS.items():
        count, left = divmod(left, size)
        if count:
            out.append(f"{count}{unit}")
    if parts is not None:
        out = out[:parts]
    return "".join(out)


def humanize(seconds):
    """``90`` is ``"1 minute 30 seconds"``."""
    names = {"w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second"}
    words = []
    for number, unit in _PART.findall(format_duration(seconds)):
        words.append(f"{number} {names[unit]}" + ("" if number == "1" else "s"))
    return " ".join(words)
