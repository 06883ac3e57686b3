"""Templates with `{{ field | filter }}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_TOKEN = re.compile(r"\{\{\{\{|\{\{(.*?)\}\}", re.DOTALL)
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_FILTERS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "title": str.title,
}


class TemplateError(ValueError):
    """The template is wrong, or a field of it is missing."""


class Template:
    def __init__(self, source: str) -> None:
        self.source = source
        for match in _TOKEN.finditer(source):
            if match[1] is not None:
                _parse(match[1])

    @property
    def fields(self) -> list[str]:
        """The names of the fields, each once, in the order of the template."""
        names: list[str] = []
        for match in _TOKEN.finditer(self.source):
            if match[1] is None:
                continue
            name, _ = _parse(match[1])
            if name not in names:
                names.append(name)
        return names

    def render(self, values: Mapping[str, str]) -> str:
        def replace(match: re.Match[str]) -> str:
            if match[1] is None:
                return "{{"
            name, filters = _parse(match[1])
            return _apply(name, values.get(name), filters)

        return _TOKEN.sub(replace, self.source)


def _parse(expression: str) -> tuple[str, list[str]]:
    name, *filters = (part.strip() for part in expression.split("|"))
    if not _FIELD.fullmatch(name):
        raise TemplateError(f"invalid field {name!r}")
    for text in filters:
        word = text.partition(":")[0]
        if word != "default" and word not in _FILTERS:
            raise TemplateError(f"unknown filter {word!r}")
    return name, filters


def _apply(name: str, value: str | None, filters: list[str]) -> str:
    for text in filters:
        word, _, argument = text.partition(":")
        if word == "default":
            value = value or argument
        elif value is not None:
            value = _FILTERS[word](value)
    if value is None:
        raise TemplateError(f"missing field {name!r}")
    return value
