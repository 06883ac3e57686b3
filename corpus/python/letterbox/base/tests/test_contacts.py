from pathlib import Path

import pytest

from letterbox import load_contacts, read_contacts

DATA = Path(__file__).parent / "data"


def test_columns_become_values():
    contacts = read_contacts(["Name, Email\n", "Ann, ann@example.org\n"])
    assert [contact.values for contact in contacts] == [{"name": "Ann", "email": "ann@example.org"}]


def test_email_column_is_required():
    with pytest.raises(ValueError, match="email"):
        read_contacts(["name\n", "Ann\n"])


def test_first_of_duplicates_wins():
    contacts = read_contacts(["name,email\n", "Ann,ann@example.org\n", "Eve,ANN@example.org\n"])
    assert [contact.values["name"] for contact in contacts] == ["Ann"]
    assert contacts.duplicates == 1


def test_rejected_rows_have_line_numbers():
    contacts = read_contacts(["email\n", "ann@example.org\n", "nobody\n"])
    assert len(contacts) == 1
    assert contacts.rejected == [(3, "no @ in 'nobody'")]


def test_short_rows_have_empty_values():
    contacts = read_contacts(["email,seat\n", "ann@example.org\n"])
    assert next(iter(contacts)).values["seat"] == ""


def test_load_from_file():
    contacts = load_contacts(DATA / "members.csv")
    assert [str(contact.address) for contact in contacts] == [
        "ann@example.org",
        "bob@example.com",
        "zoe@example.net",
    ]
    assert contacts.rejected == [(5, "invalid domain 'localhost'")]
