import pytest

from letterbox import Address, AddressError, parse_address


def test_plain_address():
    assert parse_address("ann@example.org") == Address("ann", "example.org")


def test_named_address():
    address = parse_address('"Ann Lee" <ann@example.org>')
    assert address.name == "Ann Lee"
    assert address.spec == "ann@example.org"


def test_name_without_quotes():
    assert parse_address("Ann Lee <ann@example.org>").name == "Ann Lee"


def test_domain_is_lowercased():
    assert parse_address("Ann@Example.ORG").spec == "Ann@example.org"


def test_key_ignores_case():
    assert parse_address("Ann@example.org").key == parse_address("ann@EXAMPLE.org").key


def test_str_quotes_the_name():
    assert str(Address("ann", "example.org", "Ann Lee")) == '"Ann Lee" <ann@example.org>'
    assert str(Address("ann", "example.org")) == "ann@example.org"


@pytest.mark.parametrize(
    "text",
    ["", "ann", "@example.org", "ann@", "ann@localhost", "a..b@example.org", "ann@-x.org", "a b@example.org"],
)
def test_invalid_addresses(text):
    with pytest.raises(AddressError):
        parse_address(text)


def test_local_part_has_a_limit():
    parse_address("a" * 64 + "@example.org")
    with pytest.raises(AddressError, match="local part"):
        parse_address("a" * 65 + "@example.org")
