"""Coverage: since when tables are monitored, observed time, and gaps that the store learns of at the next run."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from incidents import Gap, Watch, Window, gaps_after, to_us
from monitor.config import Config, Table


def table_of(check_id: str) -> str:
    """Return the table of a check, also of one that is gone; a table's name may have dots, a check's has none."""
    return check_id.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class MonitoringStart:
    """Since when tables are watched, as known at a moment.

    `since`: by table, when any of its checks first ran; also of checks that are no longer configured.
    """

    since: Mapping[str, datetime]

    @classmethod
    def of(cls, watches: Mapping[str, Watch], as_of: datetime) -> Self:
        """Return it from what is known of each check."""
        since: dict[str, datetime] = {}
        for check_id, watch in watches.items():
            table = table_of(check_id)
            if watch.monitored_since <= as_of:
                since[table] = min(watch.monitored_since, since.get(table, watch.monitored_since))
        return cls(since)

    @property
    def first(self) -> datetime | None:
        """Return when the first check ran, None before that."""
        return min(self.since.values(), default=None)

    def had_begun(self, by: datetime) -> bool:
        """Check whether any table was watched before a moment."""
        return self.first is not None and self.first < by

    def partly(self, tables: Iterable[Table], start: datetime, end: datetime) -> tuple[str, ...]:
        """Name those of some tables with a check of which the first ran inside of `(start, end)`."""
        return tuple(name for name in _checked(tables) if name in self.since and start < self.since[name] < end)

    def not_yet(self, tables: Iterable[Table], end: datetime) -> tuple[str, ...]:
        """Name those of some tables with a check of which none had run before `end`."""
        return tuple(name for name in _checked(tables) if name not in self.since or self.since[name] >= end)


@dataclass(frozen=True, slots=True)
class Observed:
    """When at least one check of any table saw something, as sorted, disjoint intervals `[start, end)` (microseconds).

    What a check found holds until its next run is due, or until it could not be evaluated; of a check that is no longer
    configured, until its last run.
    """

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, watches: Mapping[str, Watch], gaps: Iterable[Gap], config: Config, until: datetime) -> Self:
        """Return it for the time that the gaps are known of; `gaps` has the ones that still last, too."""
        return cls.by_group(watches, gaps, config, until, group_of=lambda _: None).get(None, cls((), ()))

    @classmethod
    def by_group(
        cls,
        watches: Mapping[str, Watch],
        gaps: Iterable[Gap],
        config: Config,
        until: datetime,
        *,
        group_of: Callable[[str], str | None],
    ) -> dict[str | None, Self]:
        """Return the same for each group of tables, such as a domain; groups without any are left out."""
        seen: dict[str | None, list[tuple[int, int]]] = defaultdict(list)
        for check_id, start, end in _seen(watches, gaps, config, until):
            seen[group_of(table_of(check_id))].append((start, end))
        return {group: cls._union(intervals) for group, intervals in seen.items()}

    @classmethod
    def _union(cls, intervals: Iterable[tuple[int, int]]) -> Self:
        starts: list[int] = []
        ends: list[int] = []
        for start, end in sorted(intervals):
            if ends and start <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        return cls(tuple(starts), tuple(ends))

    def in_some_of(self, window: Window) -> bool:
        """Check whether something was seen in a part of a window."""
        at = bisect_right(self.ends, window.start_us)
        return at < len(self.starts) and self.starts[at] < window.end_us


def observed_tables(
    watches: Mapping[str, Watch], gaps: Iterable[Gap], config: Config, start: datetime, end: datetime
) -> frozenset[str]:
    """Return the tables of which any check saw something between two moments; `gaps` as for `Observed`."""
    start_us = to_us(start)
    seen = _seen(watches, gaps, config, end) if start < end else ()
    return frozenset(table_of(check_id) for check_id, _, over in seen if over > start_us)


def _seen(
    watches: Mapping[str, Watch], gaps: Iterable[Gap], config: Config, until: datetime
) -> Iterator[tuple[str, int, int]]:
    """Yield when each check saw something, up to a moment."""
    unseen: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for gap in gaps:
        unseen[gap.check_id].append((to_us(gap.start), to_us(gap.end)))
    for check_id, watch in watches.items():
        table = config.table(check_id.rpartition(".")[0])
        is_configured = table is not None and table.check(check_id) is not None
        end = until if is_configured else min(until, watch.last_run_at)
        for start_us, end_us in _between(unseen[check_id], to_us(watch.monitored_since), to_us(end)):
            yield check_id, start_us, end_us


def _between(gaps: Iterable[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield what of `[start, end)` no gap covers."""
    for gap_start, gap_end in sorted(gaps):
        if start < min(gap_start, end):
            yield start, min(gap_start, end)
        start = max(start, gap_end)
    if start < end:
        yield start, end


def _checked(tables: Iterable[Table]) -> Iterator[str]:
    return (table.name for table in tables if table.checks)


def kept_since(config: Config, now: datetime) -> datetime:
    """Return since when incidents that are over are kept; those that ended before may be forgotten."""
    return now - config.storage.keep_incidents


def lasting_gaps(config: Config, watches: Mapping[str, Watch], until: datetime) -> Iterator[Gap]:
    """Yield the unobserved time between the last run of each configured check and a moment."""
    for table in config.tables:
        for check in table.checks:
            watch, period = watches.get(table.check_id(check)), table.period_of(check)
            yield from gaps_after(watch, table=table.name, until=until, period=period)
