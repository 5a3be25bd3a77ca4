"""Measure the data downtime of a window from the store: the figures, their cost, and how they split up."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final, Literal, Self

from pydantic import Field

from checks import Severity
from checks.classes.arrays import np
from incidents import (
    MAINTENANCE,
    Downtime,
    DowntimeCost,
    ExcludedCount,
    Gap,
    Incident,
    Lever,
    MaintenanceSpans,
    OpenIncident,
    Resolution,
    Spans,
    Watch,
    Window,
    from_us,
    lever,
    measure,
    measure_by,
    price,
    price_by,
    price_incidents,
    to_us,
    unobserved,
)
from incidents.spans import Ints
from monitor.config.prices import Currency
from monitor.config.project import Project
from monitor.summaries.coverage import MonitoringStart, Observed, kept_since, lasting_gaps
from monitor.summaries.grouping import GROUPINGS, days_of
from monitor.summaries.patterns import RETURNS_WITHIN, IncidentPatterns, PatternLists, PatternSurvey
from monitor.summaries.ranking import Advice, Ranking, advise, rank
from monitor.summaries.shapes import (
    Amount,
    DowntimeGroup,
    DowntimeHours,
    Moment,
    Money,
    Shape,
    SpreadHours,
    TimeDistribution,
    as_hours,
)
from store import ReadTransaction

DAY: Final = "day"
MOST_DAYS: Final = 400
_SPREADS: Final = ("ttd_h", "tta_h", "ttr_h")
_EXCLUDED: Final = (*(item.value for item in Resolution if not item.counts), MAINTENANCE)


@dataclass(frozen=True, slots=True)
class DowntimePart:
    """What falls to one table, owner, day ...; `key` is None where nothing is named. `cost` is None without rates.

    Of a day that is not `known`, its figures are none, not nothing.
    """

    key: str | None
    downtime: Downtime
    cost: DowntimeCost | None
    known: bool = True


@dataclass(frozen=True, slots=True)
class DowntimeFigures:
    """The downtime of a window as it is known at a moment.

    `unobserved` is the time (microseconds) in which tables were not looked at, by table. `found_by_person` counts the
    incidents that no check found. `table_of` names the table of each open incident. `watching` says since when tables
    are watched, `kept_since` since when incidents are kept; `observed` says whether any check saw anything in the
    window; `known` is False of a window of which neither a check nor a person said anything: then its figures are none,
    not nothing. `advice` is what would shorten it most,
    None without downtime; `advised` is the incident that it is about. `patterns`: causes, what came back, and alarms.
    """

    whole: Downtime
    cost: DowntimeCost | None
    by: str
    parts: tuple[DowntimePart, ...]
    tables: tuple[DowntimePart, ...]
    unobserved: Mapping[str, int]
    found_by_person: int
    table_of: Mapping[int, str]
    ever_checked: bool
    watching: MonitoringStart
    kept_since: datetime
    observed: bool
    known: bool
    advice: Advice | None
    advised: Incident | None
    patterns: IncidentPatterns


def measure_downtime(
    project: Project, tx: ReadTransaction, *, window: Window, as_of_us: int, by: str
) -> DowntimeFigures:
    """Measure a window, split up by one of `GROUPINGS` or by `day`."""
    spans = tx.incidents.spans(to_us(from_us(window.start_us) - RETURNS_WITHIN), window.end_us)
    watches = tx.results.watches()
    watching = MonitoringStart.of(watches, from_us(as_of_us))
    gaps = _gaps(project, tx, watches, window=window, as_of_us=as_of_us)
    observed = Observed.of(watches, gaps, project.config, from_us(as_of_us))
    look = _Survey(project, spans, as_of_us, project.maintenance(spans.names), watching, observed)
    tables = look.grouped(window, "table")
    parts = tuple(look.days(window)) if by == DAY else tables if by == "table" else look.grouped(window, by)
    whole = look.measured(window)
    ranking = look.ranked(window)
    advice = None if ranking is None else advise(ranking)
    by_person = look.measured_by(window, (spans.check < 0).astype(np.int64)).get(1)
    open_ids = [open_incident.id for open_incident in whole.open]
    rows = np.searchsorted(spans.incident, open_ids)
    return DowntimeFigures(
        whole=whole,
        cost=look.priced(window),
        by=by,
        parts=parts,
        tables=tables,
        unobserved=_unobserved(gaps, window=window, as_of_us=as_of_us),
        found_by_person=0 if by_person is None else by_person.n,
        table_of={
            open_incident: spans.names[spans.table[row]] for open_incident, row in zip(open_ids, rows, strict=True)
        },
        ever_checked=bool(watches),
        watching=watching,
        kept_since=look.kept_since,
        observed=observed.in_some_of(window),
        known=look.is_known(whole),
        advice=advice,
        advised=None if advice is None or advice.incident is None else tx.incidents.get(advice.incident),
        patterns=look.patterns.of(window),
    )


@dataclass(frozen=True, slots=True)
class _Survey:
    project: Project
    spans: Spans
    as_of_us: int
    maintenance: MaintenanceSpans | None
    watching: MonitoringStart
    observed: Observed

    @property
    def kept_since(self) -> datetime:
        return kept_since(self.project.config, self.project.clock.now())

    @property
    def patterns(self) -> PatternSurvey:
        pricing = self.project.pricing if self.project.priced else None
        return PatternSurvey(self.spans, self.as_of_us, self.project.config.incidents, self.maintenance, pricing)

    def is_known(self, downtime: Downtime) -> bool:
        """Check whether a window's figures are known: incidents were reported, or stored runs observed it."""
        if downtime.is_reported or self._is_reported(downtime.window):
            return True
        return self.observed.in_some_of(downtime.window) and from_us(downtime.window.end_us) > self.kept_since

    def _is_reported(self, window: Window) -> bool:
        """Check whether an incident touches a window, even one that lies in planned maintenance and counts nothing."""
        return self.maintenance is not None and measure(self.spans, window, as_of_us=self.as_of_us).is_reported

    def measured(self, window: Window) -> Downtime:
        return measure(self.spans, window, as_of_us=self.as_of_us, maintenance=self.maintenance)

    def measured_by(self, window: Window, group: Ints) -> Mapping[int, Downtime]:
        return measure_by(self.spans, window, as_of_us=self.as_of_us, group=group, maintenance=self.maintenance)

    def priced(self, window: Window) -> DowntimeCost | None:
        if not self.project.priced:
            return None
        pricing = self.project.pricing
        return price(self.spans, window, pricing=pricing, as_of_us=self.as_of_us, maintenance=self.maintenance)

    def ranked(self, window: Window) -> Ranking | None:
        costs, maintenance = None, self.maintenance
        if self.project.priced:
            pricing = self.project.pricing
            costs = price_incidents(
                self.spans, window, pricing=pricing, as_of_us=self.as_of_us, maintenance=maintenance
            )
        return rank(self.spans, window, as_of_us=self.as_of_us, maintenance=maintenance, costs=costs)

    def grouped(self, window: Window, by: str) -> tuple[DowntimePart, ...]:
        """Return the groups that have any incident, the costliest first."""
        labels, group = GROUPINGS[by](self.spans, self.project.config)
        downtimes = self.measured_by(window, group)
        costs: Mapping[int, DowntimeCost] = {}
        if self.project.priced:
            pricing = self.project.pricing
            costs = price_by(
                self.spans,
                window,
                pricing=pricing,
                as_of_us=self.as_of_us,
                group=group,
                maintenance=self.maintenance,
            )
        nothing = DowntimeCost() if self.project.priced else None
        parts = [
            DowntimePart(labels[code], downtime, costs.get(code, nothing))
            for code, downtime in downtimes.items()
            if downtime.is_reported
        ]
        return tuple(sorted(parts, key=_weight))

    def days(self, window: Window) -> Iterator[DowntimePart]:
        """Yield every day that had begun when the figures were taken.

        Days on which no check saw anything and without reports are not known; where no check ever ran
        and people report what they find, their days are what they reported.
        """
        reports_only = self.watching.first is None and self.measured(window).is_reported
        for day, part in days_of(window, self.project.config.timezone):
            if part.start_us < self.as_of_us:
                result = self.measured(part)
                yield DowntimePart(day.isoformat(), result, self.priced(part), reports_only or self.is_known(result))


def _weight(part: DowntimePart) -> tuple[Fraction, int, bool, str]:
    amount = Fraction() if part.cost is None else part.cost.amount
    return -amount, -part.downtime.downtime, part.key is None, part.key or ""


def _gaps(
    project: Project, tx: ReadTransaction, watches: Mapping[str, Watch], *, window: Window, as_of_us: int
) -> Sequence[Gap]:
    """Return the gaps that touch a window, as far as it has come: those on record, and those that still last."""
    end_us = min(window.end_us, as_of_us)
    if end_us <= window.start_us:
        return ()
    on_record = tx.results.gaps(from_us(window.start_us), from_us(end_us))
    return [*on_record, *lasting_gaps(project.config, watches, from_us(as_of_us))]


def _unobserved(gaps: Sequence[Gap], *, window: Window, as_of_us: int) -> Mapping[str, int]:
    """Return how long each table was not observed, in microseconds."""
    end_us = min(window.end_us, as_of_us)
    if end_us <= window.start_us:
        return {}
    return {table: item.time for table, item in unobserved(gaps, Window(window.start_us, end_us)).items()}


class IncidentHours(Shape):
    """A number of incidents and their hours."""

    n: int
    hours: float

    @classmethod
    def of(cls, tally: ExcludedCount) -> Self:
        """Return a tally as a model."""
        return cls(n=tally.n, hours=as_hours(tally.time))


class SeverityHours(Shape):
    """The incidents of a severity, and the hours of their downtime."""

    n: int
    undetected_h: float
    repair_h: float


class OpenIncidentHours(Shape):
    """An incident that lasts, and since how many hours."""

    id: int
    table: str
    occurred_at: Moment
    detected_at: Moment
    age_h: float


class DowntimeCosts(Amount):
    """The cost of downtime, and what it is if overlapping incidents of a table count once."""

    table_hours_amount: Money


class DowntimeReport(DowntimeHours, PatternLists):
    """`tablewatch.downtime/1`: hours up to floating point, money rounded once; unknown figures are null."""

    schema_: Literal["tablewatch.downtime/1"] = Field("tablewatch.downtime/1", alias="schema")
    start: Moment = Field(alias="from")
    to: Moment
    as_of: Moment
    ttd_h: SpreadHours
    tta_h: SpreadHours
    ttr_h: SpreadHours
    n_acknowledged: int | None
    n_unacknowledged: int | None
    open: tuple[OpenIncidentHours, ...]
    excluded: dict[str, IncidentHours]
    watched_since: Moment | None
    unobserved_h: float | None
    cost: DowntimeCosts
    unpriced_h: float | None
    exposure: IncidentHours
    found_by_person: int
    lever: Lever | None
    by_severity: dict[Severity, SeverityHours]
    grouped_by: str
    by: tuple[DowntimeGroup, ...]

    @classmethod
    def published(cls, project: Project, figures: DowntimeFigures) -> Self:
        """Return figures in the published shape."""
        whole, known, currency = figures.whole, figures.known, project.currency
        cost, advised = figures.cost if known else None, lever(whole)
        return cls.of(
            whole,
            is_known=known,
            start=from_us(whole.window.start_us),
            to=from_us(whole.window.end_us),
            as_of=from_us(whole.as_of_us),
            **{name: TimeDistribution.of(getattr(whole, name[:3]) if known else None) for name in _SPREADS},
            n_acknowledged=whole.n_acknowledged if known else None,
            n_unacknowledged=whole.n_unacknowledged if known else None,
            open=tuple(_open(item, figures) for item in whole.open),
            excluded={name: IncidentHours.of(whole.excluded.get(name, ExcludedCount())) for name in _EXCLUDED},
            watched_since=figures.watching.first,
            unobserved_h=as_hours(sum(figures.unobserved.values())) if known else None,
            cost=DowntimeCosts.of(
                project,
                None if cost is None else cost.amount,
                table_hours_amount=currency.number(None if cost is None else cost.table_hours_amount),
            ),
            unpriced_h=None if cost is None else as_hours(cost.unpriced),
            exposure=IncidentHours.of(whole.exposure),
            found_by_person=figures.found_by_person,
            lever=None if advised is Lever.NONE else advised,
            by_severity={
                severity: SeverityHours(
                    n=part.n, undetected_h=as_hours(part.undetected), repair_h=as_hours(part.repair)
                )
                for severity, part in whole.by_severity.items()
            },
            **dict(PatternLists.listed(figures.patterns, currency)),
            grouped_by=figures.by,
            by=tuple(_group(part, currency) for part in figures.parts),
        )


def _open(lasting: OpenIncident, figures: DowntimeFigures) -> OpenIncidentHours:
    return OpenIncidentHours(
        id=lasting.id,
        table=figures.table_of[lasting.id],
        occurred_at=from_us(lasting.occurred_us),
        detected_at=from_us(lasting.detected_us),
        age_h=as_hours(lasting.age),
    )


def _group(part: DowntimePart, currency: Currency) -> DowntimeGroup:
    amount = part.cost.amount if part.known and part.cost is not None else None
    return DowntimeGroup.of(part.downtime, is_known=part.known, key=part.key, cost=currency.number(amount))
