from datetime import date

import pytest

from tempo.workdays import add_workdays, count_workdays, is_workday, read_holidays


def test_weekend_is_no_workday():
    assert is_workday(date(2024, 3, 1))
    assert not is_workday(date(2024, 3, 2))
    assert not is_workday(date(2024, 3, 3))


def test_holiday_is_no_workday(holidays):
    assert not is_workday(date(2024, 4, 1), holidays)


@pytest.mark.parametrize(
    ("start", "count", "end"),
    [
        (date(2024, 3, 1), 0, date(2024, 3, 1)),
        (date(2024, 3, 1), 1, date(2024, 3, 4)),
        (date(2024, 3, 2), 1, date(2024, 3, 4)),
        (date(2024, 3, 28), 1, date(2024, 4, 2)),
        (date(2024, 4, 2), -1, date(2024, 3, 28)),
    ],
)
def test_add(start, count, end, holidays):
    assert add_workdays(start, count, holidays) == end


def test_count(holidays):
    assert count_workdays(date(2024, 3, 25), date(2024, 4, 5), holidays) == 8
    assert count_workdays(date(2024, 3, 2), date(2024, 3, 3)) == 0
    assert count_workdays(date(2024, 3, 5), date(2024, 3, 4)) == -2


def test_read_holidays(holiday_file, holidays):
    assert read_holidays(holiday_file) == holidays
