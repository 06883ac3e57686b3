import pytest

from ledger import Account
from ledger.parse import Entry


@pytest.fixture
def cash():
    account = Account("cash")
    account.deposit(10_000)
    return account


@pytest.fixture
def entries():
    return [
        Entry("2024-01-03", "rent", -80_000),
        Entry("2024-01-15", "salary", 250_000),
        Entry("2024-02-01", "books", -3_550),
    ]
