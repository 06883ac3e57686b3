"""Contacts from files of comma-separated values."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .address import Address, AddressError, parse_address


@dataclass(frozen=True)
class Contact:
    address: Address
    values: dict[str, str]


@dataclass
class ContactList:
    contacts: list[Contact] = field(default_factory=list)
    rejected: list[tuple[int, str]] = field(default_factory=list)
    duplicates: int = 0

    def __len__(self) -> int:
        return len(self.contacts)

    def __iter__(self) -> Iterator[Contact]:
        return iter(self.contacts)


def load_contacts(path: str | Path) -> ContactList:
    with open(path, encoding="utf-8", newline="") as file:
        return read_contacts(file)


def read_contacts(lines: Iterable[str]) -> ContactList:
    reader = csv.DictReader(lines)
    columns = [name.strip().lower() for name in reader.fieldnames or []]
    if "email" not in columns:
        raise ValueError("no column 'email'")
    reader.fieldnames = columns
    result = ContactList()
    seen: set[str] = set()
    for row in reader:
        values = {name: (text or "").strip() for name, text in row.items() if name}
        try:
            address = parse_address(values["email"])
        except AddressError as error:
            result.rejected.append((reader.line_num, str(error)))
            continue
        if address.key in seen:
            result.duplicates += 1
            continue
        seen.add(address.key)
        result.contacts.append(Contact(address, values))
    return result
