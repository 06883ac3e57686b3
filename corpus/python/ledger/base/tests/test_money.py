import pytest

from ledger.money import apply_rate, format_amount, parse_amount, split


def test_parse_whole_and_part():
    assert parse_amount("12.50") == 1250


def test_parse_negative():
    assert parse_amount("-3") == -300


def test_parse_thousands():
    assert parse_amount("1,200.05") == 120005


@pytest.mark.parametrize(
    "cents, text",
    [
        (0, "0.00"),
        (5, "0.05"),
        (1250, "12.50"),
        (120005, "1,200.05"),
    ],
)
def test_format(cents, text):
    assert format_amount(cents) == text


def test_split_evenly():
    assert split(900, 3) == [300, 300, 300]


def test_split_needs_parts():
    with pytest.raises(ValueError, match="at least 1"):
        split(100, 0)


def test_rate_rounds_half_up():
    assert apply_rate(150, 5) == 8
    assert apply_rate(1000, 7.5) == 75
