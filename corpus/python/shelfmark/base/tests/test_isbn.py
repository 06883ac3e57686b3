import pytest

from shelfmark.isbn import IsbnError, is_valid, to_isbn13


def test_valid_isbn10():
    assert is_valid("0-306-40615-2")


def test_isbn10_with_x():
    assert is_valid("0-8044-2957-X")


def test_wrong_check_digit():
    assert not is_valid("0-306-40615-3")


def test_valid_isbn13():
    assert is_valid("978-0-306-40615-7")


def test_wrong_length():
    assert not is_valid("12345")


def test_converts_to_isbn13():
    assert to_isbn13("0-306-40615-2") == "9780306406157"


def test_refuses_to_convert_nonsense():
    with pytest.raises(IsbnError, match="not an ISBN: 123"):
        to_isbn13("123")
