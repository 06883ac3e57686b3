import pytest

from pinwright import Constraint, ConstraintError, Version


def allows(constraint, version):
    return Constraint(constraint).allows(Version.parse(version))


@pytest.mark.parametrize(
    ("constraint", "inside", "outside"),
    [
        ("*", ["0.0.1", "9.9.9"], ["1.0.0-rc.1"]),
        ("1.2.3", ["1.2.3"], ["1.2.4"]),
        ("!=1.2.3", ["1.2.2", "1.2.4"], ["1.2.3"]),
        ("^1.2", ["1.2.0", "1.9.9"], ["1.1.9", "2.0.0"]),
        ("~1.2", ["1.2.0", "1.2.9"], ["1.1.9", "1.3.0"]),
        (">=1.0,<2.0", ["1.0.0", "1.9.9"], ["0.9.9", "2.0.0"]),
    ],
)
def test_ranges(constraint, inside, outside):
    assert all(allows(constraint, version) for version in inside)
    assert not any(allows(constraint, version) for version in outside)


def test_prerelease_must_be_named():
    assert allows(">=2.0.0-rc.1", "2.0.0-rc.2")
    assert not allows(">=1.0", "2.0.0-rc.2")


@pytest.mark.parametrize("text", ["", "^", "=>1.0", "1.0 2.0", ">=1.0,"])
def test_invalid(text):
    with pytest.raises(ConstraintError):
        Constraint(text)
