"""Find misspelt values: those that are rare, and close to one that is frequent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from monitor.suggest.profile import ValueCount

_TIMES_RARER: Final = 50
"""How much more frequent the right spelling is than one with another letter; `Meyer` and `Mayer` are two names."""
_TIMES_RARER_STYLE: Final = 5
"""The same where only letter case, white space or punctuation differ."""
_SHORTEST: Final = 5
"""Letters from which on one letter may be wrong: `Oslo` and `Osla` may be two places."""
_NO_LETTERS: Final = re.compile(r"[\W_]+")


def misspelt(values: Sequence[ValueCount]) -> frozenset[str]:
    """Return the values that look like another spelling of a more frequent one.

    That is one which is 5 times as frequent and differs in letter case, white space or punctuation only, or one which
    is 50 times as frequent and, from five letters on, differs by one letter that was left out, added, changed or
    swapped with the next. Digits are never taken for letters: `A1` and `A2` are two codes.
    """
    return frozenset(
        value.text for value in values if any(_is_misspelling_of(value, other) for other in values if other != value)
    )


def _is_misspelling_of(value: ValueCount, other: ValueCount) -> bool:
    if other.rows < _TIMES_RARER_STYLE * value.rows:
        return False
    first, second = _plain(value.text), _plain(other.text)
    if first == second:
        return bool(first)
    return other.rows >= _TIMES_RARER * value.rows and _is_one_letter_off(first, second)


def _is_one_letter_off(first: str, second: str) -> bool:
    if min(len(first), len(second)) < _SHORTEST or _digits(first) != _digits(second):
        return False
    return _one_slip(first, second)


def _plain(text: str) -> str:
    return _NO_LETTERS.sub("", text).casefold()


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit())


def _one_slip(first: str, second: str) -> bool:
    """Check whether two texts differ by one letter, or by two neighbours that are swapped."""
    if abs(len(first) - len(second)) > 1:
        return False
    start = next(
        (at for at, (one, two) in enumerate(zip(first, second, strict=False)) if one != two),
        min(len(first), len(second)),
    )
    rest, other = first[start:], second[start:]
    if len(rest) == len(other):
        return rest[1:] == other[1:] or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
    return rest[1:] == other or rest == other[1:]
