"""A small double-entry ledger."""

from .account import Account, InsufficientFunds, transfer
from .money import format_amount, parse_amount, split

__all__ = ["Account", "InsufficientFunds", "format_amount", "parse_amount", "split", "transfer"]
