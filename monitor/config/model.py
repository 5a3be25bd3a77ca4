"""The shape of `tablewatch.yaml`: what a person may write, with names, units and defaults.

Everything here is frozen and forbids unknown keys. The kinds of check come from the catalogue of the `checks` room, so
a new check needs no change here.
"""

import codecs
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, Literal, Self, TypeAlias
from zoneinfo import ZoneInfo

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field, SerializeAsAny, field_validator, model_validator

from checks import Check, ColumnClass, moment_of_local_time
from monitor.config.alerts_model import Alerts
from monitor.config.budgets_model import Budget
from monitor.config.release_model import Release, ReleaseName
from monitor.config.scalars import Clock, Cron, Duration, PositiveDuration, Schedule, Section, Weekdays, Zone


class Storage(Section):
    """Where Tablewatch keeps what it knows."""

    url: str = Field(
        "sqlite:///tablewatch.db",
        description="SQLite (a path relative to the folder the command is started in) or PostgreSQL.",
    )
    keep_measurements: PositiveDuration = Field(timedelta(days=90), description="How long measurements are kept.")
    keep_incidents: PositiveDuration = Field(timedelta(days=1095), description="How long incidents are kept.")
    signature_key: Annotated[str, MinLen(16)] | None = Field(
        None,
        description="The secret under which class counts and releases are kept; on SQLite, by default, in a file.",
    )

    ledger_anchor: str | None = Field(
        None,
        description="File that vouches for privacy budgets: by default beside the store, better on another disk.",
    )

    @model_validator(mode="after")
    def _known_engine(self) -> Self:
        if not self.url.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
            raise ValueError("'url' of the storage begins with sqlite:/// or postgresql://")
        return self


OneCharacter: TypeAlias = Annotated[str, MinLen(1), MaxLen(1)]


class CsvFormat(Section):
    """How CSV files are written, where what is read from them is not enough."""

    types: dict[str, str] = Field({}, description="DuckDB type of a column, by its name.")
    delimiter: Annotated[str, MinLen(1)] | None = Field(None, description="What stands between two values.")
    header: bool | None = Field(None, description="Whether the first line holds the names of the columns.")
    null_values: tuple[str, ...] = Field((), description="Texts that mean NULL.")
    encoding: str | None = Field(None, description="Encoding of files without a byte order mark; UTF-8 by default.")
    quote: OneCharacter | None = Field(None, description="The character around cells that hold a delimiter.")
    escape: OneCharacter | None = Field(None, description="The character before a quote within quotes.")
    skip_lines: Annotated[int, Ge(0), Le(1000)] = Field(0, description="Lines above the header.")
    date_format: str | None = Field(None, description="How dates are written, such as '%d/%m/%Y'.")
    timestamp_format: str | None = Field(None, description="How times are written, such as '%d/%m/%Y %H:%M:%S'.")

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, name: str | None) -> str | None:
        if name is not None:
            try:
                codecs.getincrementaldecoder(name)("strict").decode("".encode(name))
            except (LookupError, ValueError):
                examples = "utf-8, utf-16-le, cp1252, latin-1, shift_jis, euc_jp"
                raise ValueError(f"{name!r} is no encoding of text; expected one such as {examples}") from None
        return name


class Source(Section):
    """Where tables live: exactly one of `files`, `url`, `spark`."""

    files: str | None = Field(None, description="A file or glob of CSV or Parquet, relative to the configuration file.")
    url: str | None = Field(None, description="sqlite:///, duckdb:///, postgresql://, or any other Ibis URL.")
    spark: str | None = Field(None, description="A Spark master such as local[2], or a Spark Connect address.")
    table: str | None = Field(None, description="Reads the whole glob as one table of this name.")
    csv: CsvFormat = CsvFormat()
    timezone: Zone | None = Field(None, description="The IANA zone of naive time columns.")
    query_timeout: PositiveDuration = Field(timedelta(seconds=60), description="Most time for one statement.")
    connect_timeout: PositiveDuration = Field(timedelta(seconds=10), description="Most time to connect.")
    lock_timeout: PositiveDuration = Field(timedelta(seconds=5), description="Most time to wait for a lock.")
    run_timeout: PositiveDuration = Field(
        timedelta(minutes=5), description="Most time the daemon gives to one look at a table, all its checks."
    )
    concurrency: Annotated[int, Ge(1), Le(64)] = Field(2, description="Most tables looked at at the same time.")
    memory_limit: Annotated[str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?([KMGT]i?)?B$")] = Field(
        "2GB", description="Most memory DuckDB may use for this source."
    )
    threads: Annotated[int, Ge(1)] | None = Field(None, description="Threads of DuckDB; by default one per core.")
    expectation_rows: Annotated[int, Ge(1)] = Field(
        1_000_000, description="Most rows given to a Great Expectations expectation as a frame."
    )

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

    owner: str | None = Field(None, description="Who answers for its tables; one of `owners`.")
    title: str | None = Field(None, description="Its name in reports.")


class Owner(Section):
    """Who answers for tables."""

    name: str | None = Field(None, description="Their name in reports.")
    email: Annotated[str, Field(pattern="^[^@ ]+@[^@ ]+$")] | None = Field(None, description="Their address.")
    channel: str | None = Field(None, description="Where alerts reach them; one of `alerts.channels`.")


class Rate(Section):
    """Business loss for each hour of data downtime."""

    per_hour: Annotated[Decimal, Ge(0)] = Field(description="In the currency of `cost`.")


class Role(Section):
    """People who cannot do their work, or who repair, while data is down."""

    role: str = Field(description="Who they are, such as analyst; for readers of this file.")
    headcount: Annotated[Decimal, Ge(0)] = Field(description="How many of them.")
    hourly: Annotated[Decimal, Ge(0)] = Field(description="What an hour of one of them costs.")
    share: Annotated[Decimal, Ge(0), Le(1)] = Field(description="Share of the downtime spent on it, 0 to 1.")


class BusinessHours(Section):
    """Hours that cost in full; outside them the cost is multiplied by `outside_factor`."""

    days: Weekdays = Weekdays.parse("mon-fri")
    start: Clock
    end: Clock
    outside_factor: Annotated[Decimal, Ge(0), Le(1)] = Field(Decimal(0), description="What counts outside, 0 to 1.")
    timezone: Zone | None = Field(None, description="Its wall clock; by default the project's.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start >= self.end:
            raise ValueError("'end' of the business hours comes after 'start', on the same day")
        return self


class Rates(Section):
    """Rates that are valid from a day on."""

    valid_from: date | None = Field(
        None, description="First day (project time zone) on which these rates hold; earlier hours have no price."
    )
    tiers: dict[str, Rate] = Field({}, description="What the tables of a tier cost.")
    tables: dict[str, Rate] = Field({}, description="What single tables cost, in place of their tier.")
    roles: tuple[Role, ...] = Field((), description="Who is held up, added to every table.")
    business_hours: BusinessHours | None = Field(None, description="Without it, every hour costs in full.")
    note: str | None = Field(None, description="Where the rates come from.")


class Cost(Rates):
    """What an hour of data downtime costs."""

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = Field("USD", description="ISO 4217, for all amounts.")
    history: tuple[Rates, ...] = Field((), description="Earlier rates, each with its own valid_from.")

    @model_validator(mode="after")
    def _dated(self) -> Self:
        if not self.history:
            return self
        days = [self.valid_from, *(rates.valid_from for rates in self.history)]
        if None in days:
            raise ValueError("with 'history', every set of rates has 'valid_from', the newest one too")
        if len(set(days)) < len(days):
            raise ValueError("'history' has two sets of rates with the same 'valid_from'")
        return self


class Table(Section):
    """A watched table: who owns it, how much it matters, what is asked of it."""

    name: Annotated[str, MinLen(1)] = Field(description="A dotted name is schema.table.")
    source: str = Field(description="One of `sources`.")
    table: str | None = Field(None, description="Its name within the source, where that differs.")
    domain: str | None = Field(None, description="One of `domains`.")
    owner: str | None = Field(None, description="One of `owners`; by default the domain's.")
    tier: str | None = Field(None, description="How much it matters; priced in `cost.tiers`.")
    description: str | None = Field(None, description="What it holds.")
    schedule: Schedule | None = Field(None, description="'every 15m' or 'cron: 0 6 * * mon-fri'.")
    schedule_timezone: Zone | None = Field(None, description="The wall clock of a cron line; by default the project's.")
    upstream: tuple[str, ...] = Field((), description="Tables that it is made from.")
    consumers: tuple[str, ...] = Field((), description="Who or what reads it, for people.")
    loaded_at: str | None = Field(
        None, description="The column that says when a row arrived; sharpens the time of occurrence."
    )
    timezones: dict[str, Zone] = Field(
        {}, description="Zones of naive time columns, by column, where the source's does not hold."
    )
    columns: dict[str, ColumnClass] = Field(
        {}, description="What columns say of persons; a check that needs quasi-identifiers finds them here."
    )
    checks: tuple[SerializeAsAny[Any], ...] = ()  # each a Check of the catalogue; `load` builds them beforehand

    def check_id(self, check: Check) -> str:
        """Return the published id of one of its checks."""
        return f"{self.name}.{check.name}"


class Maintenance(Section):
    """Planned work: its hours are no downtime. Without `tables` and `domains` it is about every table."""

    tables: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    start: datetime = Field(description="When it begins; without an offset, by the project's wall clock.")
    end: datetime = Field(description="When it ends; without an offset, by the project's wall clock.")
    reason: Annotated[str, MinLen(1)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (self.start.tzinfo is None) != (self.end.tzinfo is None):
            raise ValueError("'start' and 'end' both have an offset such as +09:00, or neither has")
        if self.start >= self.end:
            raise ValueError("'end' of the maintenance comes after its 'start'")
        return self

    def span(self, zone: str) -> tuple[datetime, datetime]:
        """Return its beginning and end in UTC; `zone` is the project's."""
        start, end = (
            moment.astimezone(UTC) if moment.tzinfo is not None else moment_of_local_time(moment, ZoneInfo(zone))
            for moment in (self.start, self.end)
        )
        return start, end

    def concerns(self, table: str, domain: str | None) -> bool:
        """Check whether it is about a table, named or by its domain."""
        everything = not self.tables and not self.domains
        return everything or table in self.tables or (domain is not None and domain in self.domains)


class WeeklyReportPlan(Section):
    """When the weekly report is made, in which languages, and who gets it."""

    cron: Cron = Field(Schedule.parse("cron: 0 8 * * mon"), description="When it is made (project time zone).")
    locales: tuple[Literal["en", "ja"], ...] = ("en",)
    to: tuple[str, ...] = ()
    keep: str | None = Field(None, description="Folder that keeps the rendered reports.")


class Report(Section):
    """Reports."""

    weekly: WeeklyReportPlan = WeeklyReportPlan()


class Daemon(Section):
    """How `tablewatch run` works."""

    workers: Annotated[int, Ge(1), Le(64)] = Field(4, description="Processes that look at tables.")
    catch_up: Literal["latest", "all", "none"] = Field(
        "latest", description="Which of the slots that were missed are run late: the newest, each (up to 100), none."
    )
    jitter: Duration = Field(
        timedelta(seconds=30), description="Tables start up to so much (at most a tenth of their period) after a slot."
    )
    heartbeat_url: Annotated[str, Field(pattern="^https?://")] | None = Field(
        None, description="Called once a minute while all is well (Healthchecks-compatible)."
    )
    metrics: Annotated[str, Field(pattern="^(off|[^ :]+:[0-9]{1,5}|\\[[0-9a-fA-F:]+\\]:[0-9]{1,5})$")] = Field(
        "127.0.0.1:9464", description="Address on which Prometheus finds /metrics, or off."
    )


class Config(Section):
    """The whole configuration."""

    version: Literal[1]
    project: Annotated[str, MinLen(1)]
    timezone: Zone = Field("UTC", description="Every wall clock in this file and in the reports.")
    locale: Literal["en", "ja"] = Field("en", description="Default language of alerts and reports.")
    storage: Storage = Storage()
    sources: Annotated[dict[str, Source], MinLen(1)]
    domains: dict[str, Domain] = {}
    owners: dict[str, Owner] = {}
    cost: Cost = Cost()
    tables: tuple[Table, ...]
    maintenance: tuple[Maintenance, ...] = ()
    releases: dict[ReleaseName, Release] = {}
    budgets: dict[str, Budget] = Field({}, description="Table: what noisy answers about it may cost, and be about.")
    alerts: Alerts = Alerts()
    report: Report = Report()
    daemon: Daemon = Daemon()

    def table(self, name: str) -> Table | None:
        """Return a table by name."""
        return self._named.get(name)

    def owner_of(self, table: Table) -> str | None:
        """Return who owns a table: its own owner, else its domain's."""
        if table.owner is not None:
            return table.owner
        domain = self.domains.get(table.domain or "")
        return domain.owner if domain else None

    @cached_property
    def fed_by(self) -> Mapping[str, tuple[str, ...]]:
        """Return which tables each table feeds directly, in their order; those that feed none are left out."""
        feeds: dict[str, tuple[str, ...]] = {}
        for table in self.tables:
            for name in table.upstream:
                feeds[name] = (*feeds.get(name, ()), table.name)
        return feeds

    @cached_property
    def _named(self) -> dict[str, Table]:
        return {table.name: table for table in self.tables}
