"""Loans, fines and notices of a small lending library."""

from .catalog import Book
from .loans import Desk, Loan, LoanError

__all__ = ["Book", "Desk", "Loan", "LoanError"]
