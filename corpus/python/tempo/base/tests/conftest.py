from datetime import date

import pytest


@pytest.fixture
def holidays():
    return frozenset({date(2024, 3, 29), date(2024, 4, 1), date(2024, 5, 1)})


@pytest.fixture
def holiday_file(tmp_path, holidays):
    path = tmp_path / "holidays.txt"
    path.write_text("".join(f"{day.isoformat()}  # off\n" for day in sorted(holidays)))
    return path
