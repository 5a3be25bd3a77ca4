"""What the incidents of a window have in common: causes, resolutions, what comes back, and alarms that were real.

The counting is that of `incidents`; here it is asked for the causes, tables and checks of a project.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any, Final, Self

from checks.classes.arrays import np
from incidents import (
    AnsweredAlarms,
    DowntimeCost,
    MaintenanceSpans,
    Pricing,
    Repeats,
    Resolution,
    Spans,
    Window,
    alarms_by_check,
    measure_by,
    price_by,
    repeats_by,
)
from incidents.spans import Ints
from monitor.config.alerts_model import IncidentRules
from monitor.config.prices import Currency
from monitor.summaries.shapes import Money, Shape, as_hours

RETURNS_WITHIN: Final = timedelta(days=28)
"""How long after the end of an episode the next one of the same check comes back."""

UNLISTED: Final = "(not in the list)"
"""Stands for all causes that the list in the configuration does not have."""

_NONE: Final = -1
_RESOLUTIONS: Final[Mapping[int, str | None]] = {_NONE: None, **{n: item.value for n, item in enumerate(Resolution)}}
_DO_NOT_COUNT: Final = tuple(number for number, item in enumerate(Resolution) if not item.counts)
_US: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class DowntimeShare:
    """The incidents of one cause, or resolution, and their time in the window (microseconds).

    `key` is None where no cause is given, or the incident lasts. `low` and `high`: had they occurred as late, or as
    early, as possible. Time that does not count as downtime (`counts`) is what it would be, and has no cost.
    """

    key: str | None
    n: int
    time: int
    low: int
    high: int
    cost: Fraction | None
    counts: bool = True

    def plus(self, other: "DowntimeShare") -> "DowntimeShare":
        """Return both together; what has no cost adds none."""
        cost = self.cost if other.cost is None else (self.cost or Fraction()) + other.cost
        times = (self.time + other.time, self.low + other.low, self.high + other.high)
        return DowntimeShare(self.key, self.n + other.n, *times, cost=cost, counts=self.counts)


@dataclass(frozen=True, slots=True)
class IncidentPatterns:
    """What incidents of a window have in common.

    `causes` are of downtime, and add up to it; `resolutions` are of all incidents of quality. `tables` and `checks`
    hold those with more than one episode, or one that came back, the most first. `alarms` are by check, most false ones
    first.
    """

    causes: Sequence[DowntimeShare] = ()
    resolutions: Sequence[DowntimeShare] = ()
    tables: Mapping[str, Repeats] = field(default_factory=dict)
    checks: Mapping[str, Repeats] = field(default_factory=dict)
    alarms: Mapping[str, AnsweredAlarms] = field(default_factory=dict)

    @property
    def has_causes(self) -> bool:
        """Check whether any cause was given."""
        return any(share.key is not None for share in self.causes)

    @property
    def all_alarms(self) -> AnsweredAlarms:
        """Return the alarms of all checks together."""
        parts = list(self.alarms.values())
        names = ("real", "expected", "false", "unanswered")
        return AnsweredAlarms(**{name: sum(getattr(part, name) for part in parts) for name in names})


@dataclass(frozen=True, slots=True, eq=False)
class PatternSurvey:
    """The incidents of which patterns are asked: also those that ended up to `RETURNS_WITHIN` before a window."""

    spans: Spans
    as_of_us: int
    rules: IncidentRules
    maintenance: MaintenanceSpans | None = None
    pricing: Pricing | None = None

    def of(self, window: Window) -> IncidentPatterns:
        """Return the patterns of a window."""
        spans = self.spans.touching(window.start_us - RETURNS_WITHIN // _US, window.end_us)
        parts = self._parts(spans, window)
        tables, checks = (self._repeats(spans, window, group) for group in (spans.table, spans.check))
        alarms = alarms_by_check(spans, window, as_of_us=self.as_of_us)
        return IncidentPatterns(
            causes=_added((cause, part) for cause, part in parts if part.counts),
            resolutions=_added((part.key, part) for _, part in parts),
            tables=tables,
            checks=checks,
            alarms=dict(sorted(alarms.items(), key=lambda item: (-item[1].false, -item[1].unanswered, item[0]))),
        )

    def _parts(self, spans: Spans, window: Window) -> Sequence[tuple[str | None, DowntimeShare]]:
        """Return what falls to each cause and resolution, both at once.

        What does not count is what it would be if it did; planned maintenance in it is not left out, as in
        `Downtime.excluded`.
        """
        labels, cause = causes_of(spans, self.rules)
        group = cause * len(_RESOLUTIONS) + spans.resolution - _NONE
        as_of_us, maintenance = self.as_of_us, self.maintenance
        downtimes = dict(measure_by(spans, window, as_of_us=as_of_us, group=group, maintenance=maintenance))
        rest = np.flatnonzero(np.isin(spans.resolution, _DO_NOT_COUNT))
        if rest.size:
            anyhow = replace(spans.take(rest), resolution=np.full_like(rest, _NONE))
            downtimes |= measure_by(anyhow, window, as_of_us=as_of_us, group=group[rest])
        costs: Mapping[int, DowntimeCost] = {}
        if self.pricing is not None:
            costs = price_by(
                spans,
                window,
                pricing=self.pricing,
                as_of_us=as_of_us,
                group=group,
                maintenance=maintenance,
                table_hours=False,
            )
        parts = []
        for code, part in downtimes.items():
            number, resolution = divmod(code, len(_RESOLUTIONS))
            counts = resolution + _NONE not in _DO_NOT_COUNT
            cost = costs.get(code, DowntimeCost()).amount if self.pricing is not None and counts else None
            if part.n:
                key, times = _RESOLUTIONS[resolution + _NONE], (part.downtime, part.low, part.high)
                parts.append((labels[number], DowntimeShare(key, part.n, *times, cost=cost, counts=counts)))
        return parts

    def _repeats(self, spans: Spans, window: Window, group: Ints) -> Mapping[str, Repeats]:
        """Return the tables or checks that had more than one episode, or one that came back, the most first."""
        within_us = RETURNS_WITHIN // _US
        by_code = repeats_by(spans, window, as_of_us=self.as_of_us, group=group, within_us=within_us)
        rows = [
            (spans.names[code], item)
            for code, item in by_code.items()
            if code >= 0 and (item.incidents > 1 or item.returned)
        ]
        return dict(sorted(rows, key=lambda row: (-row[1].returned, -row[1].incidents, row[0])))


def _added(parts: Iterable[tuple[str | None, DowntimeShare]]) -> Sequence[DowntimeShare]:
    """Return the parts of each key added up, the largest first."""
    sums: dict[str | None, DowntimeShare] = {}
    for key, part in parts:
        before = sums.get(key)
        sums[key] = replace(part, key=key) if before is None else before.plus(part)
    return sorted(sums.values(), key=lambda share: (-share.time, share.key is None, share.key or ""))


def causes_of(spans: Spans, rules: IncidentRules) -> tuple[Mapping[int, str | None], Ints]:
    """Return the labels of causes, and the group of each row: causes that the list does not have are one."""
    used = np.unique(spans.cause[spans.cause >= 0]).tolist()
    label_of = {code: rules.cause(spans.names[code]) or UNLISTED for code in used}
    numbers = {label: number for number, label in enumerate(dict.fromkeys(label_of.values()))}
    number_of = np.full(len(spans.names) + 1, _NONE, dtype=np.int64)  # the last is of -1: no cause
    number_of[used] = [numbers[label_of[code]] for code in used]
    labels: dict[int, str | None] = {_NONE: None}
    return labels | {number: label for label, number in numbers.items()}, number_of[spans.cause]


class PatternShare(Shape):
    """The incidents of a cause or resolution; `key` is null where none is given. What does not count has no cost."""

    key: str | None
    n: int
    counts: bool
    downtime_h: float
    downtime_h_low: float
    downtime_h_high: float
    cost: Money

    @classmethod
    def of(cls, share: DowntimeShare, currency: Currency) -> Self:
        """Return a share as a model."""
        return cls(
            key=share.key,
            n=share.n,
            counts=share.counts,
            downtime_h=as_hours(share.time),
            downtime_h_low=as_hours(share.low),
            downtime_h_high=as_hours(share.high),
            cost=currency.number(share.cost),
        )


class RepeatRow(Shape):
    """A table or check, its incidents, and the episodes that came back: of the same incident, or as one of its own."""

    key: str
    n: int
    returned: int
    reopened: int
    anew: int

    @classmethod
    def of(cls, key: str, repeats: Repeats) -> Self:
        """Return what came back of a table or a check."""
        numbers = {name: getattr(repeats, name) for name in ("returned", "reopened", "anew")}
        return cls(key=key, n=repeats.incidents, **numbers)


class RepeatLists(Shape):
    """The tables and checks with the most that came back; `more_*` counts the others."""

    within_days: int
    tables: tuple[RepeatRow, ...]
    more_tables: int
    checks: tuple[RepeatRow, ...]
    more_checks: int


class AlarmCounts(Shape):
    """Alarms by their answers."""

    alarms: int
    real: int
    expected: int
    false: int
    unanswered: int

    @classmethod
    def of(cls, alarms: AnsweredAlarms, **more: Any) -> Self:
        """Return alarms as a model; `more`: the fields that a wider model adds."""
        return cls(**{name: getattr(alarms, name) for name in AlarmCounts.model_fields}, **more)


class AlarmPrecision(AlarmCounts):
    """Alarms. `precision`: the share of those answered that was not false, with its 95 % interval.

    `precision_least` and `precision_most`: of all alarms, if all or none of the unanswered ones were false.
    """

    precision: float | None
    precision_least: float | None
    precision_most: float | None
    precision_95_low: float | None
    precision_95_high: float | None

    @classmethod
    def of(cls, alarms: AnsweredAlarms, **more: Any) -> Self:
        """Return alarms with their shares, 0 to 1, None of nothing."""
        shares = {"precision": alarms.precision, "precision_least": alarms.least, "precision_most": alarms.most}
        low, high = alarms.interval or (None, None)
        return super().of(
            alarms,
            **{name: None if share is None else float(share) for name, share in shares.items()},
            precision_95_low=low,
            precision_95_high=high,
            **more,
        )


class CheckAlarms(AlarmPrecision):
    """The alarms of a check."""

    check_id: str


class AlarmLists(Shape):
    """The alarms of all checks and of each, most false ones first; `more_checks` counts others."""

    all: AlarmPrecision
    checks: tuple[CheckAlarms, ...]
    more_checks: int


class PatternLists(Shape):
    """Causes, resolutions, what came back, and whether alarms were real, as reports, commands and pages have them."""

    causes: tuple[PatternShare, ...]
    resolutions: tuple[PatternShare, ...]
    repeats: RepeatLists
    precision: AlarmLists

    @classmethod
    def listed(cls, patterns: IncidentPatterns, currency: Currency, *, most: int | None = None) -> Self:
        """Return the first rows of each list; with `most` no check whose alarms are all unanswered."""
        tables, checks = (
            [RepeatRow.of(name, item) for name, item in rows.items()] for rows in (patterns.tables, patterns.checks)
        )
        alarms = [
            CheckAlarms.of(item, check_id=name)
            for name, item in patterns.alarms.items()
            if most is None or item.answered
        ]
        return cls(
            causes=tuple(PatternShare.of(share, currency) for share in patterns.causes),
            resolutions=tuple(PatternShare.of(share, currency) for share in patterns.resolutions),
            repeats=RepeatLists(
                within_days=RETURNS_WITHIN.days,
                tables=tuple(tables[:most]),
                more_tables=len(tables[most:]) if most else 0,
                checks=tuple(checks[:most]),
                more_checks=len(checks[most:]) if most else 0,
            ),
            precision=AlarmLists(
                all=AlarmPrecision.of(patterns.all_alarms),
                checks=tuple(alarms[:most]),
                more_checks=len(alarms[most:]) if most else 0,
            ),
        )
