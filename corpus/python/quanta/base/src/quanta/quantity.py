"""Values with a unit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .units import Registry

PATTERN = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-z]+)")


class UnitError(ValueError):
    """Two units do not go together."""


@dataclass(frozen=True)
class Quantity:
    value: float
    unit: str

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Reads `12 km`."""
        found = PATTERN.match(text)
        if found is None:
            raise ValueError(f"not a quantity: {text!r}")
        return cls(float(found[1]), found[2])

    def to(self, unit: str, registry: Registry) -> Quantity:
        if registry.dimension(self.unit) != registry.dimension(unit):
            raise UnitError(f"{self.unit} is not {unit}")
        return Quantity(self.value * registry.factor(self.unit) / registry.factor(unit), unit)

    def add(self, other: Quantity, registry: Registry) -> Quantity:
        return Quantity(self.value + other.to(self.unit, registry).value, self.unit)

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}"
