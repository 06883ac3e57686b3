"""Amounts of money are whole cents."""

from __future__ import annotations


def parse_amount(text: str) -> int:
    """Reads `12.50`, `-3` or `1,200.05` as cents."""
    text = text.strip().replace(",", "")
    sign = 1
    if text[0] == "-":
        sign = -1
        text = text[1:]
    whole, _, part = text.partition(".")
    return sign * (int(whole) * 100 + int(part or "0"))


def format_amount(cents: int) -> str:
    """Writes cents as `12.50`, with commas between thousands."""
    return f"{cents // 100:,}.{cents % 100:02d}"


def split(total: int, parts: int) -> list[int]:
    """Divides an amount into parts that differ by at most one cent."""
    if parts < 1:
        raise ValueError("parts must be at least 1")
    return [total // parts] * parts


def apply_rate(cents: int, percent: float) -> int:
    """The given percentage of an amount, rounded half up."""
    return int(cents * percent / 100 + 0.5)
