"""Whether intervals cover a stretch of numbers once: what they leave out, and what they cover twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import TypeAlias

from remedies.generalisation.units import Ends

_Reach: TypeAlias = tuple[float, float]


def gaps_and_overlaps(intervals: Sequence[Ends]) -> tuple[tuple[Ends, ...], tuple[Ends, ...]]:
    """Return the gaps between intervals, and where one begins before another has ended; both ascending."""
    ordered = sorted(map(_reach, intervals))
    gaps: list[Ends] = []
    overlaps: list[Ends] = []
    reached = ordered[0][1] if ordered else math.inf
    for low, high in ordered[1:]:
        if low > reached:
            gaps.append(_ends(reached, low))
        elif low < reached:
            overlaps.append(_ends(low, min(high, reached)))
        reached = max(reached, high)
    return tuple(gaps), tuple(overlaps)


def holds(interval: Ends, units: int | Decimal) -> bool:
    """Check whether a number is in an interval."""
    low, high = _reach(interval)
    return low <= units < high


def _reach(interval: Ends) -> _Reach:
    low, high = interval
    return (-math.inf if low is None else low, math.inf if high is None else high)


def _ends(low: float, high: float) -> Ends:
    return (None if low == -math.inf else int(low), None if high == math.inf else int(high))
