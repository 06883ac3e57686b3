"""Addresses of mail, as far as a mail merge needs them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?")
_NAMED = re.compile(r"\s*\"?(?P<name>[^\"<]*?)\"?\s*<(?P<address>[^<>]*)>\s*")


class AddressError(ValueError):
    """The text is not an address."""


@dataclass(frozen=True)
class Address:
    local: str
    domain: str
    name: str = ""

    @property
    def spec(self) -> str:
        return f"{self.local}@{self.domain}"

    @property
    def key(self) -> str:
        """What two addresses of the same mailbox have in common."""
        return self.spec.lower()

    def __str__(self) -> str:
        if not self.name:
            return self.spec
        return f'"{self.name}" <{self.spec}>'


def parse_address(text: str) -> Address:
    """`ann@example.org` or `"Ann Lee" <ann@example.org>`."""
    name = ""
    named = _NAMED.fullmatch(text)
    if named:
        name = named["name"]
        text = named["address"]
    text = text.strip()
    local, at, domain = text.rpartition("@")
    if not at:
        raise AddressError(f"no @ in {text!r}")
    if not _LOCAL.fullmatch(local) or len(local) > 64:
        raise AddressError(f"invalid local part {local!r}")
    labels = domain.split(".")
    if len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        raise AddressError(f"invalid domain {domain!r}")
    return Address(local, domain.lower(), name)
