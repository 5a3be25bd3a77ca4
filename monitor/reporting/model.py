"""The view model of a report of a period: numbers and message ids, no formatted text and no layout.

Lengths of time are microseconds: integers where they are sums, exact fractions where they are means. Money is exact, in
the currency of the project, and rounded once, when it is shown; where no rate is configured it is None, which is not
the same as nothing. The renderers turn one value into a page, a JSON document or Markdown, in any language.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction

from checks import Message, Severity
from incidents import FoundBy, Lever, Resolution, Shares, State
from monitor.releases.overview import ReleaseWord
from monitor.reporting.domains import DomainGrid, DomainSection
from monitor.reporting.figures import ComparedFigure
from monitor.reporting.period import Period
from monitor.reporting.scope import ReportScope
from monitor.reporting.timeline import Timeline
from monitor.summaries.audit import PromiseAudit
from monitor.summaries.coverage import TableCoverage
from monitor.summaries.patterns import IncidentPatterns
from monitor.summaries.products import ProductState
from monitor.summaries.promises import MeasuredPromise
from monitor.summaries.ranking import Advice
from monitor.summaries.scan_costs import ScanCosts
from monitor.summaries.service_levels import JudgedContract


@dataclass(frozen=True, slots=True)
class UnobservedTable:
    """A table whose checks saw nothing for some time, and why."""

    table: str
    unobserved_us: int
    reasons: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Monitoring coverage, and what was not.

    `since` is when the first check ran, None before that; `begun` says that this was before the week's end,
    `from_start` that it was before its beginning. `partly` names the tables whose first look falls into the week,
    `not_yet` those of which it comes later or never came.
    `results` counts what checks found in the week, `evaluated` those of them that are not unknown; both are None of a
    week whose measurements are past retention. `silent` counts the checks that never ran at all. `unobserved` holds the
    tables with unobserved hours, most hours first; `unobserved_more` counts those left out. `promises`
    are those of learned limits, the most broken first. `unchecked`: tables of which no check ever ran, the worst first.
    """

    tables: int
    checks: int
    since: datetime | None
    begun: bool
    from_start: bool
    partly: tuple[str, ...]
    not_yet: tuple[str, ...]
    results: int | None
    evaluated: int | None
    silent: int
    unobserved_us: int
    unobserved: tuple[UnobservedTable, ...]
    unobserved_more: int
    without_owner: tuple[str, ...]
    without_checks: tuple[str, ...]
    promises: tuple[MeasuredPromise, ...] = ()
    unchecked: tuple[TableCoverage, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The recommendation: what would shorten downtime most, and the incident that outweighs others.

    `lever` is `NONE` when the low and the high reading disagree. `undetected_share` of the downtime had passed before
    detection. `costliest` alone makes more than half of the cost (of the downtime, where nothing has a price).
    `advice` is what follows from the figures; `title` is that of the incident that it is about.
    """

    lever: Lever
    undetected_share: Fraction
    found_by_person: int
    n: int
    costliest: "DominantIncident | None"
    advice: Advice | None = None
    title: Message | None = None


@dataclass(frozen=True, slots=True)
class DominantIncident:
    """An incident that is named because it outweighs all others."""

    id: int
    table: str


@dataclass(frozen=True, slots=True)
class PartBar:
    """The downtime of a day or a week in its two parts; None where it is in the future or unknown."""

    date: date
    undetected_us: int | None
    repair_us: int | None


@dataclass(frozen=True, slots=True)
class TrendBar:
    """The downtime of one period of the trend; None where it is unknown, and `why`."""

    period: Period
    undetected_us: int | None
    repair_us: int | None
    why: Message | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """The downtime and cost of one owner or one table.

    `name` is None for tables without an owner; `owner` is the name of a table's owner, or the key of an owner.
    `part` is its share of the cost (of the downtime, where nothing has a price), 0 to 1.
    """

    name: str | None
    owner: str | None
    n: int
    undetected_us: int
    repair_us: int
    table_us: int
    cost: Fraction | None
    part: Fraction

    @property
    def downtime_us(self) -> int:
        """Return both parts together."""
        return self.undetected_us + self.repair_us


@dataclass(frozen=True, slots=True)
class IncidentLine:
    """One incident in the list.

    `undetected_us`, `repair_us` and `cost` are what falls into the week; `ttd_us` and `ttr_us` are unclipped, over all
    its episodes, and `ttr_us` is None while it lasts. `occurred_at` is the moment from which the figures count; it lies
    between `earliest` and `latest`, as the low and high figures do. `began_before` says that the week's beginning clips
    it, `continues` that it was not over at the week's end, or when the report was made. `texts`: what people wrote.
    """

    id: int
    table: str
    title: Message
    severity: Severity
    state: State
    resolution: Resolution | None
    occurred_at: datetime
    earliest: datetime
    latest: datetime
    ttd_us: int
    ttr_us: int | None
    undetected_us: int
    repair_us: int
    cost: Fraction | None
    owner: str | None
    texts: Mapping[str, str]
    found_by: FoundBy
    regressed: bool
    began_before: bool
    continues: bool


@dataclass(frozen=True, slots=True)
class IncidentList:
    """The week's incidents, open ones first, then by cost; `more` counts those left out."""

    rows: tuple[IncidentLine, ...]
    more: int


@dataclass(frozen=True, slots=True)
class ExcludedIncidents:
    """Incidents that are not downtime, by how they ended: how many, and the hours they would have been."""

    resolution: Resolution
    n: int
    downtime_us: int


@dataclass(frozen=True, slots=True)
class Maintained:
    """Planned work in the week, whose hours are no downtime."""

    reason: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class MethodNotes:
    """Notes on how the figures were computed.

    `unpriced_us` is downtime for which no rate was valid. `disclosure` counts incidents about a release at risk.
    `powers`: what the learned limits of the promises shown would detect.
    """

    excluded: tuple[ExcludedIncidents, ...]
    maintenance: tuple[Maintained, ...]
    maintenance_us: int
    rate_notes: tuple[str, ...]
    priced: bool
    unpriced_us: int
    disclosure: int
    powers: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """The state of a release, and why; `since` is None if it never changed, `until` if an approval has no end."""

    name: str
    table: str
    audience: str | None
    word: ReleaseWord
    why: tuple[Message, ...]
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class ExportRow:
    """A file that was given out. `epsilon`: its cost as text; None of a table that was grouped."""

    release: str
    at: datetime
    by: str
    file: str
    remedy: str
    rows: int
    k: int | None
    epsilon: str | None


@dataclass(frozen=True, slots=True)
class Releases:
    """The releases, those at risk first, and what was given out in the week; `more` counts those left out."""

    rows: tuple[ReleaseLine, ...] = ()
    more: int = 0
    at_risk: int = 0
    exports: tuple[ExportRow, ...] = ()
    exports_more: int = 0


@dataclass(frozen=True, slots=True)
class PeriodReport:
    """The whole report, or that of a scope: of its tables, and the releases, promises and products of these alone.

    `audit`: of a quarter of all tables, else None. A new section is a field here, a name in
    `monitor.reporting.render.SECTIONS`, a template for each format and a key of the JSON form.
    """

    project: str
    period: Period
    as_of: datetime
    currency: str
    headline: Message
    coverage: Coverage
    figures: ComparedFigure
    change: Shares | None
    diagnosis: Diagnosis | None
    parts: tuple[PartBar, ...]
    owners: tuple[Share, ...]
    owners_more: int
    trend: tuple[TrendBar, ...]
    tables: tuple[Share, ...]
    tables_more: int
    incidents: IncidentList
    timeline: Timeline
    method: MethodNotes
    releases: Releases = Releases()
    contracts: tuple[JudgedContract, ...] = ()
    owner_names: Mapping[str, str] = field(default_factory=dict)
    patterns: IncidentPatterns = field(default_factory=IncidentPatterns)
    scan_costs: ScanCosts = field(default_factory=ScanCosts)
    domains: DomainGrid = field(default_factory=DomainGrid)
    by_domain: tuple[DomainSection, ...] = ()
    products: tuple[ProductState, ...] = ()
    scope: ReportScope | None = None
    audit: PromiseAudit | None = None

    @property
    def complete(self) -> bool:
        """Check whether the period was over when the report was made."""
        return self.as_of >= self.period.end

    @property
    def by_cost(self) -> bool:
        """Check whether tables and incidents are ordered by cost; else by downtime."""
        return self.figures.this is not None and bool(self.figures.this.cost)
