"""Propose when new rows are late, from the gaps between the hours in which rows arrived."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from checks import format_duration
from monitor.suggest.proposal import Confidence, Proposal

_FEWEST: Final = 30
"""Gaps from which on the largest of them says something of the next: it is larger with a chance of 1 in 31."""
_LONGER: Final = 1.5
_UNKNOWN_ZONE: Final = timedelta(hours=14)
"""How far a clock of an unknown zone may be from UTC."""
_DAY: Final = 24
_DEAD: Final = timedelta(days=365)
_DEAD_LIMITS: Final = 30
"""A table whose newest row is older than a year and than 30 limits is a copy of something past, and not late."""


def freshness(
    column: str, hours: Sequence[tuple[int, int]], *, now: datetime, aware: bool, named: bool
) -> Proposal | None:
    """Return a limit of the age of the newest row: one and a half times the largest gap seen, in whole hours or days.

    `hours`: as `profile.hours_of` returns them. `aware`: whether the values or the configuration say the time zone;
    else UTC is written, and 14 hours are added. `named`: whether the column is called as arrival times are.
    """
    past = [hour for hour, _ in hours if hour * 3600 <= now.timestamp()]
    gaps = [later - earlier for later, earlier in pairwise(past)]
    if not gaps:
        return None
    step = _DAY if all(hour % _DAY == past[0] % _DAY for hour in past) else 1
    largest = max(gaps)
    limit = timedelta(hours=-(-int(largest * _LONGER + 1) // step) * step)
    if not aware:
        limit += _UNKNOWN_ZONE
    age = now - datetime.fromtimestamp(past[0] * 3600, UTC)
    if age > max(_DEAD, _DEAD_LIMITS * limit):
        return None
    check: dict[str, Any] = {"type": "freshness", "column": column, "max_age": _written(limit)}
    why = f"{len(gaps):,} gaps between rows, the largest {format_duration(timedelta(hours=largest))}"
    if not aware:
        check["timezone"] = "UTC"
        why += "; the time zone is not declared, so UTC is assumed and 14 h are added"
    sure = named and len(gaps) >= _FEWEST and age <= limit
    return Proposal("freshness", (column,), why, Confidence.HIGH if sure else Confidence.LOW, check)


def _written(duration: timedelta) -> str:
    hours = round(duration.total_seconds() / 3600)
    return f"{hours // _DAY}d" if hours % _DAY == 0 else f"{hours}h"
