"""The usual value: the median of the same slot of the week in the weeks before, and how far values were from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from checks.limits.bounds import Floats

LEAST_VALUES: Final = 3
"""Values of a slot without which it has no usual value."""
_FINE: Final = timedelta(hours=18)
"""Looks nearer to each other than this make the hour of the week the slot, not the weekday."""
_COARSE: Final = timedelta(days=8)
"""Looks farther from each other than this have one slot for all of them."""
_MOSTLY: Final = 0.95
"""Share of positive values from which on ratios are compared, not differences."""


class Look(NamedTuple):
    """A number at a time. `expected`: it broke its limit, and a person said that it was to be expected.

    `looks`: how many looks it stands for, where one was taken of many in an hour.
    """

    at: datetime
    value: float
    expected: bool = False
    looks: int = 1


def spacing_of(looks: Sequence[Look]) -> timedelta | None:
    """Return the usual time between two looks; None without two."""
    gaps = [(later.at - earlier.at) / later.looks for earlier, later in pairwise(looks)]
    gaps = [gap for gap in gaps if gap > timedelta()]
    return sorted(gaps)[len(gaps) // 2] if gaps else None


@dataclass(frozen=True, slots=True)
class Residuals:
    """How far earlier values were from what was usual then, oldest first.

    `centre` is what is usual now, None where the slot has too few values; `slot_values`: how many it has, `values`: how
    many there are of all slots. Residuals and `centre` are logarithms where `is_ratio`.
    """

    past: Floats
    centre: float | None
    slot_values: int
    values: int
    is_ratio: bool
    spacing: timedelta

    def residual(self, value: float) -> float:
        """Return how far a value is from what is usual now."""
        if self.centre is None:
            raise ValueError("a slot with too few values has no usual value")
        if not self.is_ratio:
            return value - self.centre
        return float(np.log(value) - self.centre) if value > 0 else -np.inf

    def value(self, residual: float) -> float:
        """Return the value that is so far from what is usual now."""
        if self.centre is None:
            raise ValueError("a slot with too few values has no usual value")
        with np.errstate(over="ignore"):
            return float(np.exp(self.centre + residual)) if self.is_ratio else self.centre + residual


def residuals_at(looks: Sequence[Look], at: datetime, *, weeks: int, zone: ZoneInfo, spacing: timedelta) -> Residuals:
    """Compare each look with the looks of its slot before it, and find what is usual at a time after all of them.

    What is usual is the median of the last `weeks` values of the slot: the same weekday, or the same hour of the week
    where looks are less than 18 hours apart. Values that are nearly all positive are compared as ratios.
    """
    values = np.array([look.value for look in looks], dtype=np.float64)
    slots = np.array([_slot(moment, zone, spacing) for moment in (*(look.at for look in looks), at)])
    is_ratio = len(values) > 0 and bool(np.mean(values > 0) >= _MOSTLY)
    if is_ratio:
        positive = values > 0
        values, slots = np.log(values[positive]), np.append(slots[:-1][positive], slots[-1])
    centres = _centres(values, slots, weeks)
    past = values - centres[:-1]
    slot_values = int(np.sum(slots[:-1] == slots[-1]))
    centre = None if np.isnan(centres[-1]) else float(centres[-1])
    return Residuals(past[~np.isnan(past)], centre, slot_values, len(values), is_ratio, spacing)


def _slot(moment: datetime, zone: ZoneInfo, spacing: timedelta) -> int:
    if spacing > _COARSE:
        return 0
    local = moment.astimezone(zone)
    return local.weekday() if spacing >= _FINE else local.weekday() * 24 + local.hour


def _centres(values: Floats, slots: npt.NDArray[np.int_], most: int) -> Floats:
    """Return for each place the median of the last values of its slot before it; NaN where these are too few."""
    centres = np.full(len(slots), np.nan)
    for slot in np.unique(slots):
        places = np.flatnonzero(slots == slot)
        own = values[places[places < len(values)]]
        for number, place in enumerate(places):
            if number >= LEAST_VALUES:
                centres[place] = np.median(own[max(0, number - most) : number])
    return centres


def at_present_level(
    looks: Sequence[Look], now: Look, *, weeks: int, zone: ZoneInfo, spacing: timedelta
) -> Sequence[Look]:
    """Return the looks that tell what is usual now, with each change of level that a person confirmed taken back.

    A run of looks that a person said were expected is a change of level if the next look is nearer to them than to what
    was usual before them. Then the run counts, and the looks before it are moved by the median of the change, so that
    the shape of the week stays known. Else the run was a peak, which is left out. Where nothing was usual before, it
    stays in.
    """
    usual: list[Look] = []
    for is_expected, group in groupby(looks, key=lambda look: look.expected):
        run = list(group)
        if is_expected:
            following = next((look for look in looks if look.at > run[-1].at), now)
            usual = _after_run(usual, run, following, weeks=weeks, zone=zone, spacing=spacing)
        else:
            usual += run
    return usual


def _after_run(
    usual: list[Look], run: Sequence[Look], following: Look, *, weeks: int, zone: ZoneInfo, spacing: timedelta
) -> list[Look]:
    before = [residuals_at(usual, look.at, weeks=weeks, zone=zone, spacing=spacing) for look in (*run, following)]
    if any(residuals.centre is None for residuals in before):
        return [*usual, *run]
    pairs = zip(before, (*run, following), strict=True)
    *of_run, last = [residuals.residual(look.value) for residuals, look in pairs]
    shift = float(np.median(of_run))
    if not np.isfinite(shift) or abs(last - shift) >= abs(last):
        return usual
    factor, difference = (float(np.exp(shift)), 0.0) if before[0].is_ratio else (1.0, shift)
    return [look._replace(value=look.value * factor + difference) for look in usual] + list(run)
