from datetime import date, timedelta

import pytest

from shelfmark import Book, Desk


class Clock:
    def __init__(self, day):
        self.day = day

    def __call__(self):
        return self.day

    def forward(self, days):
        self.day += timedelta(days=days)


@pytest.fixture
def clock():
    return Clock(date(2024, 3, 1))


@pytest.fixture
def desk(clock):
    return Desk(today=clock)


@pytest.fixture
def books():
    return [
        Book("Dune", "Frank Herbert", 1965),
        Book("Emma", "Jane Austen", 1815),
        Book("Persuasion", "Jane Austen", 1817),
    ]
