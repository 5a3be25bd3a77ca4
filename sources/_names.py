"""Names in SQL, and the name that was probably meant."""

import glob
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_LIKENESS: Final = 0.6
"""Of `difflib`, 0 to 1: what is less like a name is not compared letter by letter."""
_SHORTEST_PART: Final = 3
_LONG: Final = 7


def quote_name(name: str) -> str:
    """Return a name as an identifier of DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quote_paths(paths: Iterable[str]) -> str:
    """Return paths as a list of DuckDB, in which no letter of a path is a wildcard."""
    return f"[{', '.join(quote_text(glob.escape(path)) for path in paths)}]"


def did_you_mean(text: str, names: Iterable[str]) -> str:
    """Return `; did you mean 'email'?` for the known name nearest to the one seen, or an empty string."""
    near = nearest(text, names, most=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def nearest(text: str, names: Iterable[str], *, most: int) -> list[str]:
    """Return the known names that the one seen may be a misspelling or a part of, the nearest first.

    A misspelling has at most one wrong letter in three. Likeness alone is no measure: `anonymise` is as like
    `randomise` (0.78) as `teir` is like `tier`, and means another thing.
    """
    folded = {name.casefold(): name for name in names}
    near = get_close_matches(text.casefold(), folded, n=max(most, 10), cutoff=_LIKENESS)
    return [folded[item] for item in near if _may_mean(text.casefold(), item)][:most]


def is_misspelling(text: str, names: Iterable[str]) -> bool:
    """Check whether a word is a known one but for one letter, or two of seven and more."""
    return any(_wrong_letters(text, name) <= (1 if len(text) < _LONG else 2) for name in names)


def _may_mean(text: str, name: str) -> bool:
    shorter, longer = sorted((text, name), key=len)
    if len(shorter) >= _SHORTEST_PART and shorter in longer:
        return True
    return _wrong_letters(text, name) <= max(1, round(len(longer) / 3))


def _wrong_letters(name: str, other: str) -> int:
    """Count the letters to insert, leave out, replace or change over with the next (optimal string alignment)."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(name, start=1):
        row = [i]
        for j, other_letter in enumerate(other, start=1):
            cost = min(rows[-1][j] + 1, row[j - 1] + 1, rows[-1][j - 1] + (letter != other_letter))
            if i > 1 and j > 1 and (letter, name[i - 2]) == (other[j - 2], other_letter):
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
