"""The shape of what the daemon does: `daemon`, `storage`, `maintenance`, `report`, `openlineage`, limits, new rows."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, Self
from zoneinfo import ZoneInfo

from annotated_types import Ge, Le, MinLen
from pydantic import Field, model_validator

from checks import moment_of_local_time, within_calendar
from monitor.config.scalars import Cron, Duration, PositiveDuration, Schedule, Section


class ReportRecipients(Section):
    """Recipients of a report."""

    to: tuple[str, ...] = ()
    keep: str | None = Field(None, description="Folder where rendered reports are saved.")


class ReportPlan(ReportRecipients):
    """Schedule, languages and recipients of a report."""

    cron: Cron
    locales: tuple[Literal["en", "ja"], ...] = ("en",)
    domains: dict[str, ReportRecipients] = Field({}, description="Who gets the report of a domain, by its name.")
    owners: dict[str, ReportRecipients] = Field({}, description="Who gets the report of an owner, by its key.")
    products: dict[str, ReportRecipients] = Field({}, description="Who gets the report of a data product, by its name.")

    @property
    def of_parts(self) -> Mapping[str, Mapping[str, ReportRecipients]]:
        """Return who gets the report of which domain, owner or product, by that word and by key."""
        return {"domain": self.domains, "owner": self.owners, "product": self.products}


_GENERATED: Final = "When it is generated (project time zone), by default at 8:00 on the day after its period."


class WeeklyReportPlan(ReportPlan):
    """Schedule, languages and recipients of the weekly report."""

    cron: Cron = Field(Schedule.parse("cron: 0 8 * * mon"), description=_GENERATED)


class MonthlyReportPlan(ReportPlan):
    """Schedule, languages and recipients of the report of each month or quarter."""

    cron: Cron = Field(Schedule.parse("cron: 0 8 1 * *"), description=_GENERATED)


class QuarterlyReportPlan(ReportPlan):
    """Schedule, languages and recipients of the report of each month or quarter."""

    cron: Cron = Field(Schedule.parse("cron: 0 8 1 1,4,7,10 *"), description=_GENERATED)


class ReportPlans(Section):
    """Reports."""

    weekly: WeeklyReportPlan = WeeklyReportPlan()
    monthly: MonthlyReportPlan = MonthlyReportPlan()
    quarterly: QuarterlyReportPlan = QuarterlyReportPlan()

    @property
    def by_frequency(self) -> Mapping[str, ReportPlan]:
        """Return the plans by name."""
        return {"weekly": self.weekly, "monthly": self.monthly, "quarterly": self.quarterly}


class Daemon(Section):
    """Settings of `tablewatch run`."""

    workers: Annotated[int, Ge(1), Le(64)] = Field(4, description="Number of worker processes.")
    catch_up: Literal["latest", "all", "none"] = Field(
        "latest", description="Catch-up of missed runs: the newest, all (up to 100), none."
    )
    jitter: Duration = Field(
        timedelta(seconds=30), description="Random start delay after a scheduled time (at most a tenth of the period)."
    )
    heartbeat_url: Annotated[str, Field(pattern="^https?://")] | None = Field(
        None, description="Heartbeat URL, called once a minute while healthy (Healthchecks-compatible)."
    )
    metrics: Annotated[str, Field(pattern="^(off|[^ :]+:[0-9]{1,5}|\\[[0-9a-fA-F:]+\\]:[0-9]{1,5})$")] = Field(
        "127.0.0.1:9464", description="Listen address of the Prometheus /metrics endpoint, or off."
    )


class OpenLineage(Section):
    """The OpenLineage endpoint to which `tablewatch run` sends the events of its runs."""

    url: Annotated[str, Field(pattern="^https?://")] = Field(
        description="Address that takes events: http://127.0.0.1:5000/api/v1/lineage."
    )
    token: str | None = Field(None, description="Bearer token.")
    allow_private: bool = Field(default=False, description="Whether the address may lie in a private network.")

    @model_validator(mode="after")
    def _keeps_its_token(self) -> Self:
        from monitor.channels.json_service import sends_in_the_clear

        problem = None if self.token is None else sends_in_the_clear(self.url)
        if problem is not None:
            raise ValueError(problem)
        return self


class DailyLimit(Section):
    """The daily limit of a source for scheduled checks, by the project's time zone; critical ones are never delayed."""

    seconds: Annotated[int, Ge(1)] | None = Field(None, description="Seconds that statements take.")
    rows: Annotated[int, Ge(1)] | None = Field(None, description="Rows read, where the engine tells.")
    bytes: Annotated[int, Ge(1)] | None = Field(None, description="Bytes read, where the engine tells.")

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.seconds is None and self.rows is None and self.bytes is None:
            raise ValueError("a daily limit has at least one of seconds, rows, bytes; seen: none")
        return self


class Incremental(Section):
    """Read new rows only, for the checks that add up over rows; the outcome is still that of the whole table."""

    column: str = Field(description="Column with the load time or date of a row, which says which rows are new.")
    lookback: PositiveDuration = Field(
        timedelta(days=3), description="How far behind the newest value rows may still change."
    )
    full: Literal["daily", "weekly", "monthly"] = Field(
        "weekly", description="How often all rows are read, which finds changes before the lookback."
    )


class Storage(Section):
    """Store of Tablewatch."""

    url: str = Field(
        "sqlite:///tablewatch.db",
        description="SQLite (relative to the working directory; by default beside the configuration) or PostgreSQL.",
    )
    keep_measurements: PositiveDuration = Field(timedelta(days=100), description="Retention of measurements.")
    keep_incidents: PositiveDuration = Field(timedelta(days=1095), description="Retention of incidents.")
    signature_key: Annotated[str, MinLen(16)] | None = Field(
        None,
        description="Secret key for stored class counts and releases (hex:... is that of a key file); on SQLite, by "
        "default, in a file.",
    )
    ledger_anchor: str | None = Field(
        None,
        description="Anchor file of the privacy budget ledger: by default beside the store, better on another disk.",
    )

    @model_validator(mode="after")
    def _known_engine(self) -> Self:
        if not self.url.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
            raise ValueError("'url' of the storage begins with sqlite:/// or postgresql://")
        return self


class Maintenance(Section):
    """Planned maintenance, excluded from downtime. Without `tables` and `domains` it applies to every table."""

    tables: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    start: datetime = Field(description="Start; without an offset, in the project's time zone.")
    end: datetime = Field(description="End; without an offset, in the project's time zone.")
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
            within_calendar(moment) if moment.tzinfo is not None else moment_of_local_time(moment, ZoneInfo(zone))
            for moment in (self.start, self.end)
        )
        return start, end

    def concerns(self, table: str, domain: str | None) -> bool:
        """Check whether it is about a table, named or by its domain."""
        everything = not self.tables and not self.domains
        return everything or table in self.tables or (domain is not None and domain in self.domains)
