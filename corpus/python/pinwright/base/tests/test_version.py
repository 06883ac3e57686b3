import pytest

from pinwright import Version, VersionError


def test_missing_parts_are_zero():
    assert Version.parse("2") == Version(2, 0, 0)
    assert Version.parse("2.1") == Version(2, 1, 0)


def test_str():
    assert str(Version.parse("1.2.3-rc.1")) == "1.2.3-rc.1"
    assert str(Version.parse("1")) == "1.0.0"


def test_numbers_are_compared_as_numbers():
    assert Version.parse("1.10.0") > Version.parse("1.9.0")


def test_prerelease_comes_before_its_release():
    assert Version.parse("1.0.0-rc.1") < Version.parse("1.0.0")
    assert Version.parse("1.0.0-alpha") < Version.parse("1.0.0-beta")


@pytest.mark.parametrize("text", ["", "x", "1.2.3.4", "1..2", "-1", "1.2-"])
def test_invalid(text):
    with pytest.raises(VersionError, match="not a version"):
        Version.parse(text)
