"""Propose patterns of codes, dates and the like from the shapes of texts: `AAA-99999` is `[A-Z]{3}-[0-9]{5}`.

Shapes that differ only in how long their runs are belong together: `A9` and `A99` are `[A-Z][0-9]{1,2}`. A pattern
covers the groups of shapes that are frequent; what is left must be rare, and is then a fault that the pattern finds.
A run of one usual length has that length; one of several may also be shorter, as numbers are, and a number may have
fewer thousands. Prose and names have as many shapes as words, so that no few of them cover a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from monitor.suggest.profile import ColumnFamily, ColumnStatistics, TableStatistics
from monitor.suggest.proposal import ENOUGH_ROWS, Confidence, Proposal, breaks_at_most

_CLASSES: Final[Mapping[str, str]] = {"9": "[0-9]", "A": "[A-Z]", "a": "[a-z]"}
_FEWEST: Final = 300
"""Rows from which on a pattern is proposed; of shapes, one in a hundred is then seen three times."""
_MOST_FAULTS: Final = 0.02
"""The share of rows that a pattern may leave out."""
_MOST_GROUPS: Final = 3
_MOST_PARTS: Final = 15
_MOST_SPREAD: Final = 3
"""Lengths of a run that are distinguished; where there are more, any length is meant."""
_RARE: Final = 0.01
"""The share of rows of a group below which a length of a run, or a group, is a fault, if the others are as regular."""

Runs = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ShapeGroup:
    """Shapes that are alike but for the lengths of their runs, with the rows of each."""

    letters: str
    members: tuple[tuple[Runs, int], ...]

    @property
    def rows(self) -> int:
        """Count the rows."""
        return sum(rows for _, rows in self.members)


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A pattern and the rows of the sample that it does not match."""

    pattern: str
    faults: int
    fixed: bool


def patterns(table: TableStatistics) -> Iterator[Proposal]:
    """Yield the patterns of columns of texts."""
    for column in table.columns:
        result = pattern_of(column)
        if result is None:
            continue
        why = f"{column.counted - result.faults:,} of {column.counted:,} rows are written so"
        sure = not result.faults and result.fixed and column.counted >= ENOUGH_ROWS
        yield Proposal(
            "pattern",
            (column.name,),
            why,
            Confidence.HIGH if sure else Confidence.LOW,
            {"type": "pattern", "column": column.name, "pattern": result.pattern},
            breaks_at_most=breaks_at_most(column.counted, result.faults),
        )


def pattern_of(column: ColumnStatistics) -> TextPattern | None:
    """Return the pattern of a column of codes; None where its texts are words, or written in too many ways."""
    if column.family is not ColumnFamily.TEXT or column.counted < _FEWEST:
        return None
    groups = sorted(_groups(column), key=lambda group: -group.rows)
    regular = [group for group in groups if group.rows >= _RARE * column.counted]
    if not 0 < len(regular) <= _MOST_GROUPS or not all(map(_is_code, regular)):
        return None
    shorter = [group for group in groups if group not in regular and _is_shorter_number(group, regular)]
    parts = [_pattern(group) for group in (*regular, *shorter)]
    matched = sum(part.rows for part in parts)
    faults = column.counted - matched
    if faults > _MOST_FAULTS * column.counted or any(part.length > _MOST_PARTS for part in parts):
        return None
    text = "|".join(part.pattern for part in parts)
    return TextPattern(text, faults, len(parts) == 1 and parts[0].fixed)


@dataclass(frozen=True, slots=True)
class _GroupPattern:
    pattern: str
    rows: int
    fixed: bool
    length: int


def _groups(column: ColumnStatistics) -> Iterator[ShapeGroup]:
    shapes: dict[str, list[tuple[Runs, int]]] = {}
    for shape in column.shapes:
        runs = tuple((letter, len(list(same))) for letter, same in groupby(shape.text))
        shapes.setdefault("".join(letter for letter, _ in runs), []).append((runs, shape.rows))
    yield from (ShapeGroup(letters, tuple(members)) for letters, members in shapes.items())


def _is_code(group: ShapeGroup) -> bool:
    """Check whether a group is of codes and not of words: it has digits, or capitals of one short length."""
    if "U" in group.letters or not group.letters or not set(group.letters) <= _WRITABLE:
        return False
    if "9" in group.letters:
        return True
    lengths = {runs for runs, rows in group.members if rows >= _RARE * group.rows}
    return len(lengths) == 1 and set(group.letters) & {"A", "a"} == {"A"} and len(group.letters) <= _MOST_PARTS


def _is_shorter_number(group: ShapeGroup, regular: Sequence[ShapeGroup]) -> bool:
    """Check whether a group is a regular one without its first thousands: `9.9` beside `9,9.9`."""
    return any(
        group.letters == regular_group.letters.replace(f"9{mark}9", "9", 1)
        for regular_group in regular
        for mark in ",. '"
        if regular_group.letters.partition("9")[2].startswith(f"{mark}9")
    )


def _pattern(group: ShapeGroup) -> _GroupPattern:
    """Return the pattern of a group without the lengths of runs that are rare among regular ones."""
    text, fixed, ranges = "", True, []
    for at, letter in enumerate(group.letters):
        lengths: dict[int, int] = {}
        for runs, rows in group.members:
            lengths[runs[at][1]] = lengths.get(runs[at][1], 0) + rows
        usual = sorted(length for length, rows in lengths.items() if rows >= _RARE * group.rows)
        low, high = usual[0] if len(usual) == 1 else 1, usual[-1]
        loose = len(usual) > _MOST_SPREAD
        ranges.append((1, 10**9) if loose else (low, high))
        fixed = fixed and low == high
        text += _CLASSES.get(letter, letter if letter not in _SPECIAL else f"[{letter}]") + _times(
            low, high, loose=loose
        )
    matched = sum(
        rows
        for runs, rows in group.members
        if all(low <= length <= high for (_, length), (low, high) in zip(runs, ranges, strict=True))
    )
    return _GroupPattern(text, matched, fixed, len(group.letters))


def _times(low: int, high: int, *, loose: bool) -> str:
    if loose:
        return "{1,255}"
    if low == high:
        return "" if low == 1 else f"{{{low}}}"
    return f"{{{low},{high}}}"


_SPECIAL: Final = frozenset(".(){}*+?|$")
_WRITABLE: Final = frozenset("9Aa" + "".join(map(chr, range(32, 127)))) - frozenset("[]\\^")
