import pytest

from ledger import Account, InsufficientFunds, transfer


def test_deposit(cash):
    cash.deposit(500)
    assert cash.balance == 10_500
    assert cash.history[-1] == ("deposit", 500)


def test_deposit_is_positive(cash):
    with pytest.raises(ValueError):
        cash.deposit(0)


def test_withdraw(cash):
    cash.withdraw(2_500)
    assert cash.balance == 7_500


def test_withdraw_too_much(cash):
    with pytest.raises(InsufficientFunds):
        cash.withdraw(10_001)
    assert cash.balance == 10_000


def test_limit_allows_debt():
    account = Account("credit", limit=5_000)
    account.withdraw(5_000)
    assert account.balance == -5_000


def test_transfer(cash):
    savings = Account("savings")
    transfer(cash, savings, 4_000)
    assert (cash.balance, savings.balance) == (6_000, 4_000)


def test_history_has_newest_first(cash):
    cash.withdraw(100)
    assert cash.last(2)[0] == ("withdraw", 100)
