"""Look a hierarchy through and name everything that is wrong with it, not the first thing only.

This works on the lines of a file, so also on what is no `Hierarchy` yet. Levels are counted from the values, which are
level 0. Messages count values and never show one; labels are shown as intervals at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from checks.risk import Hierarchy
from remedies.generalisation._cover import gaps_and_overlaps, holds
from remedies.generalisation._fault import Fault, FaultKind
from remedies.generalisation._files import Rows
from remedies.generalisation._labels import Intervals, read_intervals
from remedies.generalisation._spell import distinct_texts
from remedies.generalisation._units import Ends, number_in

Levels: TypeAlias = Sequence[Sequence[str]]


def hierarchy_faults(hierarchy: Hierarchy, values: Iterable[object] | None = None) -> tuple[Fault, ...]:
    """Give what is wrong with a hierarchy, as `row_faults`."""
    return row_faults(list(zip(*hierarchy.levels, strict=True)), values)


def row_faults(rows: Rows, values: Iterable[object] | None = None) -> tuple[Fault, ...]:
    """Give what is wrong with the lines of a hierarchy: each a value, then its ancestors, nearest first.

    Fatal: no line, lines of another length than most, values with several lines, empty labels, values of the table
    without a line, labels whose values part again on the level above, levels with more labels than the one below.

    Warnings: levels that change nothing; no root, so that a record cannot be fully suppressed. And of a level whose
    labels all look like intervals of numbers (`read_intervals`): intervals that overlap, values under an interval that
    does not hold them, and gaps, unless intervals of a neighbour's width would fill them: there the file has no value.

    Args:
        rows: as `read_rows` gives them.
        values: those of the table's column; None to look at the lines alone.
    """
    usual = _usual(rows)
    if usual < 2:
        seen = "no line" if not rows else "no line with an ancestor"
        return (Fault(FaultKind.EMPTY, None, f"{seen}; expected value;ancestor;...", len(rows)),)
    even = [row for row in rows if len(row) == usual]
    levels = list(zip(*dict.fromkeys(map(tuple, even)), strict=True))
    return (
        *_ragged(len(rows) - len(even), usual),
        *_repeated(even),
        *_without_path(rows, values),
        *(fault for level in range(1, usual) for fault in _of_level(level, levels)),
        *_without_root(levels),
    )


def _usual(rows: Rows) -> int:
    """Give how many cells most lines have."""
    lengths = Counter(map(len, rows))
    return max(lengths, key=lambda cells: (lengths[cells], cells), default=0)


def _ragged(count: int, usual: int) -> Iterator[Fault]:
    if count:
        hint = "repeat a label where a branch is shorter"
        said = f"{_counted(count, 'line')} without {usual} cells, as the others have; {hint}"
        yield Fault(FaultKind.RAGGED, None, said, count)


def _repeated(rows: Rows) -> Iterator[Fault]:
    lines = Counter(row[0] for row in rows)
    count = sum(number > 1 for number in lines.values())
    if count:
        yield Fault(FaultKind.DUPLICATE, 0, f"{_counted(count, 'value')} with more than one line; keep one", count)


def _without_path(rows: Rows, values: Iterable[object] | None) -> Iterator[Fault]:
    known = {row[0] for row in rows if row}
    count = 0 if values is None else sum(text not in known for text in distinct_texts(values))
    if count:
        said = f"{_counted(count, 'value')} of the table without a line; add one for each, or mend the values"
        yield Fault(FaultKind.MISSING_VALUE, 0, said, count)


def _of_level(number: int, levels: Levels) -> Iterator[Fault]:
    lower, upper = levels[number - 1], levels[number]
    empty = len({below for below, label in zip(lower, upper, strict=True) if not label})
    if empty:
        said = (
            f"level {number} is empty for {_counted(empty, 'label')} of the level below; an empty label would be NULL"
        )
        yield Fault(FaultKind.EMPTY, number, said, empty)
    parents: dict[str, set[str]] = {}
    for below, label in zip(lower, upper, strict=True):
        parents.setdefault(below, set()).add(label)
    parted = sum(len(above) > 1 for above in parents.values())
    if parted and number > 1:  # values with several lines are counted as such
        said = f"level {number} splits {_counted(parted, 'label')} that level {number - 1} has together"
        yield Fault(FaultKind.SPLIT, number, said, parted)
    nodes = len(set(upper))
    if nodes > len(parents):
        said = f"level {number} has {nodes} labels, more than the {len(parents)} of level {number - 1}"
        yield Fault(FaultKind.NOT_MONOTONE, number, said, nodes)
    if nodes == len(parents) and not parted:
        said = f"level {number} joins nothing that level {number - 1} has apart"
        yield Fault(FaultKind.UNCHANGED, number, said, nodes, fatal=False)
    yield from _as_intervals(number, levels[0], upper)


def _as_intervals(number: int, values: Sequence[str], labels: Sequence[str]) -> Iterator[Fault]:
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
            yield Fault(FaultKind.GAP, number, f"level {number} leaves out {where}", where, fatal=False)
    for overlap in overlaps:
        where = read.scale.interval(*overlap)
        yield Fault(FaultKind.OVERLAP, number, f"level {number} covers {where} twice", where, fatal=False)
    strange = sum(_outside(value, label, read) for label, held in members.items() for value in held)
    if strange:
        said = f"level {number} puts {_counted(strange, 'value')} into an interval that does not hold it"
        yield Fault(FaultKind.MISPLACED, number, said, strange, fatal=False)


def _fills(gap: Ends, ends: Sequence[Ends]) -> bool:
    """Say whether intervals as wide as one beside the gap fill it: then the file has no value there, and no fault."""
    low, high = gap
    beside = [(start, end) for start, end in ends if end == low or start == high]
    widths = [end - start for start, end in beside if start is not None and end is not None]
    return low is not None and high is not None and any((high - low) % width == 0 for width in widths)


def _outside(value: str, label: str, read: Intervals) -> bool:
    number = number_in(value)
    return number is None or not holds(read.ends[label], number.scaleb(read.scale.digits))


def _without_root(levels: Levels) -> Iterator[Fault]:
    tops = len(set(levels[-1]))
    if tops > 1:
        said = f"the last level has {tops} labels; without a common one such as '*' a record cannot be fully suppressed"
        yield Fault(FaultKind.NO_ROOT, len(levels) - 1, said, tops, fatal=False)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
