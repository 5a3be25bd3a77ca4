"""Compare a number with what it was on the same weekday in the weeks before."""

from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from statistics import median
from typing import Annotated, Final, TypeAlias

from annotated_types import Ge, Le
from pydantic import Field

from checks._contract import Earlier, Past
from checks._outcome import Message
from checks.parameters.numbers import exact

Weeks: TypeAlias = Annotated[
    int, Ge(1), Le(52), Field(description="Number of past weeks whose same weekday forms the baseline.")
]


NOTHING_YET: Final = Message(
    "no baseline yet: no measurement on this weekday in the last {weeks:count} weeks, outside incidents "
    "and planned maintenance",
    one="no baseline yet: no measurement on this weekday in the last week, outside incidents and planned maintenance",
    counted="weeks",
)


def same_weekday(weeks: int) -> Earlier:
    """Ask for the measurements of 7, 14, 21 ... days ago, each at most 12 hours off and on a good day."""
    return Earlier(ages=tuple(timedelta(weeks=week) for week in range(1, weeks + 1)))


def median_of(history: Sequence[Past], name: str) -> Fraction | None:
    """Return the median of an observed number over the measurements that were asked for by age; None without any."""
    seen = (exact(past.observed.get(name)) for past in history if past.age is not None)
    entries = [number for number in seen if number is not None]
    return median(entries) if entries else None
