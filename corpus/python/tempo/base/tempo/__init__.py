from .duration import DurationError, format_duration, parse_duration
from .recur import monthly, weekly
from .workdays import add_workdays, count_workdays, is_workday

__all__ = [
    "DurationError",
    "add_workdays",
    "count_workdays",
    "format_duration",
    "is_workday",
    "monthly",
    "parse_duration",
    "weekly",
]
