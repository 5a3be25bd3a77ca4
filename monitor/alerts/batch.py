"""Group the alerts of a channel into messages: one for each table, and one over tables when the cap allows no more.

The changes of a table wait `group_wait` from the first one, so that they are in one message.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from incidents import Incident
from monitor.alerts.decide import NotificationReason

if TYPE_CHECKING:
    from store import Transition


@dataclass(frozen=True, slots=True)
class BatchItem:
    """An incident in a message, with the reason, when its change was recorded, and who acknowledged it.

    `unacknowledged`: how long it was unacknowledged, if it is sent for that. `weight`: how rare it is, times how
    important its table is; 0 where how rare is not known.
    """

    incident: Incident
    reason: NotificationReason
    since: datetime
    acknowledged_by: str | None = None
    unacknowledged: timedelta | None = None
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """The items of one message, the most severe first. `storm`: of several tables, since the cap allowed no more.

    `digest`: the time of the digest that it is; that has several tables too.
    """

    items: tuple[BatchItem, ...]
    storm: bool = False
    digest: datetime | None = None

    @property
    def table(self) -> str | None:
        """Return the table it is about; None for several."""
        tables = {item.incident.table for item in self.items}
        return next(iter(tables)) if len(tables) == 1 else None


def ready(waiting: Sequence["Transition"], *, group_wait: timedelta, now: datetime) -> Mapping[str, list["Transition"]]:
    """Return, by table, the transitions of those tables whose first change has waited long enough.

    So has a change recorded after `now`: the clock was set back since.
    """
    tables: dict[str, list[Transition]] = {}
    for transition in waiting:
        tables.setdefault(transition.table, []).append(transition)
    return {table: group for table, group in tables.items() if _has_waited(group, group_wait, now)}


def _has_waited(group: Sequence["Transition"], group_wait: timedelta, now: datetime) -> bool:
    first = min(transition.recorded_at for transition in group)
    return not now - group_wait < first <= now


def batches(items: Sequence[BatchItem], free: int) -> Sequence[Batch]:
    """Return the messages of one channel: at most `free` of them (1 or more), and every item in exactly one.

    Each table has one of its own while the cap allows it, the most severe first; the last one has all others.
    """
    tables: dict[str, list[BatchItem]] = {}
    for item in sorted(items, key=worst_first):
        tables.setdefault(item.incident.table, []).append(item)
    groups = [tuple(group) for group in tables.values()]
    if len(groups) <= free:
        return [Batch(group) for group in groups]
    rest = sorted((item for group in groups[free - 1 :] for item in group), key=worst_first)
    return [*(Batch(group) for group in groups[: free - 1]), Batch(tuple(rest), storm=True)]


def worst_first(item: BatchItem) -> tuple[bool, int, datetime, int]:
    """Return the sort key of an item in a message."""
    return item.reason is NotificationReason.RESOLVED, -item.incident.severity.rank, item.since, item.incident.id


HOUR: Final = timedelta(hours=1)
_MOST_SPREAD: Final = 6
"""The most messages of an hour that are not sent at once, but spread over it."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The number of messages a channel may get now; if 0, `until` is the first moment at which it may get one."""

    free: int
    until: datetime | None = None


def rate_limit(moments: Sequence[datetime], cap: int, now: datetime) -> RateLimit:
    """Return how many messages a channel may get.

    Args:
        moments: when messages to it were written in the last hour, in any order; older ones are ignored.
        cap: the most messages in any hour, at least 1.
        now: the present, UTC.
    """
    recent = sorted(moment for moment in moments if now - HOUR < moment <= now)
    spread = min(_MOST_SPREAD, cap // 2)
    at_once = cap - spread
    if len(recent) < at_once:
        return RateLimit(at_once - len(recent))
    earliest = recent[-at_once] + HOUR  # then fewer than `at_once` are left in the hour
    if spread and len(recent) >= cap:
        earliest = min(earliest, max(recent[-cap] + HOUR, recent[-1] + HOUR / spread))
    elif spread:
        earliest = min(earliest, recent[-1] + HOUR / spread)
    return RateLimit(1) if earliest <= now else RateLimit(0, earliest)
