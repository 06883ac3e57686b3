from datetime import date

import pytest

from tempo.recur import monthly, take, weekly


def test_weekly():
    assert take(3, weekly(date(2024, 2, 26))) == [
        date(2024, 2, 26),
        date(2024, 3, 4),
        date(2024, 3, 11),
    ]


def test_every_other_week():
    assert take(2, weekly(date(2024, 2, 26), every=2))[1] == date(2024, 3, 11)


def test_monthly_crosses_the_year():
    assert take(3, monthly(date(2023, 11, 15))) == [
        date(2023, 11, 15),
        date(2023, 12, 15),
        date(2024, 1, 15),
    ]


@pytest.mark.parametrize("make", [weekly, monthly])
def test_every_is_positive(make):
    with pytest.raises(ValueError):
        next(make(date(2024, 1, 1), every=0))
