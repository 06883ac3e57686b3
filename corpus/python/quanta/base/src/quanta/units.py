"""Units and how large they are."""

from __future__ import annotations

from pathlib import Path

BUILTIN = {
    "mm": ("length", 0.001),
    "cm": ("length", 0.01),
    "m": ("length", 1.0),
    "km": ("length", 1000.0),
    "g": ("mass", 0.001),
    "kg": ("mass", 1.0),
    "s": ("time", 1.0),
    "min": ("time", 60.0),
    "h": ("time", 3600.0),
}


class Registry:
    """The units that are known: each has a dimension and a factor."""

    def __init__(self) -> None:
        self.units: dict[str, tuple[str, float]] = BUILTIN

    def dimension(self, unit: str) -> str:
        return self.units[unit][0]

    def factor(self, unit: str) -> float:
        return self.units[unit][1]

    def define(self, name: str, value: float, unit: str) -> None:
        """Makes a unit of another: `define("league", 4828.032, "m")`."""
        dimension, factor = self.units[unit]
        self.units[name] = (dimension, value * factor)

    def load(self, path: Path) -> int:
        """Reads `name = value unit` lines, and says how many there were."""
        count = 0
        for line in path.read_text().splitlines():
            name, _, rest = line.partition("=")
            value, unit = rest.split()
            self.define(name.strip(), float(value), unit)
            count += 1
        return count
