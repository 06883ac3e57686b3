"""The lending desk."""

from dataclasses import dataclass
from datetime import date, timedelta

from .fines import fine


class LoanError(Exception):
    """The desk refuses."""


@dataclass
class Loan:
    member: str
    item: str
    due: date
    kind: str = "book"
    renewals: int = 0


class Desk:
    def __init__(self, today=date.today, limit=5, max_renewals=2):
        self.today = today
        self.limit = limit
        self.max_renewals = max_renewals
        self._loans = {}

    def lend(self, member, item, kind="book", weeks=3):
        if item in self._loans:
            raise LoanError(f"{item} is already on loan")
        if len(self.loans_of(member)) > self.limit:
            raise LoanError(f"{member} has too many loans")
        loan = Loan(member, item, self.today() + timedelta(weeks=weeks), kind)
        self._loans[item] = loan
        return loan

    def give_back(self, item):
        """Ends the loan and returns the fine."""
        loan = self._loans.pop(item)
        return fine(loan.kind, loan.due, self.today())

    def renew(self, item, weeks=3):
        loan = self._loans[item]
        if loan.renewals >= self.max_renewals:
            raise LoanError(f"{item} was renewed {loan.renewals} times")
        loan.due = self.today() + timedelta(weeks=weeks)
        loan.renewals += 1
        return loan

    def loans_of(self, member):
        return [loan for loan in self._loans.values() if loan.member == member]

    def overdue(self):
        today = self.today()
        return [loan for loan in self._loans.values() if loan.due < today]
