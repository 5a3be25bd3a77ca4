"""Limits that a check learns from its own past: `limits: {learned: ...}`, and `deviation: {sigma: ...}` by hand.

The plain baseline, `weeks`, is here too: what a number was on the same weekday in the weeks before.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Self, TypeAlias
from zoneinfo import ZoneInfo

from annotated_types import Ge, Gt, Le
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    model_validator,
)
from pydantic import WithJsonSchema as JsonSchema

from checks._contract import (
    CheckParameters,
    Earlier,
    Json,
    Measurement,
    Outcome,
    PastMeasurement,
    UnknownReason,
    unknown,
)
from checks._outcome import Message
from checks._segments import TakesSegments
from checks.parameters.numbers import exact
from checks.parameters.scalars import Duration, parse_duration, say

if TYPE_CHECKING:
    from checks.limits import LearnedLimit, LimitRule, MissingHistory, TimedValue

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
    """Request the measurements of 7, 14, 21 ... days ago, each at most 12 hours off and on a good day."""
    return Earlier(ages=tuple(timedelta(weeks=week) for week in range(1, weeks + 1)))


def median_of(history: Sequence[PastMeasurement], name: str) -> Fraction | None:
    """Return the median of an observed number over the measurements that were asked for by age; None without any."""
    values = (exact(past.observed.get(name)) for past in history if past.age is not None)
    entries = [number for number in values if number is not None]
    return median(entries) if entries else None


_ALARMS: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) per ([0-9a-z]+)")
_SHORTEST: Final = timedelta(weeks=12)
_LONGEST: Final = timedelta(weeks=104)
_DAY: Final = timedelta(days=1)
_POOLED_SPAN: Final = timedelta(weeks=8)
"""The own past of a table that learns together with others."""

_NOT_POOLED_YET: Final = Message(
    "no learned limit yet: {looks:count} more runs of tables with such a rhythm are needed",
    one="no learned limit yet: {looks:count} more run of a table with such a rhythm is needed",
    counted="looks",
)
_MISSING: Final = Message(
    "no learned limit yet: {runs:count} more runs are needed, about {length:duration}",
    one="no learned limit yet: {runs:count} more run is needed, about {length:duration}",
    counted="runs",
)
_NO_PAST: Final = Message(
    "no learned limit yet: at least {runs:count} runs in {length:duration} are needed, and there are none to learn from"
)
_HOLIDAY: Final = Message("a holiday: it is not compared with other days")


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """How many false alarms are promised in how long a time; `str` is its text, `1 per 90d`."""

    count: float
    per: timedelta

    @property
    def per_day(self) -> float:
        """Return the promise as alarms a day."""
        return self.count * (_DAY / self.per)

    def __str__(self) -> str:
        return f"{self.count:g} per {say(self.per)}"


def _parse_false_alarms(value: object) -> FalseAlarms:
    if isinstance(value, FalseAlarms):
        return value
    match = _ALARMS.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"a number of false alarms in a length of time, such as 1 per 90d, not {value!r}")
    alarms = FalseAlarms(float(match[1]), parse_duration(match[2]))
    if not alarms.count or not alarms.per:
        raise ValueError(f"more than 0 false alarms in more than 0s, such as 1 per 90d, not {value!r}")
    return alarms


PromisedAlarms: TypeAlias = Annotated[
    FalseAlarms,
    BeforeValidator(_parse_false_alarms),
    PlainSerializer(str, return_type=str),
    JsonSchema(
        {
            "type": "string",
            "pattern": r"^[0-9]+(\.[0-9]+)? per ([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$",
            "description": "The promise: at most so many false alarms in so long a time.",
            "examples": ["1 per 90d", "2 per 1w"],
        }
    ),
]


def _long_enough(window: timedelta) -> timedelta:
    if not _SHORTEST <= window <= _LONGEST:
        raise ValueError(f"a window between {say(_SHORTEST)} and {say(_LONGEST)}, not {say(window)}")
    return window


@dataclass(frozen=True, slots=True)
class LeastEffect:
    """A change below which no alarm is raised: in units of the number, or `is_share` of what is usual."""

    size: float
    is_share: bool = False

    def __str__(self) -> str:
        return f"{self.size * 100:g} %" if self.is_share else f"{self.size:g}"


_EFFECT: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(%?)")


def _parse_effect(value: object) -> LeastEffect:
    if isinstance(value, LeastEffect):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match = (
        _EFFECT.fullmatch(f"{value:f}" if isinstance(value, float) else str(value))
        if is_number or isinstance(value, str)
        else None
    )
    if match is None or not float(match[1]):
        raise ValueError(f"a number above 0 such as 20, or a share of what is usual such as 5 %, not {value!r}")
    return LeastEffect(float(match[1]) / 100, is_share=True) if match[2] else LeastEffect(float(match[1]))


Effect: TypeAlias = Annotated[
    LeastEffect,
    PlainValidator(_parse_effect),
    PlainSerializer(lambda effect: str(effect) if effect.is_share else effect.size, return_type=str | float),
    JsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?%?$"},
            ],
            "description": "Least effect: no alarm within this distance of what is usual, in units of the number or as "
            "a share of what is usual.",
            "examples": [20, "5 %"],
        }
    ),
]


class LearnedFrom(BaseModel):
    """What a limit is learned from."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    weeks: Weeks = 4
    window: Annotated[Duration, AfterValidator(_long_enough)] = Field(
        timedelta(weeks=26), description="How far back measurements are learned from, 12w to 104w."
    )
    holidays: tuple[date, ...] = Field((), description="Days that are neither learned from nor compared.")
    at_least: Effect | None = None


class Learned(LearnedFrom):
    """A limit that is chosen by its own past, so that false alarms are as frequent as promised."""

    false_alarms: PromisedAlarms
    pooled: bool = Field(
        default=False,
        description="Learn together with the other pooled checks of the project, which share the promise.",
    )


class LearnedLimits(BaseModel):
    """Limits that are not set by hand."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    learned: Learned = Field(description="Learn the limit from earlier measurements.")


class Deviation(LearnedFrom):
    """A limit that is set by hand, in robust standard deviations around what is usual."""

    sigma: Annotated[float, Gt(0), Field(description="Largest distance, in robust standard deviations.")]


@dataclass(frozen=True, slots=True)
class LearnedVerdict:
    """The verdict of a learned limit on a number: `observed` of it; `missing`: the outcome where no limit was learned.

    `side`: -1 where the number lies below its limit, 1 above, 0 inside; `bound` is the limit on that side.
    """

    observed: dict[str, Json]
    side: int = 0
    bound: float = 0.0
    usual: float = 0.0
    missing: Outcome | None = None


class LearnsNumber(CheckParameters):
    """The parameters of a check whose limits may be learned. `pools`: also together with other tables."""

    pools: ClassVar[bool] = False
    limits: LearnedLimits | None = Field(None, description="Limits that are learned from earlier measurements.")
    deviation: Deviation | None = Field(None, description="Largest distance from what is usual, by hand.")

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        if self.limits is not None and self.deviation is not None:
            raise ValueError("either 'limits' or 'deviation'; both are a distance from what is usual")
        return self

    @property
    def learns(self) -> bool:
        """Check whether a limit depends on what is usual."""
        return self.limits is not None or self.deviation is not None

    @model_validator(mode="after")
    def _may_be_pooled(self) -> Self:
        if self.is_pooled and (not self.pools or self.segments is not None):
            text = "is of 'volume' and 'freshness' without 'by'" if self.pools is False else "goes without 'by'"
            raise ValueError(f"'pooled' {text}; remove it")
        return self

    @property
    def is_pooled(self) -> bool:
        """Check whether limits are learned together with those of other tables."""
        return self.limits is not None and self.limits.learned.pooled

    @property
    def learned_numbers(self) -> int:
        """Return how many numbers of the check are judged by limits that keep a promise, in all its segments.

        Those of pooled checks keep one of the project.
        """
        return (
            0
            if self.limits is None or self.is_pooled
            else self._numbers * (1 if self.segments is None else self.segments.most)
        )

    @property
    def _numbers(self) -> int:
        return 1

    def learned_from(self, earlier: Earlier | None = None) -> Earlier | None:
        """Request the measurements to learn from, beside others that are asked for."""
        softer = self.softened()
        if self.is_pooled:
            return replace(earlier or Earlier(), span=_POOLED_SPAN)
        spans = [check.source_of_limits.window for check in (self, softer) if check is not None and check.learns]
        return replace(earlier or Earlier(), span=max(spans)) if spans else earlier

    @property
    def source_of_limits(self) -> LearnedFrom:
        """Return what limits are learned from."""
        return self.limits.learned if self.limits is not None else self.deviation or LearnedFrom()

    def learn(
        self,
        measurement: Measurement,
        history: Sequence[PastMeasurement],
        *,
        value: float,
        read: Callable[[PastMeasurement], float | None],
        above_only: bool = False,
        floor: float = 0.0,
    ) -> LearnedVerdict:
        """Judge a number by what `read` finds in earlier measurements.

        `floor` is the smallest standard deviation that is believed, in units of the number.
        """
        from checks.limits import MissingHistory, TimedValue, learn_limit  # imports numpy

        zone = ZoneInfo(measurement.zones.calendar)
        holidays = frozenset(self.source_of_limits.holidays)
        if measurement.measured_at.astimezone(zone).date() in holidays:
            return LearnedVerdict({}, missing=unknown(UnknownReason.NO_DATA, _HOLIDAY))
        now = TimedValue(measurement.measured_at, value)
        looks = [
            TimedValue(past.measured_at, number, past.expected, past.unanswered, past.looks)
            for past in history
            if past.in_span and past.measured_at >= now.at - self.source_of_limits.window
            if past.measured_at.astimezone(zone).date() not in holidays
            if (number := read(past)) is not None
        ]
        if self.is_pooled:
            rule = self._rule(1, above_only=above_only, floor=floor)
            return self._learn_pooled(measurement, looks, now, rule=rule, zone=zone)
        rule = self._rule(measurement.family, above_only=above_only, floor=floor)
        learned = learn_limit(looks, now, rule=rule, zone=zone)
        if isinstance(learned, MissingHistory):
            return LearnedVerdict({}, missing=unknown(UnknownReason.NO_DATA, _missing_message(learned)))
        bound = learned.low if learned.side < 0 else learned.high
        return LearnedVerdict(_observe(learned), learned.side, bound, learned.usual)

    def _learn_pooled(
        self,
        measurement: Measurement,
        looks: Sequence["TimedValue"],
        now: "TimedValue",
        *,
        rule: "LimitRule",
        zone: ZoneInfo,
    ) -> LearnedVerdict:
        from checks.limits import DistancePool, MissingHistory, learn_pooled

        name = str(getattr(self, "type", ""))
        verdict = learn_pooled(name, looks, now, pool=measurement.pool or DistancePool(), rule=rule, zone=zone)
        limit, step = verdict.limit, verdict.step
        pool: dict[str, Json] | None = (
            None if step is None else {"group": step.group, "band": step.band, "distance": rounded(step.distance)}
        )
        if isinstance(limit, MissingHistory):
            message = _missing_message(limit) if pool is None else _NOT_POOLED_YET.given(looks=limit.looks)
            return LearnedVerdict({"pool": pool} if pool else {}, missing=unknown(UnknownReason.NO_DATA, message))
        bound = limit.low if limit.side < 0 else limit.high
        odds = rounded(verdict.odds or 1.0)
        return LearnedVerdict({**_observe(limit), "odds": odds, "pool": pool}, limit.side, bound, limit.usual)

    def _rule(self, family: int, *, above_only: bool, floor: float) -> "LimitRule":
        from checks.limits import LimitRule

        per_day = None if self.limits is None else self.limits.learned.false_alarms.per_day / max(1, family)
        sigma = None if self.deviation is None else self.deviation.sigma
        source, effect = self.source_of_limits, self.source_of_limits.at_least or LeastEffect(0.0)
        return LimitRule(
            per_day,
            sigma,
            source.weeks,
            above_only=above_only,
            floor=floor,
            at_least=0.0 if effect.is_share else effect.size,
            at_least_share=effect.size if effect.is_share else 0.0,
        )


class LearnsLimits(LearnsNumber, TakesSegments):
    """The parameters of a check whose limits may be learned, in each segment of its table."""


def number_in(past: PastMeasurement, name: str) -> float | None:
    """Return an observed number of an earlier measurement; None where it has none."""
    number = exact(past.observed.get(name))
    return None if number is None else float(number)


def rounded(number: float) -> float | int:
    """Return a computed number with six digits, for a message."""
    short = float(f"{number:.6g}")
    return int(short) if short.is_integer() else short


def _missing_message(missing: "MissingHistory") -> Message:
    return (_NO_PAST if missing.at_least else _MISSING).given(runs=missing.looks, length=missing.length.total_seconds())


def _observe(learned: "LearnedLimit") -> dict[str, Json]:
    figures: dict[str, float | None] = {
        "low": learned.low,
        "high": learned.high,
        "usual": learned.usual,
        "loss": learned.loss,
        "excess": learned.excess,
        "chance": learned.chance,
    }
    shown = {
        name: None if number is None or not math.isfinite(number) else rounded(number)
        for name, number in figures.items()
    }
    return {**shown, "compared_with": learned.residuals, "rhythm": learned.rhythm}
