"""Accounts and what moves between them."""

from __future__ import annotations

from dataclasses import dataclass, field


class InsufficientFunds(Exception):
    """An account has less than was asked for."""


@dataclass
class Account:
    name: str
    balance: int = 0
    limit: int = 0
    history: list[tuple[str, int]] = field(default_factory=list)

    def deposit(self, cents: int) -> None:
        if cents <= 0:
            raise ValueError("a deposit is positive")
        self.balance += cents
        self.history.append(("deposit", cents))

    def withdraw(self, cents: int) -> None:
        if self.balance - cents < -self.limit:
            raise InsufficientFunds(self.name)
        self.balance -= cents
        self.history.append(("withdraw", cents))

    def last(self, count: int) -> list[tuple[str, int]]:
        """The newest entries, newest first."""
        return self.history[-count - 1 :][::-1]


def transfer(source: Account, target: Account, cents: int) -> None:
    """Moves money. Either both accounts change or none."""
    target.deposit(cents)
    source.withdraw(cents)
