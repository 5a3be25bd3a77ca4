"""The input of a report: what the store and the configuration have about a period and those before it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Self

from checks import Status
from checks.classes.arrays import np
from incidents import (
    Downtime,
    DowntimeCost,
    Gap,
    Incident,
    IncidentCosts,
    MaintenanceSpans,
    Pricing,
    Spans,
    Watch,
    Window,
    measure_by,
    price,
    price_by,
    price_incidents,
    to_us,
)
from incidents import measure as measure_window
from incidents.spans import Ints
from monitor.config import Config, Table
from monitor.releases.overview import ReleaseState
from monitor.reporting.scope import ReportScope
from monitor.summaries.audit import PromiseAudit
from monitor.summaries.coverage import MonitoringStart, Observed, TableCoverage, kept_since, table_of
from monitor.summaries.patterns import PatternSurvey
from monitor.summaries.products import ProductState
from monitor.summaries.promises import MeasuredPromise
from monitor.summaries.service_levels import JudgedContract
from store import ReleaseEvent, Spending


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The data of a report as of a moment (`as_of`).

    spans: all episodes of incidents that touch the periods of the trend.
    pricing: None where no rate is configured.
    gaps: unobserved time that touches these periods, the time since the last run included.
    watches: by check id.
    results: number of results in the period by status, None when that is past retention.
    look_up: returns incidents by id.
    unevaluated_periods: first days of the earlier periods in which checks might have run and none could be evaluated.
    releases: as they are at the moment. exports: of all time, the oldest first.
    promises: of learned limits, until the moment. contracts: their service levels in the period.
    products: the data products now, and in the period.
    scan_costs: cost of the runs of the period, by source and table.
    unchecked: tables without a check that ran, the worst first.
    audit: how often statements came true in a quarter, of all tables.
    scope: everything is about these tables; None is all tables.
    owners: by table, the name to show. watching: since when tables are monitored. observed: when anything was observed.
    """

    config: Config
    as_of: datetime
    spans: Spans
    maintenance: MaintenanceSpans | None
    pricing: Pricing | None
    gaps: Sequence[Gap]
    watches: Mapping[str, Watch]
    results: Mapping[Status, int] | None
    look_up: Callable[[Sequence[int]], Sequence[Incident]]
    unevaluated_periods: frozenset[date] = frozenset()
    releases: Sequence[ReleaseState] = ()
    exports: Sequence[ReleaseEvent] = ()
    promises: Sequence[MeasuredPromise] = ()
    contracts: Sequence[JudgedContract] = ()
    products: Sequence[ProductState] = ()
    scan_costs: Mapping[tuple[str, str], Spending] = field(default_factory=dict)
    unchecked: Sequence[TableCoverage] = ()
    audit: PromiseAudit | None = None
    scope: ReportScope | None = None
    owners: Mapping[str, str | None] = field(init=False)
    watching: MonitoringStart = field(init=False)
    observed: Observed = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "owners", owner_names(self.config))
        object.__setattr__(self, "watching", MonitoringStart.of(self.watches, self.as_of))
        object.__setattr__(self, "observed", Observed.of(self.watches, self.gaps, self.config, self.as_of))

    @property
    def tables(self) -> Sequence[Table]:
        """Return the configured tables that it is about."""
        return [table for table in self.config.tables if self.scope is None or table.name in self.scope.tables]

    def within(self, scope: ReportScope) -> Self:
        """Return the part about the tables of a scope; counts by period must have been read for these tables."""
        tables = frozenset(scope.tables)
        codes = [code for code, name in enumerate(self.spans.names) if name in tables]
        releases = [state for state in self.releases if state.release.table in tables]
        names = {state.name for state in releases}
        return replace(
            self,
            scope=scope,
            spans=self.spans.take(np.flatnonzero(np.isin(self.spans.table, codes))),
            gaps=[gap for gap in self.gaps if gap.table in tables],
            watches={key: watch for key, watch in self.watches.items() if table_of(key) in tables},
            releases=releases,
            exports=[export for export in self.exports if export.release in names],
            promises=[promise for promise in self.promises if table_of(promise.check_id) in tables],
            contracts=[contract for contract in self.contracts if tables.issuperset(contract.tables)],
            products=[product for product in self.products if tables.issuperset(product.tables)],
            scan_costs={key: spending for key, spending in self.scan_costs.items() if key[1] in tables},
        )

    @property
    def as_of_us(self) -> int:
        """Return the moment of knowing in microseconds."""
        return to_us(self.as_of)

    @property
    def kept_since(self) -> datetime:
        """Return since when incidents that are over are kept; those that ended before may be forgotten."""
        return kept_since(self.config, self.as_of)

    @property
    def patterns(self) -> PatternSurvey:
        """Return of what the patterns of a window are counted."""
        return PatternSurvey(self.spans, self.as_of_us, self.config.incidents, self.maintenance, self.pricing)

    def measure(self, window: Window) -> Downtime:
        """Return the downtime of a window."""
        return measure_window(self.spans, window, as_of_us=self.as_of_us, maintenance=self.maintenance)

    def measure_by(self, window: Window, group: Ints) -> dict[int, Downtime]:
        """Return the downtime of a window by group of the spans' rows."""
        return measure_by(self.spans, window, as_of_us=self.as_of_us, group=group, maintenance=self.maintenance)

    def price(self, window: Window) -> DowntimeCost | None:
        """Return the cost of a window, None where nothing has a price."""
        if self.pricing is None:
            return None
        return price(self.spans, window, pricing=self.pricing, as_of_us=self.as_of_us, maintenance=self.maintenance)

    def price_incidents(self, window: Window) -> IncidentCosts | None:
        """Return the cost of each incident in a window; None without prices."""
        if self.pricing is None:
            return None
        pricing, as_of_us = self.pricing, self.as_of_us
        return price_incidents(self.spans, window, pricing=pricing, as_of_us=as_of_us, maintenance=self.maintenance)

    def price_by(self, window: Window, group: Ints) -> dict[int, DowntimeCost] | None:
        """Return the cost of a window by group of the spans' rows, without that of table hours; None without prices."""
        if self.pricing is None:
            return None
        return price_by(
            self.spans,
            window,
            pricing=self.pricing,
            as_of_us=self.as_of_us,
            group=group,
            maintenance=self.maintenance,
            table_hours=False,
        )


def owner_names(config: Config) -> dict[str, str | None]:
    """Return the owner's name of each table, None without an owner."""
    return {table.name: config.owner_name(config.owner_of(table)) for table in config.tables}
