"""Score statements by how often they came true: a 95 % interval of the rate, beside what was promised.

The interval is that of Clopper and Pearson. Where groups of observations (the runs of a table, the incidents of a week)
differ more than independent ones would, `dispersion` (Pearson's X2 over its degrees of freedom) is above 1, and the
interval also spans that of Wilson for so many times fewer observations, as far as few groups can tell it (Student's t).
Observations of one group cannot be compared.

What is not decided counts as false at one end and as true at the other.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

from checks import OccurrenceMethod
from checks.sampling.beta import beta_quantile
from incidents._model import FoundBy, to_us
from incidents.alarms import wilson
from incidents.events import Corrected, Event, Opened, Reopened, apply
from incidents.service_levels import LevelVerdict

_TAIL: Final = 0.025
_HOUR_US: Final = 3_600_000_000
_ENDS: Final = ("earliest", "latest", "person")


class Bound(StrEnum):
    """How a rate is promised."""

    AT_MOST = "at-most"
    AT_LEAST = "at-least"
    EQUAL = "equal"

    def is_kept(self, promised: float, low: float, high: float) -> bool:
        """Check whether a promise lies in an interval, or on the side of it where it is kept."""
        return (self is Bound.AT_LEAST or low <= promised) and (self is Bound.AT_MOST or promised <= high)


@dataclass(frozen=True, slots=True)
class StatementCount:
    """How often a statement was made in a group of observations, how often it came true, and is not decided."""

    made: int
    true: int
    undecided: int = 0


@dataclass(frozen=True, slots=True)
class StatementEvidence:
    """What a history shows of a statement: counts by group, the mean rate promised in them, and widths of intervals.

    `promised` is None where nothing was promised. `left_out`: observations that were not looked at.
    """

    counts: Sequence[StatementCount]
    promised: float | None = None
    widths: Sequence[float] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class StatementScore:
    """How often a statement came true; `low` and `high`: its 95 % interval. Rates are None where it was never made."""

    made: int
    true: int
    undecided: int
    groups: int
    rate: float | None
    low: float | None
    high: float | None
    dispersion: float | None
    _ends: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, counts: Iterable[StatementCount]) -> Self:
        """Return the score of counts by group."""
        groups = [count for count in counts if count.made]
        made, true, undecided = (sum(getattr(count, name) for count in groups) for name in StatementCount.__slots__)
        if not made:
            return cls(0, 0, 0, 0, None, None, None, None)
        dispersion = _dispersion(groups, true / made)
        by_chance = 1.0 if dispersion is None else dispersion * _widening(len(groups) - 1)
        least, most = (interval_of(count, made, by_chance) for count in (true, true + undecided))
        rate = true / made if not undecided else None
        return cls(made, true, undecided, len(groups), rate, least[0], most[1], dispersion, (least, most))

    def verdict(self, bound: Bound | None, promised: float | None) -> LevelVerdict | None:
        """Return whether a promise is kept: broken only where its whole interval lies on the wrong side.

        None where no rate is promised.
        """
        if bound is None:
            return None
        verdicts = set() if promised is None else {bound.is_kept(promised, *ends) for ends in self._ends}
        if len(verdicts) != 1:
            return LevelVerdict.UNKNOWN
        return LevelVerdict.KEPT if verdicts == {True} else LevelVerdict.BROKEN


def interval_of(true: int, made: int, dispersion: float = 1.0) -> tuple[float, float]:
    """Return the 95 % interval of a rate; see the module."""
    low = 0.0 if true == 0 else beta_quantile(true, made - true + 1, _TAIL)
    high = 1.0 if true == made else 1 - beta_quantile(made - true, true + 1, _TAIL)
    if dispersion <= 1:
        return low, high
    wide = wilson(true / made, made / dispersion)
    return min(low, wide[0]), max(high, wide[1])


def _widening(freedom: int) -> float:
    """Return the squared ratio of the 97.5 % quantiles of Student's t, whose spread is estimated, and of the normal.

    The first few are exact, the others are the expansion of Fisher and Cornish (1960).
    """
    z = 1.959963984540054
    few = {1: 12.706, 2: 4.303, 3: 3.182}
    t = few.get(freedom, z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2))
    return (t / z) ** 2


def _dispersion(groups: Sequence[StatementCount], rate: float) -> float | None:
    """Return Pearson's X2 over its degrees of freedom; None of one group, or where all came true or none."""
    if len(groups) == 1 or not 0 < rate < 1:
        return None
    apart = sum((count.true - count.made * rate) ** 2 / count.made for count in groups)
    return apart / (rate * (1 - rate) * (len(groups) - 1))


@dataclass(frozen=True, slots=True)
class CorrectedStart:
    """When data went bad: the interval that was estimated at detection, and what a person then recorded."""

    table: str
    detected_at: datetime
    earliest: datetime
    latest: datetime
    person: datetime

    @property
    def is_inside(self) -> bool:
        """Check whether the interval holds the recorded time."""
        return self.earliest <= self.person <= self.latest

    @property
    def width_h(self) -> float:
        """Return the length of the interval in hours."""
        return (to_us(self.latest) - to_us(self.earliest)) / _HOUR_US


def corrected_starts(events: Iterable[Event]) -> Sequence[CorrectedStart]:
    """Return the starts of an incident's episodes that a check estimated and a person corrected; the last word counts.

    Without an earlier passing run nothing is known of the start (`first-observation`), so nothing is promised.
    """
    incident, estimates, recorded = None, {}, {}
    for event in events:
        incident = apply(incident, event)
        number = len(incident.episodes) - 1
        if isinstance(event.change, Opened | Reopened) and incident.found_by is FoundBy.CHECK:
            estimates[number] = incident.last
        elif isinstance(event.change, Corrected) and event.change.occurred_at is not None:
            recorded[range(number + 1)[event.change.episode]] = event.change.occurred_at
    unknown = {OccurrenceMethod.FIRST_OBSERVATION, OccurrenceMethod.PERSON}
    return [
        CorrectedStart(incident.table, episode.detected_at, episode.onset.earliest, episode.onset.latest, person)
        for number, person in sorted(recorded.items())
        if incident is not None and (episode := estimates.get(number)) and episode.onset.method not in unknown
    ]


def score_starts(starts: Collection[CorrectedStart]) -> StatementEvidence:
    """Score that each start lies in its interval, by table."""
    counts = [_counted([start for start in starts if start.table == name]) for name in {item.table for item in starts}]
    return StatementEvidence(counts, 1.0, [start.width_h for start in starts])


def _counted(starts: Sequence[CorrectedStart]) -> StatementCount:
    return StatementCount(len(starts), sum(start.is_inside for start in starts))


def score_ranges(starts: Iterable[CorrectedStart]) -> StatementEvidence:
    """Score that the low and high time before detection, added up over a week, have the recorded time between them."""
    weeks: dict[tuple[int, int], list[CorrectedStart]] = {}
    for start in starts:
        weeks.setdefault(start.detected_at.isocalendar()[:2], []).append(start)
    sums = [[sum(to_us(getattr(start, name)) for start in week) for name in _ENDS] for week in weeks.values()]
    inside = sum(low <= person <= high for low, high, person in sums)
    return StatementEvidence(
        [StatementCount(len(sums), inside)], 1.0, [(high - low) / _HOUR_US for low, high, _ in sums]
    )
