"""The command: `quanta 12 km m`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .quantity import Quantity
from .units import Registry


def table(quantity: Quantity, registry: Registry) -> str:
    """The quantity in all units of its dimension, one per line."""
    dimension = registry.dimension(quantity.unit)
    names = [name for name in registry.units if registry.dimension(name) == dimension]
    return "\n".join(f"{name:<6}{quantity.to(name, registry).value:g}" for name in names)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="quanta")
    parser.add_argument("value", type=float)
    parser.add_argument("unit")
    parser.add_argument("target", nargs="?")
    parser.add_argument("--units", type=Path, help="a file with more units")
    options = parser.parse_args(argv)
    registry = Registry()
    if options.units:
        registry.load(options.units)
    quantity = Quantity(options.value, options.unit)
    if options.target is None:
        print(table(quantity, registry))
    else:
        print(quantity.to(options.target, registry))
    return 0
