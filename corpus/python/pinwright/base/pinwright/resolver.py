"""A resolver that tries the newest versions first and goes back on a conflict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .constraint import Constraint
from .version import Version

ROOT = "(root)"


class ResolveError(Exception):
    """No set of versions satisfies all requirements."""


@dataclass(frozen=True)
class Pin:
    name: str
    version: Version
    via: tuple[str, ...] = ()


@dataclass
class Index:
    packages: dict[str, dict[Version, dict[str, str]]] = field(default_factory=dict)

    def add(self, name: str, version: str, needs: Mapping[str, str] | None = None) -> None:
        self.packages.setdefault(name, {})[Version.parse(version)] = dict(needs or {})

    def versions(self, name: str) -> list[Version]:
        """Newest first."""
        return sorted(self.packages[name], reverse=True)

    def needs(self, name: str, version: Version) -> dict[str, str]:
        return self.packages[name][version]


@dataclass(frozen=True)
class _Want:
    name: str
    constraint: str
    by: str


def resolve(index: Index, requirements: Mapping[str, str]) -> list[Pin]:
    """The pins for the requirements and all they need, sorted by name."""
    wants = [_Want(name, text, ROOT) for name, text in requirements.items()]
    chosen, asked = _solve(index, wants, {}, [])
    pins = []
    for name in sorted(chosen):
        via = sorted({want.by for want in asked if want.name == name and want.by != ROOT})
        pins.append(Pin(name, chosen[name], tuple(via)))
    return pins


def _solve(
    index: Index, wants: list[_Want], chosen: dict[str, Version], asked: list[_Want]
) -> tuple[dict[str, Version], list[_Want]]:
    if not wants:
        return chosen, asked
    want, *rest = wants
    asked = [*asked, want]
    if want.name in chosen:
        if not Constraint(want.constraint).allows(chosen[want.name]):
            raise ResolveError(_explain(want.name, asked))
        return _solve(index, rest, chosen, asked)
    last: ResolveError | None = None
    for version in index.versions(want.name):
        if not Constraint(want.constraint).allows(version):
            continue
        needs = index.needs(want.name, version)
        more = [_Want(name, text, want.name) for name, text in needs.items()]
        try:
            return _solve(index, rest + more, {**chosen, want.name: version}, asked)
        except ResolveError as error:
            last = last or error
    raise last or ResolveError(_explain(want.name, asked))


def _explain(name: str, asked: list[_Want]) -> str:
    wants = [f"{want.by} wants {want.constraint}" for want in asked if want.name == name]
    return f"no version of {name}: " + ", ".join(wants)
