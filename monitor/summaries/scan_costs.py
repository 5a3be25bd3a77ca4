"""What checks cost their sources: the runs of a table in the last seven days, in one sentence and as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Final, Self
from zoneinfo import ZoneInfo

from checks import format_duration
from monitor.config.project import Project
from monitor.summaries.shapes import Shape
from store import ReadTransaction, Spending

LAST_DAYS: Final = 7


def today(project: Project, now: datetime) -> date:
    """Return the day of a moment in the project's time zone: what runs cost counts by such days."""
    return now.astimezone(ZoneInfo(project.config.timezone)).date()


def first_day(project: Project, now: datetime) -> date:
    """Return the first of the last days that figures are about; today is the last of them."""
    return today(project, now) - timedelta(days=LAST_DAYS - 1)


@dataclass(frozen=True, slots=True)
class ScanCostLine:
    """What the runs of one table on its source cost together."""

    source: str
    table: str
    spending: Spending


@dataclass(frozen=True, slots=True)
class ScanCosts:
    """What checks cost their sources: `whole`, the costliest tables by seconds, and how many `more` there are."""

    whole: Spending = field(default_factory=Spending)
    tables: tuple[ScanCostLine, ...] = ()
    more: int = 0

    @classmethod
    def of(cls, by_table: Mapping[tuple[str, str], Spending], *, most: int) -> Self:
        """Return them of spendings by source and table."""
        lines = [ScanCostLine(*name, spending) for name, spending in by_table.items()]
        lines.sort(key=lambda line: (-line.spending.seconds, line.source, line.table))
        return cls(sum(by_table.values(), Spending()), tuple(lines[:most]), max(0, len(lines) - most))


@dataclass(frozen=True, slots=True)
class TableCost:
    """What the runs of a table cost today and in the last seven days, by the project's days.

    `unread_since`: when the table was read last, if it did not change since and its schedule lets it alone then.
    """

    today: Spending
    recent: Spending
    unread_since: datetime | None = None

    @classmethod
    def of(cls, project: Project, tx: ReadTransaction, table: str, now: datetime) -> Self:
        """Read the store."""
        days = tx.costs.of_table(table, first_day(project, now), today(project, now))
        configured = project.config.table(table)
        schedule = None if configured is None else configured.schedule
        spares = schedule is not None and schedule.full_every is not None
        unread_since = tx.costs.unread_since(table) if spares else None
        return cls(days.get(today(project, now), Spending()), sum(days.values(), Spending()), unread_since)


class SpendingPart(Shape):
    """The cost of runs in the source, as its engine reports it: null is unknown."""

    runs: int
    seconds: float
    rows_read: int | None
    bytes_read: int | None

    @classmethod
    def of(cls, spending: Spending, **more: Any) -> Self:
        """Return a spending as a model; `more`: the fields that a wider model adds."""
        volume = spending.volume
        return cls(
            runs=spending.runs,
            seconds=round(spending.seconds, 6),
            rows_read=volume.rows,
            bytes_read=volume.bytes,
            **more,
        )


class TableSpending(SpendingPart):
    """The cost of the runs of a table."""

    source: str
    table: str


class ScanCostList(Shape):
    """The cost of all runs, and of the costliest tables; `more` counts the others."""

    whole: SpendingPart
    shown: tuple[TableSpending, ...]
    more: int

    @classmethod
    def of(cls, costs: ScanCosts) -> Self:
        """Return costs as a model."""
        lines = (TableSpending.of(line.spending, source=line.source, table=line.table) for line in costs.tables)
        return cls(whole=SpendingPart.of(costs.whole), shown=tuple(lines), more=costs.more)


class ScanCostPart(Shape):
    """The cost of the runs of a table today and in the last seven days, by days of the project."""

    today: SpendingPart
    last_7_days: SpendingPart
    unread_since: datetime | None

    @classmethod
    def of(cls, cost: TableCost) -> Self:
        """Return costs as a model."""
        days = {"today": SpendingPart.of(cost.today), "last_7_days": SpendingPart.of(cost.recent)}
        return cls(**days, unread_since=cost.unread_since)


def format_spending(spending: Spending) -> str:
    """Return it as a part of a sentence."""
    if not spending.runs:
        return "no runs"
    parts = [
        "1 run" if spending.runs == 1 else f"{spending.runs:,} runs",
        f"{_seconds(spending.seconds)} in the engine",
    ]
    if spending.volume.rows is not None:
        parts.append(f"{spending.volume.rows:,} rows read")
    if spending.volume.bytes is not None:
        parts.append(f"{format_bytes(spending.volume.bytes)} read")
    return ", ".join(parts)


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else format_duration(seconds)


def format_bytes(number: int) -> str:
    """Return a number of bytes for a person."""
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number} B"
