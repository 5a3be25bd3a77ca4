"""The shape of `tablewatch.yaml`: what a person may write, with names, units and defaults.

Everything here is frozen and forbids unknown keys. The kinds of check come from the catalogue of `checks`, so
a new check needs no change here.
"""

import codecs
import re
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import AfterValidator, Field, SerializeAsAny, field_validator, model_validator

from checks import Check, ColumnClass
from monitor.config.alerts_model import Alerts, IncidentRules, Slo
from monitor.config.daemon_model import (
    Daemon,
    DailyLimit,
    Incremental,
    Maintenance,
    OpenLineage,
    ReportPlans,
    Storage,
)
from monitor.config.lineage import Lineage
from monitor.config.scalars import (
    Clock,
    Deferred,
    Duration,
    LateSection,
    PositiveDuration,
    Schedule,
    Section,
    ShortName,
    Weekdays,
    Zone,
)
from monitor.config.web_model import Web

if TYPE_CHECKING:
    from monitor.config.budgets_model import Budget
    from monitor.config.contracts_model import Contract, Product
    from monitor.config.release_model import Release
    from monitor.config.rules_model import Rule
    from monitor.config.teams_model import Team
else:
    Budget = Annotated[Any, Deferred("monitor.config.budgets_model", "Budget")]
    Contract = Annotated[Any, Deferred("monitor.config.contracts_model", "Contract")]
    Product = Annotated[Any, Deferred("monitor.config.contracts_model", "Product")]
    Release = Annotated[Any, Deferred("monitor.config.release_model", "Release")]
    Rule = Annotated[Any, Deferred("monitor.config.rules_model", "Rule")]
    Team = Annotated[Any, Deferred("monitor.config.teams_model", "Team")]


OneCharacter: TypeAlias = Annotated[str, MinLen(1), MaxLen(1)]


class CsvFormat(Section):
    """CSV format, where it cannot be detected."""

    types: dict[str, str] = Field({}, description="DuckDB type of a column, by its name.")
    delimiter: Annotated[str, MinLen(1)] | None = Field(None, description="Delimiter.")
    header: bool | None = Field(None, description="Whether the first line is a header.")
    null_values: tuple[str, ...] = Field((), description="Texts read as NULL.")
    encoding: str | None = Field(None, description="Encoding of files without a byte order mark; UTF-8 by default.")
    quote: OneCharacter | None = Field(None, description="Quote character.")
    escape: OneCharacter | None = Field(None, description="Escape character for quotes within quotes.")
    skip_lines: Annotated[int, Ge(0), Le(1000)] = Field(0, description="Number of lines to skip before the header.")
    date_format: str | None = Field(None, description="Date format, such as '%d/%m/%Y'.")
    timestamp_format: str | None = Field(None, description="Timestamp format, such as '%d/%m/%Y %H:%M:%S'.")
    strict: bool = Field(default=True, description="Whether a row of another length is an error; else it is marked.")

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, name: str | None) -> str | None:
        if name is not None:
            try:
                codecs.getincrementaldecoder(name)("strict").decode("".encode(name))
            except (LookupError, ValueError):
                examples = "utf-8, utf-16-le, cp1252, latin-1, shift_jis, euc_jp"
                raise ValueError(f"{name!r} is not a text encoding; expected one such as {examples}") from None
        return name


def _names_a_period(form: str) -> str:
    parts = re.findall("%(.?)", form)
    if "Y" not in parts or len(parts) != len(set(parts)) or not set(parts) <= set("YmdH"):
        raise ValueError(f"a name with %Y, and %m, %d and %H where it has them, each once; not {form!r}")
    return form


class FileTimesFormat(Section):
    """Arrival of the files of a table with one file for each period."""

    name: Annotated[str, AfterValidator(_names_a_period)] = Field(
        description="Name of a file without its ending, with the begin of its period, such as 'orders-%Y-%m-%d'."
    )
    after: Duration = Field(description="Time from the begin of the period to the arrival of its file, such as 26h.")


class IcebergSource(Section):
    """A catalogue of Iceberg tables."""

    catalog: str = Field("default", description="Name of the catalogue, also in pyiceberg's own configuration.")
    uri: str | None = Field(None, description="Its address, such as sqlite:///FILE; else pyiceberg's configuration.")
    namespace: str | None = Field(None, description="Only its tables are read, and need no namespace in their names.")


class DbtRuns(Section):
    """Options of dbt runs whose results count; of others they are unknown. Options that are not named may vary."""

    target: str | None = Field(None, description="`--target`, as it is given to dbt; null where it is not given.")
    vars: dict[str, Any] = Field({}, description="`--vars`.")
    defer: bool = Field(default=False, description="`--defer`.")
    favor_state: bool = Field(default=False, description="`--favor-state`.")


class Source(Section):
    """A data source: exactly one of `files`, `delta`, `iceberg`, `url`, `spark`, `external`."""

    files: str | None = Field(None, description="A file or glob of CSV or Parquet, relative to the configuration file.")
    delta: str | None = Field(None, description="A folder or glob of Delta tables, or the address of one.")
    iceberg: IcebergSource | None = Field(None, description="A catalogue of Iceberg tables.")
    url: str | None = Field(None, description="sqlite:///, duckdb:///, postgresql://, or any other Ibis URL.")
    spark: str | None = Field(None, description="A Spark master such as local[2], or a Spark Connect address.")
    external: Literal[True] | None = Field(
        None, description="Nothing is read: other tools evaluate all checks of its tables."
    )
    table: str | None = Field(None, description="Reads the whole glob as one table of this name.")
    csv: CsvFormat = CsvFormat()
    file_times: FileTimesFormat | None = Field(
        None, description="The files are one for each period; the table gets a column `file_time`, for `loaded_at`."
    )
    timezone: Zone | None = Field(None, description="The IANA zone of naive time columns.")
    query_timeout: PositiveDuration = Field(timedelta(seconds=60), description="Timeout of a statement.")
    connect_timeout: PositiveDuration = Field(timedelta(seconds=10), description="Timeout of a connection attempt.")
    lock_timeout: PositiveDuration = Field(timedelta(seconds=5), description="Timeout of waiting for a lock.")
    run_timeout: PositiveDuration = Field(
        timedelta(minutes=5), description="Timeout of a daemon run of a table, all its checks."
    )
    concurrency: Annotated[int, Ge(1), Le(64)] = Field(2, description="Maximum number of tables checked concurrently.")
    memory_limit: Annotated[str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?([KMGT]i?)?B$")] = Field(
        "2GB", description="Memory limit of DuckDB for this source."
    )
    threads: Annotated[int, Ge(1)] | None = Field(None, description="Threads of DuckDB; by default one per core.")
    expectation_rows: Annotated[int, Ge(1)] = Field(
        1_000_000, description="Maximum rows passed to a Great Expectations expectation as a data frame."
    )

    dbt: DbtRuns | None = Field(None, description="Options of the dbt runs whose results count.")
    daily_limit: DailyLimit | None = Field(
        None, description="What scheduled checks may cost in a day; beyond it those of lower severity are delayed."
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        names = ("files", "delta", "iceberg", "url", "spark", "external")
        places = [name for name in names if getattr(self, name) is not None]
        if len(places) != 1:
            raise ValueError(f"a source has exactly one of {', '.join(names)}; seen: {', '.join(places) or 'none'}")
        if self.files is None and (self.table is not None or self.csv != CsvFormat()):
            raise ValueError("'table' and 'csv' go with 'files' only")
        if self.file_times is not None and self.table is None:
            raise ValueError("'file_times' goes with 'files' and 'table', which reads the files as one table")
        return self


class Domain(Section):
    """A business domain that owns tables (data mesh)."""

    owner: str | None = Field(None, description="Owner of its tables; one of `owners`.")
    title: str | None = Field(None, description="Its name in reports.")


class Owner(Section):
    """Owner of tables."""

    name: str | None = Field(None, description="Their name in reports.")
    email: Annotated[str, Field(pattern="^[^@ ]+@[^@ ]+$")] | None = Field(None, description="Their address.")
    channel: str | None = Field(None, description="Channel for their alerts; one of `alerts.channels`.")


class Rate(Section):
    """Business loss for each hour of data downtime."""

    per_hour: Annotated[Decimal, Ge(0)] = Field(description="In the currency of `cost`.")


class Role(Section):
    """People blocked by data downtime or working on its resolution."""

    role: str = Field(description="Description of the role, such as analyst.")
    headcount: Annotated[Decimal, Ge(0)] = Field(description="Headcount.")
    hourly: Annotated[Decimal, Ge(0)] = Field(description="Hourly cost per person.")
    share: Annotated[Decimal, Ge(0), Le(1)] = Field(description="Share of the downtime spent on it, 0 to 1.")


class BusinessHours(Section):
    """Hours charged in full; outside them the cost is multiplied by `outside_factor`."""

    days: Weekdays = Weekdays.parse("mon-fri")
    start: Clock
    end: Clock
    outside_factor: Annotated[Decimal, Ge(0), Le(1)] = Field(
        Decimal(0), description="Cost factor outside business hours, 0 to 1."
    )
    timezone: Zone | None = Field(None, description="Time zone; by default the project's.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start >= self.end:
            raise ValueError("'end' of the business hours comes after 'start', on the same day")
        return self


class Rates(Section):
    """Rates valid from a date on."""

    valid_from: date | None = Field(
        None, description="First day (project time zone) on which these rates apply; earlier hours have no cost."
    )
    tiers: dict[str, Rate] = Field({}, description="Hourly cost by tier.")
    tables: dict[str, Rate] = Field({}, description="Hourly cost of single tables, overriding their tier.")
    roles: tuple[Role, ...] = Field((), description="Roles affected by downtime, added to every table.")
    business_hours: BusinessHours | None = Field(None, description="Without it, every hour is charged in full.")
    note: str | None = Field(None, description="Source of the rates.")


class Cost(Rates):
    """Cost of an hour of data downtime."""

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


class NamedTable(LateSection):
    """How a table is named."""

    name: Annotated[str, MinLen(1), Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")] = Field(
        description="A dotted name is schema.table; it has no control characters, which `table` may have."
    )
    source: str = Field(description="One of `sources`.")
    table: str | None = Field(None, description="Its name within the source, where that differs.")


class Consumer(Section):
    """A dashboard, a report, an application or another use of a table."""

    name: Annotated[str, MinLen(1)] = Field(description="Its name.")
    type: str | None = Field(None, description="What it is, such as dashboard, notebook, application.")
    owner: str | None = Field(None, description="Who answers for it: one of `owners`, a name or an address.")
    url: Annotated[str, Field(pattern="^https?://[^\\s]+$")] | None = Field(None, description="Where it is.")
    columns: tuple[str, ...] = Field((), description="Columns of the table that it uses; by default all.")

    def __str__(self) -> str:
        return self.name


class SharedSettings(LateSection):
    """What may hold for a table, or for all tables of a pattern."""

    domain: str | None = Field(None, description="One of `domains`.")
    owner: str | None = Field(None, description="One of `owners`; by default the domain's.")
    tier: str | None = Field(None, description="Tier of the table; its cost is in `cost.tiers`.")
    description: str | None = Field(None, description="Description of the table.")
    schedule: Schedule | None = Field(
        None, description="'every 15m' or 'cron: 0 6 * * mon-fri', each also with 'when data changes'."
    )
    schedule_timezone: Zone | None = Field(None, description="Time zone of cron schedules; by default the project's.")
    upstream: tuple[str, ...] = Field((), description="Upstream tables.")
    upstream_columns: dict[str, dict[str, tuple[str, ...]]] = Field(
        {},
        description="Lineage of columns: for an upstream table, which of its columns each column here is made from; "
        "'*' as a column is every one, for filters and joins.",
    )
    consumers: tuple[str | Consumer, ...] = Field((), description="Uses of the table: names, or what is known of them.")
    slo: Slo | None = Field(None, description="Service levels of the table.")
    loaded_at: str | None = Field(
        None, description="Column with the load time of a row; makes the occurrence time of incidents more precise."
    )


class Table(SharedSettings, NamedTable):
    """A monitored table: owner, tier, schedule and checks."""

    incremental: Incremental | None = Field(
        None, description="Read only new rows for the checks that add up over rows; by default all rows are read."
    )
    timezones: dict[str, Zone] = Field(
        {}, description="Time zones of naive time columns, by column, overriding the source's."
    )
    columns: dict[str, ColumnClass] = Field(
        {}, description="Column classification; used by disclosure checks to find quasi-identifiers."
    )
    checks: tuple[SerializeAsAny[Any], ...] = ()  # each a Check of the catalogue; `load` builds them beforehand

    def check_id(self, check: Check) -> str:
        """Return the published id of one of its checks."""
        return f"{self.name}.{check.name}"

    def check(self, check_id: str | None) -> Check | None:
        """Return its check of a published id; None if it has none."""
        return next((check for check in self.checks if self.check_id(check) == check_id), None)

    @property
    def own_checks(self) -> tuple[Check, ...]:
        """Return the checks that a pass evaluates; results of the others are imported."""
        return tuple(check for check in self.checks if check.results_every is None)

    def period_of(self, check: Check) -> timedelta | None:
        """Return the longest time between two results of one of its checks; None if nothing says when it runs."""
        if check.results_every is not None:
            return check.results_every
        return self.schedule.longest_period() if self.schedule is not None else None


class Config(LateSection):
    """The configuration."""

    version: Literal[1]
    project: Annotated[str, MinLen(1)]
    timezone: Zone = Field("UTC", description="Time zone of this file and of reports.")
    locale: Literal["en", "ja"] = Field("en", description="Default language of alerts and reports.")
    storage: Storage = Storage()
    sources: Annotated[dict[str, Source], MinLen(1)]
    domains: dict[str, Domain] = {}
    owners: dict[str, Owner] = {}
    ownership: dict[str, str] = Field({}, description="Owners of tables by pattern; the last match counts.")
    cost: Cost = Cost()
    tables: tuple[Table, ...]
    maintenance: tuple[Maintenance, ...] = ()
    releases: dict[ShortName, Release] = {}
    budgets: dict[str, Budget] = Field({}, description="Privacy budgets by table.")
    contracts: dict[ShortName, Contract] = Field({}, description="Service levels promised for tables, by name.")
    slo: dict[str, Slo] = Field({}, description="Service levels of each table, by tier:, domain:, owner: or name.")
    products: dict[ShortName, Product] = Field({}, description="Data products: tables that are offered together.")
    incidents: IncidentRules = IncidentRules()
    teams: dict[ShortName, Team] = Field({}, description="Teams that keep a part of it in folders of their own.")
    rules: dict[ShortName, Rule] = Field({}, description="What `config test` requires of the configuration.")
    alerts: Alerts = Alerts()
    report: ReportPlans = ReportPlans()
    daemon: Daemon = Daemon()
    web: Web = Web()
    openlineage: OpenLineage | None = Field(None, description="An API of OpenLineage that is sent each run.")

    def table(self, name: str) -> Table | None:
        """Return a table by name."""
        return self._named.get(name)

    def tables_in(self, domain: str) -> tuple[str, ...]:
        """Return the names of the tables of a domain."""
        return tuple(table.name for table in self.tables if table.domain == domain)

    def owner_of(self, table: Table) -> str | None:
        """Return who owns a table: its own owner, else that of the last match of `ownership`, else its domain's."""
        if table.owner is not None:
            return table.owner
        for pattern, owner in reversed(self.ownership.items()):
            if fnmatchcase(table.name, pattern):
                return owner
        domain = self.domains.get(table.domain or "")
        return domain.owner if domain else None

    @cached_property
    def owner_names(self) -> Mapping[str, str]:
        """Return the name of each owner as readers see it; its key is added where several have that name."""
        names = {key: owner.name or key for key, owner in self.owners.items()}
        count = Counter(names.values())
        return {key: name if count[name] == 1 else f"{name} ({key})" for key, name in names.items()}

    def owner_name(self, owner: str | None) -> str | None:
        """Return the name of an owner as readers see it."""
        return self.owner_names.get(owner or "", owner)

    @cached_property
    def lineage(self) -> Lineage:
        """Return what feeds what."""
        return Lineage(
            {table.name: table.upstream for table in self.tables if table.upstream},
            {table.name: table.upstream_columns for table in self.tables if table.upstream_columns},
        )

    @cached_property
    def product_tables(self) -> Mapping[str, tuple[str, ...]]:
        """Return the tables of each product, in the order of the configuration; none is empty once it was loaded."""
        if not self.products:
            return {}
        from monitor.config.selector import select  # few files have products

        return {name: tuple(select(product.tables, self).tables) for name, product in self.products.items()}

    def products_of(self, table: str) -> tuple[str, ...]:
        """Return the products that a table is in."""
        return self._products_by_table.get(table, ())

    def consumers_of(self, table: str) -> tuple[Consumer, ...]:
        """Return what uses a table, by its own entry and by those of its products; each name once."""
        configured = self.table(table)
        own = () if configured is None else configured.consumers
        products = [self.products[name].consumers for name in self.products_of(table)]
        uses: dict[str, Consumer] = {}
        for entry in (*own, *(name for names in products for name in names)):
            use = entry if isinstance(entry, Consumer) else Consumer(name=entry)
            uses.setdefault(use.name, use)
        return tuple(uses.values())

    @cached_property
    def _products_by_table(self) -> Mapping[str, tuple[str, ...]]:
        products: dict[str, tuple[str, ...]] = {}
        for name, tables in self.product_tables.items():
            products |= {table: (*products.get(table, ()), name) for table in tables}
        return products

    @cached_property
    def _named(self) -> dict[str, Table]:
        return {table.name: table for table in self.tables}
