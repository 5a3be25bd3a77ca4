"""Look a hierarchy through and name everything that is wrong with it, not the first thing only.

This works on the lines of a file, so also on what is no `Hierarchy` yet. Levels are counted from the values, which are
level 0. Values and labels in a file are named (`written`): they are configuration. Those that
were made from the values of a table are only counted, and so are values of a table that the hierarchy does not have.

Labels are read as intervals, where they look like some. Known forms: `25-29` and `-5--1` (whole numbers, both ends in
it), `25`, `-25` and `25-` (up to and from, both in it), `<20`, `<=19`, `>=80`, `>79`, `[25, 30[`, `[25, 30)`, and all
but the last two in brackets: `[25-29]`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final, TypeAlias

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation.spelling import distinct_texts
from remedies.generalisation.units import Ends, Scale, gaps_and_overlaps, holds, number_in

Rows: TypeAlias = Sequence[Sequence[str]]
"""The lines of a hierarchy file, each the texts of its cells."""


class FaultKind(StrEnum):
    """What is wrong."""

    EMPTY = "empty"
    RAGGED = "ragged"
    DUPLICATE = "duplicate"
    MISSING_VALUE = "missing-value"
    SPLIT = "split"
    NOT_MONOTONE = "not-monotone"
    GAP = "gap"
    OVERLAP = "overlap"
    MISPLACED = "misplaced"
    UNCHANGED = "unchanged"
    NO_ROOT = "no-root"


@dataclass(frozen=True, slots=True)
class HierarchyFault:
    """One thing that is wrong. `what`: the interval that is meant, or how many values, lines or labels.

    `level`: where, counted from the values, which are level 0; None if it is about no single level. `fatal`: whether
    the hierarchy cannot be used; otherwise it is a warning. No value of a table is in it.
    """

    kind: FaultKind
    level: int | None
    message: str
    what: str | int
    fatal: bool = True


def refuse(faults: Iterable[HierarchyFault], *, about: str = "the hierarchy") -> None:
    """Refuse what has fatal faults, naming them all.

    Raises:
        Misfit: there is one.
    """
    fatal = [fault.message for fault in faults if fault.fatal]
    if fatal:
        raise Misfit(f"{about} cannot be used: {'; '.join(fatal)}")


_N: Final = r"[+-]?[0-9]{1,300}(?:\.[0-9]{1,300})?"
_HALF_OPEN: Final = re.compile(rf"\[\s*(?P<low>{_N})\s*[,;]\s*(?P<high>{_N})\s*[\[)]")
_CLOSED: Final = re.compile(r"(?P<low>-?[0-9]{1,300})\s*[-\N{EN DASH}]\s*(?P<high>-?[0-9]{1,300})")
_ABOVE: Final = re.compile(rf"(?P<sign>>=?)\s*(?P<low>{_N})")
_BELOW: Final = re.compile(rf"(?P<sign><=?)\s*(?P<high>{_N})")
_UP_TO: Final = re.compile(r"-(?P<high>[0-9]{1,300})")
_FROM: Final = re.compile(r"(?P<low>-?[0-9]{1,300})[-+]")
_BRACKETS: Final = re.compile(r"\[([^,;\[\]]*)\]")

_Bounds: TypeAlias = tuple[Decimal | None, Decimal | None]


@dataclass(frozen=True, slots=True)
class Intervals:
    """The labels of a level as intervals, in units."""

    ends: Mapping[str, Ends]
    scale: Scale


def read_intervals(labels: Mapping[str, Iterable[str]]) -> Intervals | None:
    """Read labels, each with the values under it, as intervals of numbers; None where they are not.

    Every label of two or more must be an interval, and not all a single number, which could as well be the code of a
    group; every value must be a number. `-25` could be a number below 0: it is one where nothing else stands under it.
    """
    if len(labels) < 2 or all(number_in(label) is not None for label in labels):
        return None
    if any(number_in(value) is None for values in labels.values() for value in values):
        return None
    current_bounds: dict[str, _Bounds] = {}
    for label, values in labels.items():
        bounds = _bounds(label, values)
        if bounds is None:
            return None
        current_bounds[label] = bounds
    scale = Scale.of(*(bound for pair in current_bounds.values() for bound in pair if bound is not None))
    ends = {
        label: (None if low is None else scale.units(low), None if high is None else scale.units(high))
        for label, (low, high) in current_bounds.items()
    }
    return Intervals(ends, scale)


def _bounds(label: str, values: Iterable[str]) -> _Bounds | None:
    """Return where a label begins and what it ends before; None of what is no interval."""
    text = label.strip()
    inside = _BRACKETS.fullmatch(text)
    text = inside[1].strip() if inside else text
    if _UP_TO.fullmatch(text) and set(values) == {text}:
        return _point(text)
    for form, read in _FORMS:
        match = form.fullmatch(text)
        if match:
            return read(match)
    return _point(text)


def _point(text: str) -> _Bounds | None:
    number = number_in(text)
    return (number, _next(number)) if number is not None and _is_whole(number) else None


def _half_open(match: re.Match[str]) -> _Bounds | None:
    return _in_order(Decimal(match["low"]), Decimal(match["high"]))


def _closed(match: re.Match[str]) -> _Bounds | None:
    return _in_order(Decimal(match["low"]), _next(Decimal(match["high"])))


def _above(match: re.Match[str]) -> _Bounds | None:
    low = Decimal(match["low"])
    return (low, None) if match["sign"] == ">=" else (_next(low), None) if _is_whole(low) else None


def _below(match: re.Match[str]) -> _Bounds | None:
    high = Decimal(match["high"])
    return (None, high) if match["sign"] == "<" else (None, _next(high)) if _is_whole(high) else None


def _in_order(low: Decimal, high: Decimal) -> _Bounds | None:
    return (low, high) if low < high else None


def _next(whole: Decimal) -> Decimal:
    """Return the whole number above another, of any number of digits; `+` would round to the 28 of the context."""
    return Decimal(int(whole) + 1)


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


_FORMS: Final[Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], _Bounds | None]]]] = (
    (_HALF_OPEN, _half_open),
    (_CLOSED, _closed),
    (_ABOVE, _above),
    (_BELOW, _below),
    (_FROM, lambda result: (Decimal(result["low"]), None)),
    (_UP_TO, lambda result: (None, _next(Decimal(result["high"])))),
)


Levels: TypeAlias = Sequence[Sequence[str]]

_FILL: Final = "add an interval for it, or widen one beside it"
_NAMED: Final = 3
_LONGEST_NAME: Final = 40


def hierarchy_faults(hierarchy: Hierarchy, values: Iterable[object] | None = None) -> tuple[HierarchyFault, ...]:
    """Return what is wrong with a hierarchy, as `row_faults`."""
    return row_faults(list(zip(*hierarchy.levels, strict=True)), values)


def row_faults(
    rows: Rows, values: Iterable[object] | None = None, *, written: bool = False
) -> tuple[HierarchyFault, ...]:
    """Return what is wrong with the lines of a hierarchy: each a value, then its ancestors, nearest first.

    Fatal: no line, lines of another length than most, values with several lines, empty labels, values of the table
    without a line, labels whose values part again on the level above, levels with more labels than the one below.

    Warnings: levels that change nothing; no root, so that a record cannot be fully suppressed. And of a level whose
    labels all look like intervals of numbers (`read_intervals`): intervals that overlap, values under an interval that
    does not hold them, and gaps, unless intervals of a neighbour's width would fill them: there the file has no value.

    Args:
        rows: as `read_rows` gives them.
        values: those of the table's column; None to look at the lines alone.
        written: whether the rows are those of a file; then messages name the values and labels of the rows.
    """
    names = _Names(written)
    usual = _usual(rows)
    if usual < 2:
        text = "no line" if not rows else "no line with an ancestor"
        return (HierarchyFault(FaultKind.EMPTY, None, f"{text}; expected value;ancestor;...", len(rows)),)
    even = [row for row in rows if len(row) == usual]
    levels = list(zip(*dict.fromkeys(map(tuple, even)), strict=True))
    return (
        *_ragged(len(rows) - len(even), usual),
        *_repeated(even, names),
        *_without_path(rows, values),
        *(fault for level in range(1, usual) for fault in _of_level(level, levels, names)),
        *_without_root(levels, names),
    )


class _Names:
    """Names a few values or labels of a file in a message; of what was made from a table, none."""

    def __init__(self, written: bool) -> None:
        self._written = written

    def __call__(self, texts: Iterable[str]) -> str:
        """Return ` ('a', 'b', 'c' and 4 more)`, or nothing."""
        distinct = list(dict.fromkeys(texts))
        if not self._written or not distinct:
            return ""
        current_text = ", ".join(f"'{visible_text(text)}'" for text in distinct[:_NAMED])
        more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
        return f" ({current_text}{more})"


def visible_text(text: str) -> str:
    """Return a text of a file as a message shows it: one line, without control characters, not too long."""
    line = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"


def _usual(rows: Rows) -> int:
    """Return how many cells most lines have."""
    lengths = Counter(map(len, rows))
    return max(lengths, key=lambda cells: (lengths[cells], cells), default=0)


def _ragged(count: int, usual: int) -> Iterator[HierarchyFault]:
    if count:
        hint = "repeat a label where a branch is shorter"
        text = f"{_counted(count, 'line')} without {usual} cells, as the others have; {hint}"
        yield HierarchyFault(FaultKind.RAGGED, None, text, count)


def _repeated(rows: Rows, names: _Names) -> Iterator[HierarchyFault]:
    lines = Counter(row[0] for row in rows)
    twice = [value for value, number in lines.items() if number > 1]
    if twice:
        text = f"{_counted(len(twice), 'value')} with more than one line{names(twice)}; keep one"
        yield HierarchyFault(FaultKind.DUPLICATE, 0, text, len(twice))


def _without_path(rows: Rows, values: Iterable[object] | None) -> Iterator[HierarchyFault]:
    entries = {row[0] for row in rows if row}
    count = 0 if values is None else sum(text not in entries for text in distinct_texts(values))
    if count:
        current_text = f"{_counted(count, 'value')} of the table without a line; add one for each, or mend the values"
        yield HierarchyFault(FaultKind.MISSING_VALUE, 0, current_text, count)


def _of_level(number: int, levels: Levels, names: _Names) -> Iterator[HierarchyFault]:
    lower, upper = levels[number - 1], levels[number]
    empty = list(dict.fromkeys(below for below, label in zip(lower, upper, strict=True) if not label))
    if empty:
        text = (
            f"level {number} is empty for {_counted(len(empty), 'label')} of the level below{names(empty)}; an empty "
            "label would be NULL: write one"
        )
        yield HierarchyFault(FaultKind.EMPTY, number, text, len(empty))
    parents: dict[str, set[str]] = {}
    for below, label in zip(lower, upper, strict=True):
        parents.setdefault(below, set()).add(label)
    parted = [below for below, above in parents.items() if len(above) > 1]
    if parted and number > 1:  # values with several lines are counted as such
        text = (
            f"level {number} splits {_counted(len(parted), 'label')} that level {number - 1} has together"
            f"{names(parted)}; give each one label on level {number}"
        )
        yield HierarchyFault(FaultKind.SPLIT, number, text, len(parted))
    nodes = len(set(upper))
    if nodes > len(parents):
        text = f"level {number} has {nodes} labels, more than the {len(parents)} of level {number - 1}"
        yield HierarchyFault(FaultKind.NOT_MONOTONE, number, text, nodes)
    if nodes == len(parents) and not parted:
        text = (
            f"level {number} joins nothing that level {number - 1} has apart: each of its {_counted(nodes, 'label')}"
            f"{names(upper)} stands for one below; leave the level out, or give several one label"
        )
        yield HierarchyFault(FaultKind.UNCHANGED, number, text, nodes, fatal=False)
    yield from _as_intervals(number, levels[0], upper, names)


def _as_intervals(number: int, values: Sequence[str], labels: Sequence[str], names: _Names) -> Iterator[HierarchyFault]:
    members: dict[str, list[str]] = {}
    for value, label in zip(values, labels, strict=True):
        if value:  # the line of NULL may have any label
            members.setdefault(label, []).append(value)
    read = read_intervals(members)
    if read is None:
        return
    ends = list(read.ends.values())
    gaps, overlaps = gaps_and_overlaps(ends)
    for gap in gaps:
        if not _fills(gap, ends):
            where = read.scale.interval(*gap)
            yield HierarchyFault(
                FaultKind.GAP, number, f"level {number} has a gap at {where}; {_FILL}", where, fatal=False
            )
    for overlap in overlaps:
        where = read.scale.interval(*overlap)
        text = f"level {number} covers {where} twice; end one interval where the next begins"
        yield HierarchyFault(FaultKind.OVERLAP, number, text, where, fatal=False)
    misplaced = [value for label, held in members.items() for value in held if _outside(value, label, read)]
    if misplaced:
        text = (
            f"level {number} puts {_counted(len(misplaced), 'value')}{names(misplaced)} into an interval that does not "
            "hold it; write the interval that does"
        )
        yield HierarchyFault(FaultKind.MISPLACED, number, text, len(misplaced), fatal=False)


def _fills(gap: Ends, ends: Sequence[Ends]) -> bool:
    """Check whether intervals as wide as one beside the gap fill it: then the file has no value there, and no fault."""
    low, high = gap
    beside = [(start, end) for start, end in ends if end == low or start == high]
    widths = [end - start for start, end in beside if start is not None and end is not None]
    return low is not None and high is not None and any((high - low) % width == 0 for width in widths)


def _outside(value: str, label: str, read: Intervals) -> bool:
    number = number_in(value)
    return number is None or not holds(read.ends[label], read.scale.exact_units(number))


def _without_root(levels: Levels, names: _Names) -> Iterator[HierarchyFault]:
    tops = len(set(levels[-1]))
    if tops > 1:
        text = (
            f"the last level, {len(levels) - 1}, has {tops} labels{names(levels[-1])}; without a common one a record "
            "cannot be fully suppressed: add a level that is '*' on every line"
        )
        yield HierarchyFault(FaultKind.NO_ROOT, len(levels) - 1, text, tops, fatal=False)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
