import pytest

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("unit", "dimension"),
    [("km", "length"), ("g", "mass"), ("min", "time")],
)
def test_dimension(registry, unit, dimension):
    assert registry.dimension(unit) == dimension


def test_load(registry, units_file):
    assert registry.load(units_file) == 2
    assert registry.factor("league") == 4828.032
    assert registry.dimension("stone") == "mass"


def test_unknown_unit(registry):
    with pytest.raises(KeyError):
        registry.factor("furlong")
