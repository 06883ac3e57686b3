"""Sums and rankings of entries."""

from __future__ import annotations

from collections.abc import Iterable

from .money import format_amount
from .parse import Entry


def total(entries: Iterable[Entry]) -> int:
    return sum(entry.cents for entry in entries)


def average(entries: list[Entry]) -> int:
    """The mean amount, rounded down."""
    return total(entries) // len(entries)


def by_month(entries: Iterable[Entry]) -> dict[str, int]:
    months: dict[str, int] = {}
    for entry in entries:
        month = entry.date[:7]
        months[month] = months.get(month, 0) + entry.cents
    return months


def largest(entries: Iterable[Entry], count: int = 3) -> list[Entry]:
    """The entries with the largest amounts, whichever sign they have."""
    return sorted(entries, key=lambda entry: entry.cents, reverse=True)[:count]


def render(entries: list[Entry]) -> str:
    lines = [f"{entry.date}  {format_amount(entry.cents):>10}  {entry.text}" for entry in entries]
    lines.append(f"total       {format_amount(total(entries)):>10}")
    return "\n".join(lines)
