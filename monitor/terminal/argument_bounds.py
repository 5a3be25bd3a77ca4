"""Bounds that every option and argument of every command keeps, whatever it means.

What comes after may then count on it: a whole number fits into a database, a number is finite, a text can be written
as UTF-8 and converted to a number in reasonable time, a path can be looked up. What an option means has bounds of its
own beside these.
"""

import math
import os
import re
from datetime import date
from pathlib import Path
from typing import Any, Final

MOST: Final = 2**63 - 1
"""What SQLite and PostgreSQL hold."""
LONGEST: Final = 100_000
"""Characters of a text; Linux takes 131,071 bytes in one argument."""
_MOST_DIGITS: Final = 1_000
_DIGITS: Final = re.compile(rf"[0-9]{{{_MOST_DIGITS + 1},}}")
_SHOWN: Final = 40


def problem_of(value: Any) -> str | None:
    """Return what is wrong with a value as it was read; None if it is within bounds."""
    match value:
        case bool() | date() | None:
            problem = None
        case list() | tuple():
            return next(filter(None, map(problem_of, value)), None)
        case int():
            problem = None if -MOST <= value <= MOST else f"expected a number from {-MOST} to {MOST}"
        case float():
            problem = None if math.isfinite(value) else "expected a number that is finite"
        case Path():
            problem = _problem_of_path(value)
        case str():
            problem = _problem_of_text(value)
        case _:
            problem = None
    if problem is None:
        return None
    text = str(value)
    current_text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text):,} characters)"
    return f"{problem}, not '{current_text}'"


def _problem_of_path(path: Path) -> str | None:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"expected a valid path ({(error.strerror or 'it cannot').lower()})" if _is_name(error) else None
    return None


def _is_name(error: OSError) -> bool:
    """Check whether the name itself is wrong; what may not be looked at is told by whoever reads it."""
    return not isinstance(error, PermissionError | NotADirectoryError)


def _problem_of_text(text: str) -> str | None:
    if len(text) > LONGEST:
        return f"expected at most {LONGEST:,} characters"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return "expected text in UTF-8"
    if len(text) > _MOST_DIGITS and _DIGITS.search(text):
        return f"expected numbers of at most {_MOST_DIGITS:,} digits"
    return None
