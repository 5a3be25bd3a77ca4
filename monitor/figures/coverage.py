"""Since when tables are watched, and when nobody looks right now: gaps that the store learns of at the next run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from incidents import Gap, Watch, gaps_after
from monitor.config import Config


@dataclass(frozen=True, slots=True)
class Watching:
    """Since when tables are watched, as known at a moment.

    `since`: by table, when any of its checks first ran; also of checks that are no longer configured.
    """

    since: Mapping[str, datetime]

    @classmethod
    def of(cls, watches: Mapping[str, Watch], as_of: datetime) -> Self:
        """Give it from what is known of each check."""
        since: dict[str, datetime] = {}
        for check_id, watch in watches.items():
            table = check_id.rpartition(".")[0]  # an id has no dot, a table's name may
            if watch.monitored_since <= as_of:
                since[table] = min(watch.monitored_since, since.get(table, watch.monitored_since))
        return cls(since)

    @property
    def first(self) -> datetime | None:
        """Give when the first check ran, None before that."""
        return min(self.since.values(), default=None)

    def had_begun(self, by: datetime) -> bool:
        """Say whether any table was watched before a moment."""
        return self.first is not None and self.first < by

    def partly(self, config: Config, start: datetime, end: datetime) -> tuple[str, ...]:
        """Name the tables with a check of which the first ran inside of `(start, end)`."""
        return tuple(name for name in _checked(config) if name in self.since and start < self.since[name] < end)

    def not_yet(self, config: Config, end: datetime) -> tuple[str, ...]:
        """Name the tables with a check of which none had run before `end`."""
        return tuple(name for name in _checked(config) if name not in self.since or self.since[name] >= end)


def _checked(config: Config) -> Iterator[str]:
    return (table.name for table in config.tables if table.checks)


def kept_since(config: Config, now: datetime) -> datetime:
    """Give since when incidents that are over are kept; those that ended before may be forgotten."""
    return now - config.storage.keep_incidents


def lasting_gaps(config: Config, watches: Mapping[str, Watch], until: datetime) -> Iterator[Gap]:
    """Give the unobserved time between the last run of each configured check and a moment."""
    for table in config.tables:
        period = table.schedule.longest_period() if table.schedule is not None else None
        for check in table.checks:
            yield from gaps_after(watches.get(table.check_id(check)), table=table.name, until=until, period=period)
