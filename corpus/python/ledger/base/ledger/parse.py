"""Reads statements: `date;text;amount`, one entry per line."""

from __future__ import annotations

from typing import NamedTuple

from .money import parse_amount


class Entry(NamedTuple):
    date: str
    text: str
    cents: int


def parse_line(line: str) -> Entry:
    date, text, amount = line.split(";")
    return Entry(date, text.strip(), parse_amount(amount))


def parse_statement(text: str) -> list[Entry]:
    """Reads a whole statement; lines that begin with `#` are comments."""
    entries = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        entries.append(parse_line(line))
    return entries
