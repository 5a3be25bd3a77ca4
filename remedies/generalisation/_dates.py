"""Dates and times in weeks, months, years and so on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from datetime import time as clock
from enum import StrEnum
from itertools import pairwise
from typing import Final

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation.levels import ROOT, leaves_of, with_root


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
    chosen = check_date_levels(levels)
    texts = leaves_of(values)
    read = [(text, _moment(text, pattern)) for text in texts]
    entries = sorted((moment.replace(tzinfo=None), text) for text, moment in read if moment is not None)
    if len(entries) < len(texts):
        expected = "ISO dates such as 2024-05-17, or a 'pattern'" if pattern is None else f"the pattern {pattern}"
        raise Misfit(f"{len(texts) - len(entries)} of {len(texts)} values are no dates; expected {expected}")
    made = [[_LABELS[level](moment) for moment, _ in entries] for level in chosen]
    return with_root([text for _, text in entries], made, root)


def check_date_levels(levels: Sequence[DateLevel | str]) -> tuple[DateLevel, ...]:
    """Return the levels if each is a union of those below.

    Raises:
        Misfit: there is none, one is unknown, finer than the one before it, or splits it.
    """
    names = [str(level) for level in DateLevel]
    strange = [level for level in levels if level not in names]
    if strange or not levels:
        text = f"no level '{strange[0]}' of dates" if strange else "no level"
        raise Misfit(f"{text}; expected some of {', '.join(names)}")
    chosen = tuple(DateLevel(level) for level in levels)
    for lower, upper in pairwise(chosen):
        if names.index(upper) <= names.index(lower):
            raise Misfit(f"level '{upper}' comes after '{lower}'; expected each level once, from fine to coarse")
        if lower is DateLevel.WEEK:
            raise Misfit(
                f"level '{upper}' splits level 'week': a week may begin in one {_UNIT[upper]} and end in the next; "
                f"leave one of the two out"
            )
    return chosen


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
