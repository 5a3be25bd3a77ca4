"""Find misspelt values: those that are rare, and close to one that is frequent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from monitor.suggest.profile import ValueCount

_TIMES_RARER: Final = 50
"""How much more frequent the right spelling is."""
_SHORTEST: Final = 5
"""Letters from which on one letter may be wrong: `Oslo` and `Osla` may be two places."""
_NO_LETTERS: Final = re.compile(r"[\W_]+")


def misspelt(values: Sequence[ValueCount]) -> frozenset[str]:
    """Return the values that look like another spelling of one that is at least 50 times as frequent.

    Other spellings differ in letter case, white space or punctuation, or, from five letters on, by one letter that was
    left out, added, changed or swapped with the next. Digits are never taken for letters: `A1` and `A2` are two codes.
    """
    results = set()
    for value in values:
        frequent = [other.text for other in values if other.rows >= _TIMES_RARER * value.rows]
        if any(_is_spelling(value.text, other) for other in frequent):
            results.add(value.text)
    return frozenset(results)


def _is_spelling(text: str, other: str) -> bool:
    first, second = _plain(text), _plain(other)
    if first == second:
        return bool(first)
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
