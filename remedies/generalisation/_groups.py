"""Hierarchies of declared groups: dates and times in weeks, months, years and so on; trees of values."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from datetime import time as clock
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final, TypeAlias

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation._faults import FaultKind, HierarchyFault, refuse
from remedies.generalisation.levels import ROOT, leaves_of, with_root
from remedies.generalisation.spelling import distinct_texts, text_of


class DateLevel(StrEnum):
    """What a date can become, from fine to coarse."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    FIVE_YEARS = "5-year"
    DECADE = "decade"


def dates(
    values: Iterable[object],
    *,
    levels: Sequence[DateLevel | str],
    pattern: str | None = None,
    root: str | None = ROOT,
) -> Hierarchy:
    """Return the hierarchy value, first level ..., root; values ascending.

    `2024-05-17` (day), `2024-W20` (week, ISO 8601), `2024-05`, `2024-Q2`, `2024`, `2020-2024`, `2020-2029`. A time with
    a zone is of the day that its own clock shows.

    Args:
        values: dates, times, or ISO texts of them; NULL does no harm.
        levels: from fine to coarse. After `week` nothing: a week may lie in two months, quarters and years.
        pattern: how texts are written that are not ISO, as `strptime` takes it: `%m/%d/%y`.
        root: what everything is at the last level; None for none.

    Raises:
        Misfit: an unknown level, levels in the wrong order, one that splits the one before it, or values that are no
            dates.
    """
    date_levels = check_date_levels(levels)
    texts = leaves_of(values)
    read = [(text, _moment(text, pattern)) for text in texts]
    entries = sorted((moment.replace(tzinfo=None), text) for text, moment in read if moment is not None)
    if len(entries) < len(texts):
        expected = "ISO dates such as 2024-05-17, or a 'pattern'" if pattern is None else f"the pattern {pattern}"
        raise Misfit(f"{len(texts) - len(entries)} of {len(texts)} values are no dates; expected {expected}")
    labels = [[_LABELS[level](moment) for moment, _ in entries] for level in date_levels]
    return with_root([text for _, text in entries], labels, root)


def check_date_levels(levels: Sequence[DateLevel | str]) -> tuple[DateLevel, ...]:
    """Return the levels if each is a union of those below.

    Raises:
        Misfit: there is none, one is unknown, finer than the one before it, or splits it.
    """
    names = [str(level) for level in DateLevel]
    unknown = [level for level in levels if level not in names]
    if unknown or not levels:
        text = f"no level '{unknown[0]}' of dates" if unknown else "no level"
        raise Misfit(f"{text}; expected some of {', '.join(names)}")
    date_levels = tuple(DateLevel(level) for level in levels)
    for lower, upper in pairwise(date_levels):
        if names.index(upper) <= names.index(lower):
            raise Misfit(f"level '{upper}' comes after '{lower}'; expected each level once, from fine to coarse")
        if lower is DateLevel.WEEK:
            raise Misfit(
                f"level '{upper}' splits level 'week': a week may begin in one {_UNIT[upper]} and end in the next; "
                f"leave one of the two out"
            )
    return date_levels


def _moment(text: str, pattern: str | None) -> datetime | None:
    try:
        if pattern is None:
            return datetime.fromisoformat(text)
        year, month, day, hour, minute = time.strptime(text, pattern)[:5]
    except ValueError:
        return None
    return datetime.combine(date(year, month, day), clock(hour, minute))


def _years(day: date, length: int) -> str:
    first = day.year - day.year % length
    return f"{first:04d}-{first + length - 1:04d}"


def _week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"


_LABELS: Final[Mapping[DateLevel, Callable[[datetime], str]]] = {
    DateLevel.DAY: lambda day: day.date().isoformat(),
    DateLevel.WEEK: _week,
    DateLevel.MONTH: lambda day: f"{day.year:04d}-{day.month:02d}",
    DateLevel.QUARTER: lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    DateLevel.YEAR: lambda day: f"{day.year:04d}",
    DateLevel.FIVE_YEARS: lambda day: _years(day, 5),
    DateLevel.DECADE: lambda day: _years(day, 10),
}
_UNIT: Final = {
    DateLevel.MONTH: "month",
    DateLevel.QUARTER: "quarter",
    DateLevel.YEAR: "year",
    DateLevel.FIVE_YEARS: "five years",
    DateLevel.DECADE: "decade",
}


Tree: TypeAlias = Mapping[Any, Any]
"""Group to its members: a list of values and trees, a tree, one value, or None where the name is itself a value.

None in a list is NULL.
"""

_DEEPEST: Final = 50


def tree(values: Iterable[object] | None, *, groups: Tree, root: str | None = ROOT) -> Hierarchy:
    """Return the hierarchy of a tree: value, its group, the group of that ..., root; values as the tree lists them.

    `groups={"Europe": {"West": ["France"], "North": ["Norway"]}, "Asia": ["Japan"]}`. A branch that is shorter than the
    longest stays a value for longer: `Japan;Japan;Asia;*`, so that a level has groups of one rank. A tree with a
    single trunk has its root already. All its values are in the hierarchy, whether the column has them or not.

    Args:
        values: those of the column, which must all be in the tree; None to take the tree alone.
        groups: the tree.
        root: what everything is at the last level; None for none.

    Raises:
        Misfit: a value or a group that comes twice, or one without members; values that the tree does not know.
    """
    refuse(tree_faults(groups), about="the tree")
    paths = list(_paths(groups))
    depth = max(map(len, paths))
    filled = [(path[-1],) * (depth - len(path)) + path[::-1] for path in paths]
    leaves, *levels = zip(*filled, strict=True)
    hierarchy = with_root(leaves, levels, None if len(groups) == 1 else root)
    missing = 0 if values is None else hierarchy.missing(distinct_texts(values))
    if missing:
        raise Misfit(f"{missing} values are not in the tree, which knows {len(leaves)}; add them to a group")
    return hierarchy


def tree_faults(groups: Tree) -> tuple[HierarchyFault, ...]:
    """Return all that is wrong with a tree.

    Raises:
        Misfit: it is deeper than 50 levels.
    """
    paths, hollow = list(_paths(groups)), sum(1 for _ in _hollow(groups))
    results = []
    if hollow or not paths:
        text = _groups(hollow, "a member") if hollow else "there is no group"
        results.append(HierarchyFault(FaultKind.EMPTY, None, text, hollow))
    nameless = len({path[:depth] for path in paths for depth in range(1, len(path)) if not path[depth - 1]})
    if nameless:
        text = f"{_groups(nameless, 'a name')}, which would be NULL"
        results.append(HierarchyFault(FaultKind.EMPTY, None, text, nameless))
    twice = [name for name, count in Counter(path[-1] for path in paths).items() if count > 1]
    results += _duplicate(0, "value", twice)
    depth = max(map(len, paths), default=0)
    for level in range(1, depth):
        nodes = {path[: depth - level] for path in paths}
        shared = [name for name, count in Counter(node[-1] for node in nodes).items() if count > 1]
        results += [] if set(shared) <= set(twice) else _duplicate(level, "group", shared)
    return tuple(results)


def _groups(count: int, without: str) -> str:
    return f"1 group without {without}" if count == 1 else f"{count} groups without {without}"


def _duplicate(level: int, what: str, names: Sequence[str]) -> Sequence[HierarchyFault]:
    if not names:
        return ()
    listed = ", ".join(f"'{name}'" for name in names[:5]) + (" ..." if len(names) > 5 else "")
    more = f"1 {what} is in several places" if len(names) == 1 else f"{len(names)} {what}s are in several places"
    message = f"{more}: {listed}; expected each in one, under a name of its own"
    return (HierarchyFault(FaultKind.DUPLICATE, level, message, len(names)),)


def _text(name: object) -> str:
    return text_of(name) or ""


def _members(part: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names in a part of the tree, each with its own members; None for a value."""
    if isinstance(part, Mapping):
        yield from ((_text(name), members) for name, members in part.items())
    elif isinstance(part, list | tuple | set | frozenset):
        for item in part:
            yield from _members(item)
    else:
        yield _text(part), None


def _paths(part: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the way to each value, from the trunk on.

    Raises:
        Misfit: it is too long.
    """
    if len(above) > _DEEPEST:
        raise Misfit(f"a tree of more than {_DEEPEST} levels; expected fewer")
    for name, members in _members(part):
        path = (*above, name)
        yield from [path] if members is None else _paths(members, path)


def _hollow(part: Any) -> Iterator[str]:
    for name, members in _members(part):
        if members is not None:
            if not list(_members(members)):
                yield name
            yield from _hollow(members)
