"""Downtime of some days: a calendar by table, TTD and TTR, the largest owners, domains or checks, and what-if."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Final, Literal, Self
from zoneinfo import ZoneInfo

from annotated_types import Ge, Le
from pydantic import Field, model_validator

from checks import Message
from checks.classes.arrays import np
from incidents import (
    DailyParts,
    Downtime,
    Spans,
    WhatIf,
    Window,
    changed_spans,
    from_us,
    lever,
    measure,
    measure_by,
    parts_between,
    price_by,
    response_times,
    to_us,
)
from incidents.spans import Ints
from monitor.config.prices import midnight
from monitor.config.project import Project
from monitor.reporting.timeline import Lanes
from monitor.summaries.grouping import GROUPINGS
from monitor.summaries.incident import title_of
from monitor.summaries.patterns import RETURNS_WITHIN, IncidentPatterns, PatternLists, PatternSurvey
from monitor.summaries.shapes import Amount, DowntimeGroup, Moment, Shape, TimeDistribution, Title, as_hours
from monitor.verbs.verb import Query
from monitor.web.views.shapes import Day, DowntimeTotals, Instant, totals_of
from monitor.web.views.time_lanes import DrawnTime, draw_days
from store import ReadTransaction

MOST_DAYS: Final = 62
_DEFAULT_DAYS: Final = 28
CALENDAR_TABLES: Final = 20
GROUPS: Final = 20
LISTED: Final = 20
_DOTS: Final = 30
"""Incidents that are drawn by how long they took, of each kind of time."""
_QUARTILES: Final = (0.25, 0.5, 0.75)
_MINUTE_US: Final = 60_000_000
_US: Final = timedelta(microseconds=1)
_OFTEN_MIN: Final = 60
"""Minutes between the runs of a check that would have found what people reported, where nothing else is said."""


class SplitBy(StrEnum):
    """By what downtime is split up."""

    TABLE = "table"
    OWNER = "owner"
    DOMAIN = "domain"
    CHECK = "check"
    SEVERITY = "severity"
    CAUSE = "cause"
    ROOT_OWNER = "root-owner"
    INCIDENT = "incident"


class GroupOrder(StrEnum):
    """By what groups are ordered, the largest first."""

    DOWNTIME = "downtime"
    COST = "cost"


class DowntimeQuery(Query):
    """Which days of the project (`end` is the last of them), as known when, split up by what; and what to change.

    By default the last 28 days; without an end at most 62 days from the start.

    `as_of` is in the project's zone where it names none. `noticed_within` (minutes): checks run so often.
    `also_reported`: a check finds what people reported, by default within an hour. `repair`: percent by which repairs
    are faster.
    """

    start: Day | None = None
    end: Day | None = None
    as_of: Instant | None = None
    by: SplitBy = SplitBy.OWNER
    order: GroupOrder = GroupOrder.DOWNTIME
    noticed_within: Annotated[int, Ge(1), Le(100_000)] | None = None
    also_reported: bool = False
    repair: Annotated[int, Ge(0), Le(100)] = 0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for day in (self.start, self.end):
            if day is not None and not date(1970, 1, 2) <= day <= date(9000, 1, 1):
                raise ValueError("a day lies between 1970-01-02 and 9000-01-01")
        if self.as_of is not None and not 1970 < self.as_of.year < 9000:
            raise ValueError("'as_of' lies between 1971 and 8999")
        if self.start is not None and self.end is not None and not 0 <= (self.end - self.start).days < MOST_DAYS:
            raise ValueError(f"'end' is the day of 'start' or one of the {MOST_DAYS - 1} days after it")
        return self

    @property
    def asks_what_if(self) -> bool:
        """Check whether something is to be changed."""
        return self.noticed_within is not None or self.also_reported or self.repair > 0

    @property
    def changes(self) -> WhatIf:
        """Return what is changed; a check that finds what people reported runs each hour if nothing else is said."""
        minutes = _OFTEN_MIN if self.noticed_within is None and self.also_reported else self.noticed_within
        return WhatIf(
            noticed_within=None if minutes is None else minutes * _MINUTE_US,
            also_reported=self.also_reported,
            repair_faster=Fraction(self.repair, 100),
        )


class TitledGroup(DowntimeGroup):
    """The downtime of one owner, domain ...; of an incident `key` is its number, and only it has a `title`."""

    title: Title | None


class Saving(Shape):
    """What would have been, and what that saves: hours if the data went bad when it probably did, as late, as early."""

    changed: DowntimeTotals
    saved_h: float
    saved_h_low: float
    saved_h_high: float
    saved: Amount


class TakenTime(Shape):
    """How long an incident took."""

    incident: int
    hours: float


class TakenTimes(Shape):
    """Incidents by how long they took: the quartiles of all `n`, and of many some, the ends too."""

    p25: float
    median: float
    p75: float
    n: int
    drawn: tuple[TakenTime, ...]

    @classmethod
    def of(cls, times: Mapping[int, int]) -> Self | None:
        """Return the times of incidents by their numbers, in microseconds; None without any."""
        if not times:
            return None
        ordered = sorted(times.items(), key=lambda item: (item[1], item[0]))
        places = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), _DOTS)).astype(np.int64))
        p25, median, p75 = (as_hours(round(value)) for value in np.quantile([time for _, time in ordered], _QUARTILES))
        drawn = tuple(
            TakenTime(incident=ordered[place][0], hours=as_hours(ordered[place][1])) for place in places.tolist()
        )
        return cls(p25=p25, median=median, p75=p75, n=len(ordered), drawn=drawn)


class DowntimePage(Shape):
    """`tablewatch.downtime-page/1`: the largest 20 tables and groups; `more_groups` counts the others with downtime."""

    schema_: Literal["tablewatch.downtime-page/1"] = Field("tablewatch.downtime-page/1", alias="schema")
    query: DowntimeQuery
    as_of: Moment
    total: DowntimeTotals
    ttd: TimeDistribution | None
    tta: TimeDistribution | None
    ttr: TimeDistribution | None
    taken: tuple[TakenTimes | None, TakenTimes | None, TakenTimes | None]
    lever: str
    days: tuple[date, ...]
    since: Moment
    until: Moment
    calendar: DrawnTime
    groups: tuple[TitledGroup, ...]
    more_groups: int
    what_if: Saving | None
    patterns: PatternLists


@dataclass(frozen=True, slots=True)
class _Survey:
    """The days of a query and the incidents that were known then."""

    project: Project
    tx: ReadTransaction
    query: DowntimeQuery
    now: datetime
    dates: Sequence[date]
    edges: Sequence[int]
    spans: Spans

    @property
    def as_of_us(self) -> int:
        return to_us(self.now)

    @property
    def window(self) -> Window:
        return Window(self.edges[0], self.edges[-1])

    @property
    def patterns(self) -> IncidentPatterns:
        rules, pricing = self.project.config.incidents, self.project.pricing if self.project.priced else None
        maintenance = self.project.maintenance(self.spans.names)
        return PatternSurvey(self.spans, self.as_of_us, rules, maintenance, pricing).of(self.window)

    def taken(self) -> tuple[TakenTimes | None, TakenTimes | None, TakenTimes | None]:
        maintenance = self.project.maintenance(self.spans.names)
        ttd, tta, ttr = response_times(self.spans, self.window, as_of_us=self.as_of_us, maintenance=maintenance)
        return TakenTimes.of(ttd), TakenTimes.of(tta), TakenTimes.of(ttr)

    def measured(self, spans: Spans) -> Downtime:
        maintenance = self.project.maintenance(spans.names)
        return measure(spans, self.window, as_of_us=self.as_of_us, maintenance=maintenance)

    def measured_by(self, spans: Spans, group: Ints) -> Mapping[int, Downtime]:
        maintenance = self.project.maintenance(spans.names)
        return measure_by(spans, self.window, as_of_us=self.as_of_us, group=group, maintenance=maintenance)

    def priced(self, spans: Spans, group: "Ints | None" = None) -> Mapping[int, Fraction] | None:
        """Return the cost by group, of everything as group 0; None where no rate is configured."""
        if not self.project.priced:
            return None
        costs = price_by(
            spans,
            self.window,
            pricing=self.project.pricing,
            as_of_us=self.as_of_us,
            group=np.zeros(spans.incident.size, dtype=np.int64) if group is None else group,
            maintenance=self.project.maintenance(spans.names),
            table_hours=False,
        )
        return {code: cost.amount for code, cost in costs.items()}

    def whole_cost(self, spans: Spans) -> Fraction | None:
        """Return the cost of everything."""
        costs = self.priced(spans)
        return None if costs is None else costs.get(0, Fraction())

    def parts(self, spans: Spans, group: Ints, edges: Sequence[int]) -> Mapping[int, DailyParts]:
        """Return the undetected and repair parts between edges of each group with downtime."""
        maintenance = self.project.maintenance(spans.names)
        return parts_between(spans, edges, as_of_us=self.as_of_us, group=group, maintenance=maintenance)

    def largest(self, group: Ints) -> Sequence[int]:
        """Return the groups with downtime, the largest first."""
        parts = self.parts(self.spans, group, [self.edges[0], self.edges[-1]])
        return sorted(parts, key=lambda code: (-parts[code].downtime, code))

    def ordered(self, group: Ints) -> Sequence[int]:
        """Return the groups with downtime in the order that is asked for; without a rate all cost the same."""
        largest = self.largest(group)
        costs = self.priced(self.spans, group) if self.query.order is GroupOrder.COST else None
        return largest if costs is None else sorted(largest, key=lambda code: -costs.get(code, Fraction()))

    def only(self, group: Ints, codes: Sequence[int]) -> tuple[Spans, Ints]:
        """Return the episodes of some groups, and their groups."""
        rows = np.flatnonzero(np.isin(group, codes))
        return self.spans.take(rows), group[rows]


def show_downtime(project: Project, tx: ReadTransaction, query: DowntimeQuery, now: datetime) -> DowntimePage:
    """Return the downtime of some days, as it was known at a moment that is not after the present."""
    dates = _dates(project, query, now)
    zone = project.config.timezone
    edges = [to_us(midnight(day, zone)) for day in (*dates, dates[-1] + timedelta(days=1))]
    as_of = _as_of(query, zone, now)
    spans = tx.incidents.shared_spans(edges[0] - RETURNS_WITHIN // _US)
    spans_then = spans if query.as_of is None else tx.incidents.known_at(spans, as_of)
    survey = _Survey(project, tx, query, as_of, dates, edges, spans_then)
    whole = survey.measured(survey.spans)
    by_incident = query.by is SplitBy.INCIDENT
    labels, group = (
        ({}, survey.spans.incident) if by_incident else GROUPINGS[query.by.value](survey.spans, project.config)
    )
    largest = survey.ordered(group)
    titles = _titles(tx, largest[:GROUPS]) if by_incident else {}
    shown, of_row = survey.only(group, largest[:GROUPS])
    costs = survey.priced(shown, of_row)
    everything_is_shown = costs is not None and len(largest) <= GROUPS
    cost = sum(costs.values(), Fraction()) if costs and everything_is_shown else survey.whole_cost(survey.spans)
    return DowntimePage(
        query=query,
        as_of=as_of,
        total=totals_of(project, whole, cost),
        ttd=TimeDistribution.of(whole.ttd),
        tta=TimeDistribution.of(whole.tta),
        ttr=TimeDistribution.of(whole.ttr),
        taken=survey.taken(),
        lever=lever(whole).value,
        since=from_us(survey.edges[0]),
        until=from_us(survey.edges[-1]),
        days=tuple(dates),
        calendar=draw_days(project, tx, spans_then, (dates, edges), as_of, Lanes(CALENDAR_TABLES)),
        groups=tuple(
            _group(
                project,
                str(code) if by_incident else labels[code],
                downtime,
                None if costs is None else costs.get(code, Fraction()),
                title=titles.get(code),
            )
            for code, downtime in _in_order(survey.measured_by(shown, of_row), largest[:GROUPS])
        ),
        more_groups=max(0, len(largest) - GROUPS),
        what_if=_saving(survey, whole, cost) if query.asks_what_if else None,
        patterns=PatternLists.listed(survey.patterns, project.currency, most=LISTED),
    )


def _dates(project: Project, query: DowntimeQuery, now: datetime) -> Sequence[date]:
    end = query.end or now.astimezone(ZoneInfo(project.config.timezone)).date()
    start = query.start or end - timedelta(days=_DEFAULT_DAYS - 1)
    number = min(max((end - start).days + 1, 1), MOST_DAYS)
    return [start + timedelta(days=place) for place in range(number)]


def _as_of(query: DowntimeQuery, zone: str, now: datetime) -> datetime:
    """Return `as_of` of the query, at most the present."""
    moment = query.as_of
    if moment is None:
        return now
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    return min(moment.astimezone(UTC), now)


def _in_order(downtimes: Mapping[int, Downtime], codes: Sequence[int]) -> Sequence[tuple[int, Downtime]]:
    return [(code, downtimes[code]) for code in codes if code in downtimes]


def _titles(tx: ReadTransaction, numbers: Sequence[int]) -> Mapping[int, Message]:
    return {number: title_of(incident) for number, incident in tx.incidents.get_many(numbers).items()}


def _group(
    project: Project, key: str | None, downtime: Downtime, cost: Fraction | None, *, title: Message | None
) -> TitledGroup:
    return TitledGroup.of(downtime, key=key, title=title, cost=project.currency.number(cost))


def _saving(survey: _Survey, whole: Downtime, cost: Fraction | None) -> Saving:
    spans = changed_spans(survey.spans, survey.query.changes, as_of_us=survey.as_of_us)
    changed, changed_cost = survey.measured(spans), survey.whole_cost(spans)
    saved = None if cost is None or changed_cost is None else cost - changed_cost
    return Saving(
        changed=totals_of(survey.project, changed, changed_cost),
        saved_h=as_hours(whole.downtime - changed.downtime),
        saved_h_low=as_hours(min(whole.low - changed.low, whole.high - changed.high)),
        saved_h_high=as_hours(max(whole.low - changed.low, whole.high - changed.high)),
        saved=Amount.of(survey.project, saved),
    )
