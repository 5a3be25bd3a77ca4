"""Apply the daily limits of sources: decide which due tables are delayed in favour of others.

    spent today + what runs now + this run + what tables of higher severity still need today  <=  the limit

Everything is read from the store inside the transaction that claims, which no other daemon writes beside: so daemons
that share a store keep a limit together. A table has the highest severity of its checks. Critical ones are never
delayed, and what they spend counts.

No table waits for ever: one that was delayed since an earlier day needs only to fit beside what was spent, what it
needs is kept for it as for a higher severity, and who waits longest comes first. When it has waited for a whole day
it is run while anything is left: else one that is expected to cost more than the limit, maybe since it was stopped
once at its deadline, would never show that it costs less.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Self
from zoneinfo import ZoneInfo

from checks import Severity, moment_of_local_time
from monitor.config.daemon_model import DailyLimit
from monitor.config.project import Project
from monitor.daemon.timetable import Timetable
from monitor.summaries.scan_costs import format_spending
from store import Scheduled, Spending, WriteTransaction

RETRY: Final = timedelta(minutes=10)
"""After so long a delayed table is decided again: others may have cost less than expected."""

_FIRST_LOOK: Final = timedelta(minutes=1)
"""The time after midnight within which delayed tables are decided again, the one that waits longest first."""

_FRESH: Final = timedelta(minutes=1)
"""The lifetime of a forecast."""

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class LimitedTable:
    """A table of a source with a daily limit."""

    source: str
    severity: Severity
    timetable: Timetable


@dataclass(frozen=True, slots=True)
class Delays:
    """The due tables to run, and those to decide again at their new `due_at`."""

    run: Sequence[Scheduled]
    delayed: Sequence[Scheduled]
    news: Sequence[str]
    """A line for the log for each source that delays tables which it did not delay before."""


@dataclass
class DailyLimits:
    """The daily limits of a configuration, with forecasts of the cost of the rest of the day."""

    limits: Mapping[str, DailyLimit]
    tables: Mapping[str, LimitedTable]
    zone: ZoneInfo
    _needs: Mapping[str, Mapping[Severity, Spending]] = field(default_factory=dict)
    _needs_at: datetime | None = None

    @classmethod
    def of(cls, project: Project, timetables: Mapping[str, Timetable]) -> Self:
        """Return the limits of a configuration."""
        config = project.config
        limits = {name: source.daily_limit for name, source in config.sources.items() if source.daily_limit is not None}
        tables = {
            table.name: LimitedTable(
                table.source,
                max((check.severity for check in table.own_checks), key=lambda severity: severity.rank),
                timetables[table.name],
            )
            for table in config.tables
            if table.source in limits and table.name in timetables
        }
        return cls(limits, tables, ZoneInfo(config.timezone))

    def split(self, tx: WriteTransaction, due: Sequence[Scheduled], now: datetime) -> Delays:
        """Split due tables into those to run now and those to delay; higher severities are run first."""
        if not any(row.table in self.tables for row in due):
            return Delays(due, (), ())
        yesterday, today, end = (self._midnight(now, days=days) for days in (-1, 0, 1))
        spent = self._spent(tx, now)
        needs = self._forecast(tx, due, now, spent)
        expected = tx.costs.expected(row.table for row in due if row.table in self.tables)
        run, delayed = [], []
        for row in sorted(due, key=lambda row: self._rank(row, today)):
            table = self.tables.get(row.table)
            if table is None:
                run.append(row)
                continue
            cost = expected.get(row.table, Spending())
            higher = (need for severity, need in needs[table.source].items() if severity.rank > table.severity.rank)
            total = sum(() if _waits(row, today) else higher, spent[table.source])
            asked = Spending() if _waits(row, yesterday) else cost
            if table.severity is Severity.CRITICAL or _fits(self.limits[table.source], total, asked):
                spent[table.source] += cost
                run.append(row)
            else:
                since = row.delayed_since or now
                due_at = min(end + _FIRST_LOOK / (1 + (end - since) / _DAY), now + RETRY)  # who waits longest first
                delayed.append(replace(row, due_at=due_at, delayed_since=since))
        return Delays(run, delayed, list(self._format(due, delayed, spent)))

    def _rank(self, row: Scheduled, today: datetime) -> tuple[int, float]:
        """Order tables that are due: critical ones, those that wait since an earlier day, then by severity."""
        table = self.tables.get(row.table)
        if table is None or table.severity is Severity.CRITICAL:
            return 0, 0
        if row.delayed_since is not None and row.delayed_since < today:
            return 1, row.delayed_since.timestamp()
        return 2, -table.severity.rank

    def _spent(self, tx: WriteTransaction, now: datetime) -> dict[str, Spending]:
        """Return what was spent today on each source, and what the runs under way are expected to add."""
        today = now.astimezone(self.zone).date()
        spent = {source: tx.costs.of_source(source, today) for source in self.limits}
        running = [slot.table for slot in tx.slots.running() if slot.table in self.tables]
        for name, cost in tx.costs.expected(running).items():
            spent[self.tables[name].source] += cost
        return spent

    def _forecast(
        self, tx: WriteTransaction, due: Sequence[Scheduled], now: datetime, spent: Mapping[str, Spending]
    ) -> Mapping[str, Mapping[Severity, Spending]]:
        """Return what tables still need until the day ends, by source and severity, beside the runs that are due.

        A run that does not fit beside what was spent needs nothing: it waits for another day.
        """
        today, end = self._midnight(now), self._midnight(now, days=1)
        made = self._needs_at
        if made is not None and timedelta() <= now - made < _FRESH and made >= today:
            return self._needs
        needs: dict[str, dict[Severity, Spending]] = {source: defaultdict(Spending) for source in self.limits}
        expected, decided = tx.costs.expected(self.tables), {row.table for row in due}
        for row in tx.schedule.tables():
            table, cost = self.tables.get(row.table), expected.get(row.table)
            if table is None or cost is None:
                continue
            runs = table.timetable.count_until(row.next_slot, now, end) - (row.table in decided)
            if _waits(row, today) and row.due_at <= today + _FIRST_LOOK and row.table not in decided:
                needs[table.source][Severity.CRITICAL] += cost  # it comes first, since it did not run today
                runs -= 1
            if table.severity is Severity.CRITICAL or _fits(self.limits[table.source], spent[table.source], cost):
                needs[table.source][table.severity] += _times(cost, runs)
        self._needs, self._needs_at = needs, now
        return needs

    def _midnight(self, now: datetime, *, days: int = 0) -> datetime:
        """Return when the day of a moment began, or a later day begins."""
        today = now.astimezone(self.zone).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
        return moment_of_local_time(today + timedelta(days=days), self.zone)

    def _format(
        self, due: Sequence[Scheduled], delayed: Sequence[Scheduled], spent: Mapping[str, Spending]
    ) -> Iterable[str]:
        before = {row.table for row in due if row.delayed_since is not None}
        new: dict[str, list[str]] = defaultdict(list)
        for row in delayed:
            if row.table not in before:
                new[self.tables[row.table].source].append(row.table)
        for source, names in new.items():
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            what = f"{names[0]} ({self.tables[names[0]].severity.value}){more}"
            so_far = format_spending(spent[source])
            yield f"source {source}: daily-limit: {what} delayed, until the day ends at the latest; today {so_far}"


def _waits(row: Scheduled, day: datetime) -> bool:
    """Check whether a table was delayed before a day began, and since."""
    return row.delayed_since is not None and row.delayed_since < day


def _fits(limit: DailyLimit, total: Spending, cost: Spending) -> bool:
    """Check whether a run fits beside the total; one of unknown cost fits while anything is left.

    A run that costs nothing of what is limited fits.
    """
    parts = (
        (limit.seconds, total.seconds, cost.seconds),
        (limit.rows, total.volume.rows or 0, cost.volume.rows or 0),
        (limit.bytes, total.volume.bytes or 0, cost.volume.bytes or 0),
    )
    if not cost.runs:
        return all(most is None or before < most for most, before, _ in parts)
    return all(most is None or not own or before + own <= most for most, before, own in parts)


def _times(cost: Spending, runs: int) -> Spending:
    rows, read = (None if part is None else part * runs for part in (cost.volume.rows, cost.volume.bytes))
    return Spending(cost.runs * runs, cost.seconds * runs, replace(cost.volume, rows=rows, bytes=read))
