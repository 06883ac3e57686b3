from datetime import date
from pathlib import Path

from shelfmark import Loan
from shelfmark.notices import overdue_notice, receipt

GOLDEN = Path(__file__).parent / "golden"


def test_overdue_notice():
    loan = Loan("ada", "dune", date(2024, 3, 1))
    assert overdue_notice(loan, date(2024, 3, 6)) == "Dear ada, dune is 5 days late."


def test_receipt():
    text = receipt("ada", [("dune", 120), ("emma", 1525)])
    assert text == (GOLDEN / "receipt.txt").read_text()
