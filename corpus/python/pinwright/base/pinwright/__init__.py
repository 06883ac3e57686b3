"""Resolve requirements against an index and write the result to a lock file."""

from .constraint import Constraint, ConstraintError
from .lock import LockError, dumps, loads
from .resolver import Index, Pin, ResolveError, resolve
from .version import Version, VersionError

__all__ = [
    "Constraint",
    "ConstraintError",
    "Index",
    "LockError",
    "Pin",
    "ResolveError",
    "Version",
    "VersionError",
    "dumps",
    "loads",
    "resolve",
]
