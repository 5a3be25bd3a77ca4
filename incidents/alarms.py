"""Count the alarms of checks by what people said that they were, and the incidents that came back.

An alarm is an incident of quality that a check opened. It is answered if a person, or a service in which people work,
acknowledged, assigned or resolved it (`Incident.answered`) and it is over; what a passing run closed with no word of a
person is unanswered, and so is what lasts. A duplicate is no alarm of its own.

`docs/incidents.md` tells this in plain words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Final

from checks.classes.arrays import np
from incidents._measure import Bools, counts, dense, order_by
from incidents._model import Incident, Resolution
from incidents.known_episodes import first_rows, is_downtime
from incidents.spans import OPEN_END, Ints, Spans, Window

_Z: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: an interval of 95 %."""

_PLACE: Final = {resolution: place for place, resolution in enumerate(Resolution)}


@dataclass(frozen=True, slots=True)
class AnsweredAlarms:
    """How many alarms there were of each answer. `expected`: the data had changed as the alarm said, and it was known.

    `real` were fixed, or left as they were.
    """

    real: int = 0
    expected: int = 0
    false: int = 0
    unanswered: int = 0

    @classmethod
    def of(cls, answers: Sequence[Resolution | None]) -> "AnsweredAlarms":
        """Count answers; None: no answer."""
        return cls(
            real=answers.count(Resolution.FIXED) + answers.count(Resolution.NO_ACTION),
            expected=answers.count(Resolution.EXPECTED),
            false=answers.count(Resolution.FALSE_POSITIVE),
            unanswered=answers.count(None),
        )

    @property
    def alarms(self) -> int:
        """Return how many there were."""
        return self.answered + self.unanswered

    @property
    def answered(self) -> int:
        """Return how many of them were answered."""
        return self.real + self.expected + self.false

    @property
    def precision(self) -> Fraction | None:
        """Return the share of those answered that were not false; None if none was answered."""
        return Fraction(self.answered - self.false, self.answered) if self.answered else None

    @property
    def least(self) -> Fraction | None:
        """Return the share of all alarms that were not false, if all unanswered ones were false."""
        return Fraction(self.answered - self.false, self.alarms) if self.alarms else None

    @property
    def most(self) -> Fraction | None:
        """Return the share of all alarms that were not false, if all unanswered ones were true."""
        return Fraction(self.alarms - self.false, self.alarms) if self.alarms else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % interval of the precision (Wilson)."""
        return None if self.precision is None else wilson(float(self.precision), self.answered)


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share of n observations (Wilson 1927, without correction of continuity)."""
    spread = _Z * sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    low, high = ((share + _Z**2 / (2 * n) + side) / (1 + _Z**2 / n) for side in (-spread, spread))
    return (0.0 if share == 0 else max(low, 0.0)), (1.0 if share == 1 else min(high, 1.0))


def answer_of(incident: Incident) -> Resolution | None:
    """Return what people said that an alarm was; None while it lasts, and if it was closed with no word of a person."""
    return incident.resolution if incident.answered else None


def alarms_by_check(spans: Spans, window: Window, *, as_of_us: int) -> Mapping[str, AnsweredAlarms]:
    """Count the alarms detected in a window, as they stand, by check; one that was resolved later lasts."""
    first = first_rows(spans)
    last = np.concatenate((first[1:], [spans.incident.size])) - 1
    resolution = spans.resolution[first]
    is_alarm = (spans.check[first] >= 0) & ~spans.disclosure[first] & (resolution != _PLACE[Resolution.DUPLICATE])
    chosen = np.flatnonzero(is_alarm & _in_window(spans.detected[first], window, as_of_us))
    if chosen.size == 0:
        return {}
    over = spans.answered[first[chosen]] & (spans.resolved[last[chosen]] <= as_of_us)
    answer = np.where(over, resolution[chosen], -1)
    codes, which = dense(spans.check[first[chosen]])
    sides = {
        "real": np.isin(answer, [_PLACE[Resolution.FIXED], _PLACE[Resolution.NO_ACTION]]),
        "expected": answer == _PLACE[Resolution.EXPECTED],
        "false": answer == _PLACE[Resolution.FALSE_POSITIVE],
        "unanswered": answer < 0,
    }
    columns = [counts(which[side], codes.size) for side in sides.values()]
    rows = zip(codes.tolist(), zip(*columns, strict=True), strict=True)
    return {spans.names[code]: AnsweredAlarms(*numbers) for code, numbers in rows}


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often something was bad: `incidents` detected in the window, and how many episodes of these came back.

    An episode came back if the check, or the person's incident, had been right again for no longer than the given time
    before it was detected. `reopened` are further episodes of the same incident, `anew` are new incidents.
    """

    incidents: int = 0
    reopened: int = 0
    anew: int = 0

    @property
    def returned(self) -> int:
        """Return how many episodes came back."""
        return self.reopened + self.anew


def repeats_by(spans: Spans, window: Window, *, as_of_us: int, group: Ints, within_us: int) -> Mapping[int, Repeats]:
    """Count the incidents that were detected in a window, and the episodes that came back, by group.

    Args:
        spans: the episodes of incidents, also of those that ended up to `within_us` before the window.
        window: the time in which they were detected.
        as_of_us: the moment of knowing.
        group: a whole number for each row of the spans: its table, or its check.
        within_us: how long after the end of an episode the next one of the same check comes back.
    """
    rows = np.flatnonzero(is_downtime(spans, disclosure=False) & (spans.detected <= as_of_us))
    if rows.size == 0:
        return {}
    part, of_row = spans.take(rows), group[rows]
    inside = _in_window(part.detected, window, as_of_us)
    begins = np.zeros(rows.size, dtype=np.bool_)
    begins[first_rows(part)] = True
    came_back = inside & _came_back(part, within_us)
    codes, which = dense(of_row)
    sides = (inside & begins, came_back & ~begins, came_back & begins)
    columns = [counts(which[side], codes.size) for side in sides]
    return {
        code: Repeats(*numbers)
        for code, numbers in zip(codes.tolist(), zip(*columns, strict=True), strict=True)
        if any(numbers)
    }


def _came_back(spans: Spans, within_us: int) -> Bools:
    """Return which episodes were detected within a time after the last end of earlier ones of their series."""
    # what a person reported is a series of its own: its incident
    series = np.where(spans.check >= 0, spans.check, len(spans.names) + spans.incident)
    _, which = dense(series)
    order = order_by(which, spans.detected)
    ordered, detected, resolved = which[order], spans.detected[order], spans.resolved[order]
    ends = _running_most(ordered, resolved)
    before = np.concatenate(([OPEN_END], ends[:-1]))
    is_first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    result = np.zeros(order.size, dtype=np.bool_)
    result[order] = ~is_first & (before <= detected) & (detected - np.minimum(before, detected) <= within_us)
    return result


def _running_most(group: Ints, values: Ints) -> Ints:
    """Return the largest value so far within each group; groups stand together, numbered densely from 0."""
    ranks = np.unique(values, return_inverse=True)
    distinct, place = ranks[0], ranks[1]
    reach = np.maximum.accumulate(place + group * distinct.size)
    return distinct[reach - group * distinct.size]


def _in_window(moments: Ints, window: Window, as_of_us: int) -> Bools:
    return (moments >= window.start_us) & (moments < window.end_us) & (moments <= as_of_us)
