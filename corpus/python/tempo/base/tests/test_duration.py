import pytest

from tempo.duration import DurationError, format_duration, humanize, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45s", 45),
        ("2m", 120),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("2d", 172800),
        ("1w2d", 777600),
        ("-10m", -600),
        (" 5s ", 5),
    ],
)
def test_parse(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "  ", "h", "10", "1x", "30m1h"])
def test_parse_rejects(text):
    with pytest.raises(DurationError):
        parse_duration(text)


def test_error_names_the_rest():
    with pytest.raises(DurationError, match="cannot read '5x'"):
        parse_duration("1h5x")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (3661, "1h1m1s"), (694861, "1w1d1h1m1s")],
)
def test_format(seconds, text):
    assert format_duration(seconds) == text


def test_format_parts():
    assert format_duration(3661, parts=2) == "1h1m"


def test_humanize():
    assert humanize(90) == "1 minute 30 seconds"
    assert humanize(7200) == "2 hours"
