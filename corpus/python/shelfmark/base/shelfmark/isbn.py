"""Check and convert ISBNs."""


class IsbnError(ValueError):
    """The text is not an ISBN."""


def clean(text):
    return text.replace("-", "").replace(" ", "")


def check_digit10(body):
    total = sum((10 - i) * int(c) for i, c in enumerate(body))
    rest = (11 - total % 11) % 11
    return "X" if rest == 10 else str(rest)


def check_digit13(body):
    total = sum((3 if i % 2 else 1) * int(c) for i, c in enumerate(body))
    return str(10 - total % 10)


def is_valid(text):
    raw = clean(text)
    if len(raw) == 10:
        return check_digit10(raw[:9]) == raw[9]
    if len(raw) == 13:
        return check_digit13(raw[:12]) == raw[12]
    return False


def to_isbn13(text):
    raw = clean(text)
    if not is_valid(raw):
        raise IsbnError(f"not an ISBN: {text}")
    if len(raw) == 13:
        return raw
    body = "978" + raw[:9]
    return body + check_digit13(body)
