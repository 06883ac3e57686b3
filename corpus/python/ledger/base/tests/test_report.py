from ledger.report import average, by_month, largest, render, total


def test_total(entries):
    assert total(entries) == 166_450


def test_average(entries):
    assert average(entries[:2]) == 85_000


def test_by_month(entries):
    assert by_month(entries) == {"2024-01": 170_000, "2024-02": -3_550}


def test_largest_first(entries):
    assert largest(entries, 1)[0].text == "salary"


def test_render_has_total(entries):
    lines = render(entries[1:2]).splitlines()
    assert lines[0] == "2024-01-15    2,500.00  salary"
    assert lines[-1] == "total         2,500.00"
