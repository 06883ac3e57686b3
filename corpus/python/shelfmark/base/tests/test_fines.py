from datetime import date

from shelfmark.fines import days_late, fine, format_cents, total

DUE = date(2024, 3, 10)


def test_early_return_is_not_late():
    assert days_late(DUE, date(2024, 3, 8)) == 0


def test_grace_period_is_free():
    assert fine("book", DUE, date(2024, 3, 11)) == 0


def test_each_day_costs():
    assert fine("book", DUE, date(2024, 3, 15)) == 100


def test_fine_is_capped():
    assert fine("dvd", DUE, date(2024, 4, 30)) == 1500


def test_total_of_several():
    items = [("book", DUE, date(2024, 3, 15)), ("dvd", DUE, date(2024, 3, 15))]
    assert total(items) == 600


def test_format():
    assert format_cents(1234) == "12.34 EUR"
