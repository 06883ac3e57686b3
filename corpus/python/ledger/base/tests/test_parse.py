import pytest

from ledger.parse import Entry, parse_line, parse_statement

STATEMENT = """\
# account 12
2024-01-03;rent;-800.00
2024-01-15;salary;2,500.00
"""


def test_line():
    assert parse_line("2024-01-03; rent ;-800.00") == Entry("2024-01-03", "rent", -80_000)


def test_statement_skips_comments():
    assert [entry.text for entry in parse_statement(STATEMENT)] == ["rent", "salary"]


def test_line_without_amount():
    with pytest.raises(ValueError):
        parse_line("2024-01-03;rent")
