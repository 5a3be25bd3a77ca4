"""What the incidents of a window have in common: causes, resolutions, what comes back, and alarms that were real.

The counting is that of `incidents`; here it is asked for the causes, tables and checks of a project.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any, Final

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
    hours,
    measure_by,
    price_by,
    repeats_by,
)
from incidents.spans import Ints
from monitor.config.alerts_model import IncidentRules
from monitor.config.prices import Currency

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

    def as_json(self, currency: Currency) -> dict[str, Any]:
        """Return the published shape."""
        times = {"downtime_h": self.time, "downtime_h_low": self.low, "downtime_h_high": self.high}
        figures = {name: float(hours(time)) for name, time in times.items()}
        return {"key": self.key, "n": self.n, "counts": self.counts, **figures, "cost": currency.number(self.cost)}


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

    def as_json(self, currency: Currency) -> dict[str, Any]:
        """Return the published shapes: keys that reports and `downtime` share."""
        return {
            "causes": [share.as_json(currency) for share in self.causes],
            "resolutions": [share.as_json(currency) for share in self.resolutions],
            "repeats": {
                "within_days": RETURNS_WITHIN.days,
                "tables": [repeats_as_json(name, item) for name, item in self.tables.items()],
                "checks": [repeats_as_json(name, item) for name, item in self.checks.items()],
            },
            "precision": {
                "all": precision_as_json(self.all_alarms),
                "checks": [{"check_id": name, **precision_as_json(item)} for name, item in self.alarms.items()],
            },
        }


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


def precision_as_json(alarms: AnsweredAlarms) -> dict[str, Any]:
    """Return the published shape of alarms by their answers; shares are 0 to 1, None of nothing."""
    shares = {"precision": alarms.precision, "precision_least": alarms.least, "precision_most": alarms.most}
    low, high = alarms.interval or (None, None)
    return {
        "alarms": alarms.alarms,
        "real": alarms.real,
        "expected": alarms.expected,
        "false": alarms.false,
        "unanswered": alarms.unanswered,
        **{name: None if share is None else float(share) for name, share in shares.items()},
        "precision_95_low": low,
        "precision_95_high": high,
    }


def repeats_as_json(name: str, repeats: Repeats) -> dict[str, Any]:
    """Return the published shape of what came back of a table or a check."""
    numbers = {"n": repeats.incidents, "returned": repeats.returned, "reopened": repeats.reopened, "anew": repeats.anew}
    return {"key": name, **numbers}
