"""Collect the alerts of a channel into one message a day: incidents that opened, are still open, were resolved.

A channel that only routes with `digest` lead to gets nothing until the next local time that they name. Then all pending
alerts are one message, under an id made of the channel and that time, so that it is never written twice. Later alerts
wait for the next day. If there are none, there is no message.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Final
from zoneinfo import ZoneInfo

from checks import Message, MessageFormatter, moment_of_local_time
from monitor.alerts.batch import Batch, BatchItem, worst_first
from monitor.alerts.decide import NotificationReason
from monitor.alerts.decision_record import IncidentNotification
from monitor.alerts.wording import beside_warnings, is_over, without_warnings
from store import LastNotification

_DAY: Final = timedelta(days=1)
_TITLE: Final = Message("Digest: {opened:count} opened, {lasting:count} still open, {over:count} resolved")


def last_slot(times: Iterable[time], now: datetime, *, zone: str) -> datetime:
    """Return the newest moment, not after now, at which a digest of these local times was due."""
    return max(moment for at in times for moment in _slots(at, now.date(), zone) if moment <= now)


def next_slot(times: Iterable[time], now: datetime, *, zone: str) -> datetime:
    """Return the next moment, after now, at which a digest of these local times is due."""
    return min(moment for at in times for moment in _slots(at, now.date(), zone) if moment > now)


@lru_cache(maxsize=1_000)
def _slots(at: time, day: date, zone: str) -> Sequence[datetime]:
    """Return the moments at which the clocks of a zone show a time, from two days before a day of UTC to two after."""
    days = [day + _DAY * offset for offset in (-2, -1, 0, 1, 2)]
    return [moment_of_local_time(datetime.combine(day, at), ZoneInfo(zone)) for day in days]


def digest_id(channel: str, slot: datetime) -> str:
    """Return the id of the digest of a channel: the same whenever, and by whichever process, it is written."""
    return f"msg_{blake2b(f'{slot.isoformat()} {channel}'.encode(), digest_size=12).hexdigest()}"


class DigestSchedule:
    """The digests that may be written at one moment, and the incidents in them."""

    def __init__(self, written: Collection[str], now: datetime, *, zone: str, complete: bool) -> None:
        """Prepare for one moment; `written`: the ids of the newest digests that are written.

        `complete`: all open incidents are decided on, so that a digest may be written.
        """
        self._written, self._now, self._zone, self._complete = written, now, zone, complete
        self._slots: dict[tuple[str, tuple[time, ...]], tuple[datetime | None, datetime]] = {}
        self._members: dict[tuple[str, int], datetime] = {}

    def held_until(
        self, channel: str, times: tuple[time, ...], case: IncidentNotification, last: LastNotification | None
    ) -> datetime | None:
        """Return until when an alert waits for a digest; None if it goes into the one that is written now.

        An incident whose last notification is later than the time of that digest is in the next one.
        """
        if not times:
            return None
        if (channel, times) not in self._slots:
            slot = last_slot(times, self._now, zone=self._zone)
            after = next_slot(times, self._now, zone=self._zone)
            self._slots[channel, times] = None if digest_id(channel, slot) in self._written else slot, after
        open_slot, after = self._slots[channel, times]
        since = case.since if last is None else max(case.since, last.told_at)
        if open_slot is None or since > open_slot:
            return after
        if not self._complete:
            return self._now + timedelta.resolution
        self._members[channel, case.incident.id] = open_slot
        return None

    def batch(self, items: Sequence[BatchItem], channel: str) -> Sequence[Batch]:
        """Return the digest of a channel with those of the items that go into it: one batch, or none."""
        slots = {item.incident.id: self._members.get((channel, item.incident.id)) for item in items}
        members = sorted((item for item in items if slots[item.incident.id] is not None), key=_in_order)
        newest = max((slot for slot in slots.values() if slot is not None), default=None)
        return [] if newest is None else [Batch(tuple(members), storm=True, digest=newest)]

    def is_in(self, item: BatchItem, channel: str) -> bool:
        """Check whether an item goes into the digest of a channel."""
        return (channel, item.incident.id) in self._members


def _in_order(item: BatchItem) -> tuple[object, ...]:
    """Return the sort key of an item: opened, still open, resolved, each the most severe first, then the weightiest."""
    over, severity, *others = worst_first(item)
    return is_over(item), item.reason is NotificationReason.REMINDER, over, severity, -item.weight, *others


def title_of_digest(items: Sequence[BatchItem], localizer: MessageFormatter) -> str:
    """Format a digest in one line."""
    incidents = without_warnings(items)
    over = sum(is_over(item) for item in incidents)
    lasting = sum(item.reason is NotificationReason.REMINDER and not is_over(item) for item in incidents)
    title = _TITLE.given(opened=len(incidents) - over - lasting, lasting=lasting, over=over).render(localizer)
    return beside_warnings(title, len(items) - len(incidents), localizer)
