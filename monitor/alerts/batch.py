"""Group what a channel receives into messages: one for each table, and one over tables when the cap allows no more.

A table's news waits `group_wait` from the first change, so that what belongs together is told together.
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
    """One thing to tell: an incident, why it is told, since when that waits to be told, and who acknowledged it.

    `unacknowledged`: for how long nobody did, if it is told for that.
    """

    incident: Incident
    reason: NotificationReason
    since: datetime
    acknowledged_by: str | None = None
    unacknowledged: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What goes into one message, the worst first. A storm is over tables: the hourly cap allowed no more.

    `digest`: when the message of the day was due that it is; that is over tables too.
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

    A change recorded after `now` has waited long enough too: the clock went back since.
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

    Each table gets its own while the cap allows, the worst tables first; the last message sums up all others.
    """
    tables: dict[str, list[BatchItem]] = {}
    for item in sorted(items, key=worst_first):
        tables.setdefault(item.incident.table, []).append(item)
    groups = [tuple(group) for group in tables.values()]
    if len(groups) <= free:
        return [Batch(group) for group in groups]
    alone, together = groups[: free - 1], groups[free - 1 :]
    rest = sorted((item for group in together for item in group), key=worst_first)
    return [*(Batch(group) for group in alone), Batch(tuple(rest), storm=True)]


def worst_first(item: BatchItem) -> tuple[bool, int, datetime, int]:
    """Return the place of what is told in the order of a message."""
    return item.reason is NotificationReason.RESOLVED, -item.incident.severity.rank, item.since, item.incident.id


HOUR: Final = timedelta(hours=1)
_MOST_KEPT: Final = 6


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How many messages a channel may get now; if none, `until` is the first moment at which it may get one."""

    free: int
    until: datetime | None = None


def rate_limit(moments: Sequence[datetime], cap: int, now: datetime) -> RateLimit:
    """Return how many messages a channel may get.

    Args:
        moments: when it was given messages in the last hour, in any order; older ones do not matter.
        cap: the most messages in any hour, at least 1.
        now: the present, UTC.
    """
    recent = sorted(moment for moment in moments if now - HOUR < moment <= now)
    kept = min(_MOST_KEPT, cap // 2)
    at_once = cap - kept
    if len(recent) < at_once:
        return RateLimit(at_once - len(recent))
    earliest = recent[-at_once] + HOUR  # then fewer than `at_once` are left in the hour
    if kept and len(recent) >= cap:
        earliest = min(earliest, max(recent[-cap] + HOUR, recent[-1] + HOUR / kept))
    elif kept:
        earliest = min(earliest, recent[-1] + HOUR / kept)
    return RateLimit(1) if earliest <= now else RateLimit(0, earliest)
