"""The shape of `tablewatch.yaml`: what a person may write, with names, units and defaults.

Everything here is frozen and forbids unknown keys. The kinds of check come from the catalogue of the `checks` room, so a new
check needs no change here.
"""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, model_validator

from checks import Check, Severity
from monitor.config._scalars import Clock, Duration, Schedule, Share, Weekdays, Zone


class Section(BaseModel):
    """A part of the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class Storage(Section):
    """Where Tablewatch keeps what it knows."""

    url: str = Field("sqlite:///tablewatch.db", description="SQLite (relative to the folder the command is started in) or PostgreSQL.")
    keep_measurements: Duration = timedelta(days=90)
    keep_incidents: Duration = timedelta(days=1095)


class CsvFormat(Section):
    """How CSV files are written, where DuckDB's detection is not enough."""

    types: dict[str, str] = {}
    delimiter: Annotated[str, MinLen(1)] | None = None
    header: bool | None = None
    null_values: tuple[str, ...] = ()


class Source(Section):
    """Where tables live: exactly one of `files`, `url`, `spark`."""

    files: str | None = Field(None, description="A file or glob of CSV or Parquet, relative to the configuration file.")
    url: str | None = Field(None, description="sqlite:///, duckdb:///, postgresql://, or any other Ibis URL.")
    spark: str | None = Field(None, description="A Spark master such as local[2], or a Spark Connect address.")
    table: str | None = Field(None, description="Reads the whole glob as one table of this name.")
    csv: CsvFormat = CsvFormat()
    timezone: Zone | None = Field(None, description="The IANA zone of naive time columns.")
    query_timeout: Duration = timedelta(seconds=60)
    connect_timeout: Duration = timedelta(seconds=10)
    lock_timeout: Duration = timedelta(seconds=5)
    concurrency: Annotated[int, Ge(1), Le(64)] = 2
    memory_limit: str = Field("2GB", description="Most memory DuckDB may use for this source.")
    threads: Annotated[int, Ge(1)] | None = None
    expectation_rows: Annotated[int, Ge(1)] = Field(1_000_000, description="Most rows given to a Great Expectations expectation as a frame.")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        places = [name for name in ("files", "url", "spark") if getattr(self, name) is not None]
        if len(places) != 1:
            raise ValueError(f"a source has exactly one of files, url, spark; seen: {', '.join(places) or 'none'}")
        if self.files is None and (self.table is not None or self.csv != CsvFormat()):
            raise ValueError("'table' and 'csv' go with 'files' only")
        return self


class Domain(Section):
    """A part of the business that owns tables (data mesh)."""

    owner: str | None = None
    title: str | None = None


class Owner(Section):
    """Who answers for tables."""

    name: str | None = None
    email: str | None = None
    channel: str | None = None


class Rate(Section):
    """Business loss for each hour of data downtime."""

    per_hour: Annotated[Decimal, Ge(0)]


class Role(Section):
    """People who cannot do their work, or who repair, while data is down."""

    role: str
    headcount: Annotated[Decimal, Ge(0)]
    hourly: Annotated[Decimal, Ge(0)]
    share: Annotated[Decimal, Ge(0), Le(1)] = Field(description="Share of the downtime spent on it, 0 to 1.")


class BusinessHours(Section):
    """Hours that cost in full; outside them the cost is multiplied by `outside_factor`."""

    days: Weekdays = Weekdays.parse("mon-fri")
    start: Clock
    end: Clock
    outside_factor: Annotated[Decimal, Ge(0), Le(1)] = Decimal(0)
    timezone: Zone | None = None


class Rates(Section):
    """Rates that are valid from a day on."""

    valid_from: date | None = Field(None, description="First day (project time zone) on which these rates hold; earlier hours have no price.")
    tiers: dict[str, Rate] = {}
    tables: dict[str, Rate] = {}
    roles: tuple[Role, ...] = ()
    business_hours: BusinessHours | None = None
    note: str | None = None


class Cost(Rates):
    """What an hour of data downtime costs."""

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "USD"
    history: tuple[Rates, ...] = Field((), description="Earlier rates, each with its own valid_from.")


class Table(Section):
    """A watched table: who owns it, how much it matters, what is asked of it."""

    name: Annotated[str, MinLen(1)]
    source: str
    table: str | None = Field(None, description="Its name within the source, where that differs.")
    domain: str | None = None
    owner: str | None = None
    tier: str | None = None
    description: str | None = None
    schedule: Schedule | None = Field(None, description="'every 15m' or 'cron: 0 6 * * mon-fri' (project time zone).")
    upstream: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()
    loaded_at: str | None = Field(None, description="The column that says when a row arrived; sharpens the time of occurrence.")
    timezones: dict[str, Zone] = Field({}, description="Zones of naive time columns, by column, where the source's does not hold.")
    checks: tuple[SerializeAsAny[Any], ...] = ()  # each a Check of the catalogue; `load` builds and validates them

    def check_id(self, check: Check) -> str:
        """Give the published id of one of its checks."""
        return f"{self.name}.{check.name}"


class Maintenance(Section):
    """Planned work: its hours are no downtime."""

    tables: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    start: datetime
    end: datetime
    reason: Annotated[str, MinLen(1)]


class Channel(Section):
    """Where alerts go."""

    apprise: str | None = None
    webhook: dict[str, Any] | None = None
    locale: Literal["en", "ja"] | None = None


class Route(Section):
    """Which alerts go where."""

    match: dict[str, str] = {}
    to: tuple[str, ...]
    quiet_hours: str | None = None


class QuietHours(Section):
    """When a channel wants silence."""

    days: Weekdays = Weekdays.parse("mon-sun")
    start: Clock
    end: Clock
    timezone: Zone | None = None
    let_through: tuple[Severity, ...] = ()
    afterwards: Literal["catch-up", "drop"] = "catch-up"


class Alerts(Section):
    """When an incident opens and closes, and who hears of it."""

    open_after: Annotated[int, Ge(1)] = Field(1, description="Failing runs in a row that open an incident.")
    resolve_after: Annotated[int, Ge(1)] = Field(2, description="Passing runs in a row that resolve it.")
    group_wait: Duration = timedelta(minutes=2)
    remind_every: Duration = timedelta(hours=24)
    send_resolved: bool = True
    mute_downstream: bool = True
    channels: dict[str, Channel] = {}
    routes: tuple[Route, ...] = ()
    quiet_hours: dict[str, QuietHours] = {}


class WeeklyReportPlan(Section):
    """When the weekly report is made, in which languages, and who gets it."""

    cron: str = "0 8 * * mon"
    locales: tuple[Literal["en", "ja"], ...] = ("en",)
    to: tuple[str, ...] = ()
    keep: str | None = Field(None, description="Folder that keeps the rendered reports.")


class Report(Section):
    """Reports."""

    weekly: WeeklyReportPlan = WeeklyReportPlan()


class Release(Section):
    """A table that is to be given to somebody. Read and checked here; assessed by a later capability."""

    table: str
    audience: str | None = None
    columns: dict[str, Literal["direct-identifier", "quasi-identifier", "sensitive", "other"]] = {}
    limits: dict[str, float] = {}
    person_key: str | None = None
    legal_basis: str | None = None
    remedies: tuple[dict[str, Any], ...] = ()
    approvers: tuple[str, ...] = ()
    expires_after: Duration | None = None


class Config(Section):
    """The whole configuration."""

    version: Literal[1]
    project: Annotated[str, MinLen(1)]
    timezone: Zone = "UTC"
    locale: Literal["en", "ja"] = "en"
    storage: Storage = Storage()
    sources: Annotated[dict[str, Source], MinLen(1)]
    domains: dict[str, Domain] = {}
    owners: dict[str, Owner] = {}
    cost: Cost = Cost()
    tables: tuple[Table, ...]
    maintenance: tuple[Maintenance, ...] = ()
    releases: dict[str, Release] = {}
    alerts: Alerts = Alerts()
    report: Report = Report()

    def table(self, name: str) -> Table | None:
        """Give a table by name."""
        return next((table for table in self.tables if table.name == name), None)

    def owner_of(self, table: Table) -> str | None:
        """Give who owns a table: its own owner, else its domain's."""
        if table.owner is not None:
            return table.owner
        domain = self.domains.get(table.domain or "")
        return domain.owner if domain else None
