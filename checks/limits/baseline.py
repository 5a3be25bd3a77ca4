"""The usual value: the median of the same slot of the week in other weeks, and how far values were from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from statistics import median
from typing import Final, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from checks.limits.bounds import Floats

Flags: TypeAlias = npt.NDArray[np.bool_]

LEAST_VALUES: Final = 3
"""Values of a slot without which it has no usual value."""
_FINE: Final = timedelta(hours=18)
"""Looks nearer to each other than this make the hour of the week the slot, not the weekday."""
_COARSE: Final = timedelta(days=8)
"""Looks farther from each other than this have one slot for all of them."""
_MOSTLY: Final = 0.95
"""Share of positive values from which on ratios are compared, not differences."""


class TimedValue(NamedTuple):
    """A number at a time. `expected`: it broke its limit, and a person said that it was to be expected.

    `unanswered`: it lies in an alarm of which nobody said what it was. `looks`: how many looks it stands for, where one
    was taken of many in an hour.
    """

    at: datetime
    value: float
    expected: bool = False
    unanswered: bool = False
    looks: int = 1


def spacing_of(looks: Sequence[TimedValue]) -> timedelta | None:
    """Return the usual time between two looks; None without two."""
    gaps = [(later.at - earlier.at) / later.looks for earlier, later in pairwise(looks)]
    gaps = [gap for gap in gaps if gap > timedelta()]
    return sorted(gaps)[len(gaps) // 2] if gaps else None


@dataclass(frozen=True, slots=True)
class Residuals:
    """How far values were from what was usual in other weeks.

    `centre` is what is usual now, None where the slot has too few values; `slot_values`: how many it has, `values`: how
    many there are of all slots. Residuals and `centre` are logarithms where `is_ratio`. `unanswered` has the residual
    farthest from 0 of each run of unanswered looks.
    """

    past: Floats
    unanswered: Floats
    centre: float | None
    slot_values: int
    values: int
    is_ratio: bool

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


def residuals_at(
    looks: Sequence[TimedValue], at: datetime, *, weeks: int, zone: ZoneInfo, spacing: timedelta
) -> Residuals:
    """Compare each look with other looks of its slot, and find what is usual at a time after all of them.

    What is usual is the median of the last `weeks` values of the slot: the same weekday, or the same hour of the week
    where looks are less than 18 hours apart. The first values of a slot are compared with the next ones, as if time ran
    backwards, so that each look has a residual. Values that are nearly all positive are compared as ratios.
    """
    is_ratio = len(looks) > 0 and sum(look.value > 0 for look in looks) >= _MOSTLY * len(looks)
    if is_ratio:
        looks = [look for look in looks if look.value > 0]
    values = np.array([look.value for look in looks], dtype=np.float64)
    values = np.log(values) if is_ratio else values
    usable = np.array([not look.unanswered for look in looks], dtype=np.bool_)
    slots = np.array([_slot(moment, zone, spacing) for moment in (*(look.at for look in looks), at)])
    past, centre = _residuals(values, usable, slots, weeks)
    has_residual = ~np.isnan(past)
    return Residuals(
        past=past[usable & has_residual],
        unanswered=_farthest_of_runs(np.where(has_residual, past, 0.0), usable),
        centre=None if np.isnan(centre) else float(centre),
        slot_values=int(np.sum(usable & (slots[:-1] == slots[-1]))),
        values=int(np.sum(usable)),
        is_ratio=is_ratio,
    )


def _residuals(values: Floats, usable: Flags, slots: npt.NDArray[np.int_], most: int) -> tuple[Floats, float]:
    """Return how far each value is from what was usual then, NaN where too little is known, and what is usual now."""
    residuals = np.full(len(values), np.nan)
    centre = np.nan
    for slot in np.unique(slots):
        places = np.flatnonzero(slots[:-1] == slot)
        own = values[places[usable[places]]].tolist()
        following = 0
        for place in places:
            number, following = following, following + int(usable[place])
            if number >= LEAST_VALUES:
                residuals[place] = values[place] - median(own[max(0, number - most) : number])
            elif len(own) - following >= LEAST_VALUES:
                residuals[place] = median(own[following : following + most]) - values[place]
        if slot == slots[-1] and len(own) >= LEAST_VALUES:
            centre = median(own[-most:])
    return residuals, centre


def _farthest_of_runs(residuals: Floats, usable: Flags) -> Floats:
    """Return the residual farthest from 0 of each run of looks that are not usable: one alarm is one distance."""
    ends = np.flatnonzero(np.diff(np.concatenate(([True], usable, [True]))))
    pairs = zip(ends[::2], ends[1::2], strict=True)
    runs = [residuals[start:end] for start, end in pairs if end < len(usable)]  # the last may be the same alarm still
    return np.array([run[np.argmax(np.abs(run))] for run in runs], dtype=np.float64)


def _slot(moment: datetime, zone: ZoneInfo, spacing: timedelta) -> int:
    if spacing > _COARSE:
        return 0
    local = moment.astimezone(zone)
    return local.weekday() if spacing >= _FINE else local.weekday() * 24 + local.hour


def at_present_level(
    looks: Sequence[TimedValue], now: TimedValue, *, weeks: int, zone: ZoneInfo, spacing: timedelta
) -> Sequence[TimedValue]:
    """Return the looks that tell what is usual now, with each change of level that a person confirmed taken back.

    A run of looks that a person said were expected is a change of level if the next look is nearer to them than to what
    was usual before them. Then the run counts, and the looks before it are moved by the median of the change, so that
    the shape of the week stays known. Else the run was a peak, which is left out. Where nothing was usual before, it
    stays in.
    """
    usual: list[TimedValue] = []
    for is_expected, group in groupby(looks, key=lambda look: look.expected):
        run = list(group)
        if is_expected:
            following = next((look for look in looks if look.at > run[-1].at), now)
            usual = _after_run(usual, run, following, weeks=weeks, zone=zone, spacing=spacing)
        else:
            usual += run
    return usual


def _after_run(
    usual: list[TimedValue],
    run: Sequence[TimedValue],
    following: TimedValue,
    *,
    weeks: int,
    zone: ZoneInfo,
    spacing: timedelta,
) -> list[TimedValue]:
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
