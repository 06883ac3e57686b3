import pytest

from quanta import Quantity, UnitError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("12 km", 12.0, "km"),
        ("3.5kg", 3.5, "kg"),
        ("-4 s", -4.0, "s"),
    ],
)
def test_parse(text, value, unit):
    assert Quantity.parse(text) == Quantity(value, unit)


@pytest.mark.parametrize("text", ["", "km", "twelve km"])
def test_parse_refuses(text):
    with pytest.raises(ValueError, match="not a quantity"):
        Quantity.parse(text)


@pytest.mark.parametrize(
    ("quantity", "target", "expected"),
    [
        (Quantity(12, "km"), "m", 12000.0),
        (Quantity(90, "min"), "h", 1.5),
        (Quantity(250, "g"), "kg", 0.25),
    ],
)
def test_convert(registry, quantity, target, expected):
    converted = quantity.to(target, registry)
    assert converted.unit == target
    assert converted.value == pytest.approx(expected, rel=1e-12)


def test_dimensions_must_agree(registry):
    with pytest.raises(UnitError, match="km is not kg"):
        Quantity(1, "km").to("kg", registry)


def test_add(registry):
    assert Quantity(1, "km").add(Quantity(500, "m"), registry) == Quantity(1.5, "km")


def test_str():
    assert str(Quantity(0.25, "kg")) == "0.25 kg"
