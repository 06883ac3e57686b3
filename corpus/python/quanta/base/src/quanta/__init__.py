"""Quantities with units."""

from .quantity import Quantity, UnitError
from .units import Registry

__all__ = ["Quantity", "Registry", "UnitError"]
