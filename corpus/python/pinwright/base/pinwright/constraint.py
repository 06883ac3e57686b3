"""Constraints such as `^1.2` or `>=1.0,<2.0`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from .version import Version, VersionError

_TERM = re.compile(r"\s*(\^|~|==|!=|>=|<=|>|<)?\s*([^\s,]+)\s*")
_COMPARE: dict[str, Callable[[Version, Version], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


class ConstraintError(ValueError):
    """The text is not a constraint."""


class Constraint:
    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self._terms: list[tuple[str, Version]] = []
        self._names_pre = False
        for part in self.text.split(","):
            if part.strip() == "*":
                continue
            match = _TERM.fullmatch(part)
            if not match:
                raise ConstraintError(f"not a constraint: {text!r}")
            self._add(match[1] or "==", match[2])

    def _add(self, sign: str, text: str) -> None:
        try:
            version = Version.parse(text)
        except VersionError as error:
            raise ConstraintError(str(error)) from error
        self._names_pre = self._names_pre or bool(version.pre)
        if sign == "^":
            self._terms += [(">=", version), ("<", Version(version.major + 1))]
        elif sign == "~":
            self._terms += [(">=", version), ("<", Version(version.major, version.minor + 1))]
        else:
            self._terms.append((sign, version))

    def allows(self, version: Version) -> bool:
        if version.pre and not self._names_pre:
            return False
        return all(_COMPARE[sign](version, bound) for sign, bound in self._terms)

    def __str__(self) -> str:
        return self.text
