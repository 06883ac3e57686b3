"""Lock files: `name==version # via a, b`, one line per package."""

from __future__ import annotations

from collections.abc import Iterable

from .resolver import Pin
from .version import Version, VersionError


class LockError(ValueError):
    """The lock file is damaged."""


def dumps(pins: Iterable[Pin]) -> str:
    lines = []
    for pin in sorted(pins, key=lambda pin: pin.name):
        line = f"{pin.name}=={pin.version}"
        if pin.via:
            line += " # via " + ", ".join(pin.via)
        lines.append(line + "\n")
    return "".join(lines)


def loads(text: str) -> list[Pin]:
    pins: list[Pin] = []
    for number, line in enumerate(text.splitlines(), start=1):
        pinned, _, via = line.partition(" # via ")
        name, _, version = pinned.partition("==")
        try:
            parsed = Version.parse(version)
        except VersionError as error:
            raise LockError(f"line {number}: {error}") from error
        pins.append(Pin(name.strip(), parsed, tuple(via.split(", ")) if via else ()))
    return pins
