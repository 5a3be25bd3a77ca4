"""Determine what holds an alert back, and until when: snoozes, maintenance, silences, incidents upstream, quiet hours.

An alert that is held back is decided again when the hold ends: a problem that is still open is sent then, a resolved
one is not. Resolutions of problems that a channel was notified of are not held back here.

An incident mutes those of downstream tables if it is at least as severe, both are of kind quality, and a channel was
notified of it or will be (`Recipients`). In a cycle of the lineage the incident that was detected first is the root, so
every muted incident has one upstream that is not muted. After the root was resolved, downstream tables have the time of
their own next runs to pass before they are sent.

Quiet hours follow the wall clock of their zone. `days` are those on which they start; if `end` is not after `start`,
they end on the next day. A local time that occurs twice is quiet both times, one that is skipped never was. Adjoining
quiet hours are one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from checks import Kind, Severity
from incidents import BusinessCalendar, Incident, Resolution, State, from_us, to_us
from monitor.alerts.decide import NotificationReason
from monitor.alerts.route import channels_of
from monitor.config import Config, QuietHours
from monitor.config.project import policy_of

if TYPE_CHECKING:
    from store import LastNotification, Silence


@dataclass(frozen=True, slots=True)
class Recipients:
    """The channels that were, and that may still be, notified of incidents, by incident.

    `last_notifications` has no messages that were given up; `pending` has no disabled channels, and none for which the
    alert was dropped.
    """

    last_notifications: Mapping[int, Sequence["LastNotification"]] = field(default_factory=dict)
    pending: Mapping[int, Collection[str]] = field(default_factory=dict)

    def was_notified(self, incident: Incident) -> bool:
        """Check whether a channel was notified of the present episode."""
        return any(_is_of_this_episode(item, incident) for item in self.last_notifications.get(incident.id, ()))

    def is_pending(self, incident: Incident, channels: Iterable[str]) -> bool:
        """Check whether an alert of it is pending for one of these channels."""
        return not set(self.pending.get(incident.id, ())).isdisjoint(channels)


def _is_of_this_episode(last_notification: "LastNotification", incident: Incident) -> bool:
    if last_notification.reason == NotificationReason.FLAPPING and incident.flapping:
        return True  # the notification is about all episodes
    lasts = incident.state is not State.RESOLVED
    return last_notification.episodes == len(incident.episodes) and not (
        lasts and last_notification.reason == NotificationReason.RESOLVED
    )


NO_RECIPIENTS: Final = Recipients()


_AHEAD: Final = timedelta(days=9)
"""From noon of any day on, longer than any quiet hours: not all days of a week are quiet."""


def held_until(quiet: QuietHours, severity: Severity, now: datetime, *, zone: str) -> datetime | None:
    """Return when the quiet hours end that hold back an alert of a severity; None if it is not held back.

    `zone`: of the project, for quiet hours without one of their own.
    """
    return None if passes_quiet_hours(quiet, severity) else quiet_until(quiet, now, zone=zone)


def passes_quiet_hours(quiet: QuietHours, severity: Severity) -> bool:
    """Check whether a severity is at least one of `let_through`."""
    return any(severity.rank >= loud.rank for loud in quiet.let_through)


def quiet_until(quiet: QuietHours, now: datetime, *, zone: str) -> datetime | None:
    """Return when the quiet hours around a moment end, in UTC; None if it is outside of them."""
    start, end = next(quiet_times(quiet, now, zone=zone))
    return end if start <= now else None


def quiet_times(quiet: QuietHours, now: datetime, *, zone: str) -> Iterator[tuple[datetime, datetime]]:
    """Yield start and end of the quiet hours that end after a moment, in UTC: at least once."""
    hours = BusinessCalendar(frozenset(quiet.days), quiet.start, quiet.end, Decimal(0), quiet.timezone or zone)
    return ((start, end) for start, end in _quiet_times_around(hours, now.date()) if end > now)


@lru_cache(maxsize=1_000)
def _quiet_times_around(hours: BusinessCalendar, day: date) -> Sequence[tuple[datetime, datetime]]:
    """Return start and end of the quiet hours around a day of UTC, days before and after."""
    noon = datetime.combine(day, time(12), UTC)
    times = hours.between(to_us(noon - _AHEAD), to_us(noon + _AHEAD))
    edges = zip(times.starts.tolist(), times.ends.tolist(), strict=True)
    return [(from_us(start), from_us(end)) for start, end in edges]


LONGEST_GRACE: Final = timedelta(days=1)
"""The longest time that a downstream table has to pass after its root incident was resolved."""


class HoldReason(StrEnum):
    """What holds an alert back."""

    SNOOZE = "snooze"
    MAINTENANCE = "maintenance"
    SILENCE = "silence"
    DOWNSTREAM = "downstream"
    QUIET_HOURS = "quiet-hours"
    DIGEST = "digest"
    """The channel gets one message a day."""
    CAP = "cap"
    DELIVERY = "delivery"
    """The last message is not delivered yet."""
    DISABLED = "disabled"
    """The endpoint of the channel is gone; until a user enables it."""

    @property
    def sends_resolved(self) -> bool:
        """Check whether an alert that it held back is sent afterwards even if the incident is resolved by then."""
        return self in {HoldReason.QUIET_HOURS, HoldReason.DIGEST, HoldReason.CAP}


@dataclass(frozen=True, slots=True)
class Hold:
    """What holds an alert back, in a few words for the log, and until when; None if that depends on events."""

    by: HoldReason
    why: str
    until: datetime | None


class HoldRules:
    """What holds alerts back at one moment: the configuration, the active silences, the incidents around."""

    def __init__(
        self,
        config: Config,
        *,
        silences: Sequence["Silence"],
        around: Iterable[Incident],
        now: datetime,
        recipients: Recipients = NO_RECIPIENTS,
    ) -> None:
        """Prepare the rules of a moment.

        Args:
            config: planned maintenance, lineage, routes.
            silences: those that are active now.
            around: incidents of tables up- and downstream: unresolved ones, and those resolved within `LONGEST_GRACE`.
            now: the present, UTC.
            recipients: of the incidents around: an incident of which no channel is notified mutes nothing.
        """
        self._config = config
        self._recipients = recipients
        self._now = now
        self._silences = silences
        self.lineage = config.lineage
        self._notified: dict[int, bool] = {}
        self._around: dict[str, list[Incident]] = {}
        for incident in around:
            if incident.kind is Kind.QUALITY and incident.merged_into is None:
                self._around.setdefault(incident.table, []).append(incident)

    def hold(self, incident: Incident) -> Hold | None:
        """Return what holds alerts of a problem back; None if nothing does."""
        for reason in (*self._own_holds, self._downstream):
            text = reason(incident)
            if text is not None:
                return text
        return None

    def muted_by(self, root: Incident) -> Sequence[Incident]:
        """Return the unresolved incidents that an unresolved one mutes, by detection."""
        if not self._config.alerts.mute_downstream or root.state is State.RESOLVED:
            return ()
        below = self._on(self.lineage.below(root.table))
        return sorted(
            (incident for incident in below if incident.state is not State.RESOLVED and self._mutes(root, incident)),
            key=_rank,
        )

    def _snoozed(self, incident: Incident) -> Hold | None:
        until = incident.snoozed_until
        if until is None or until <= self._now:
            return None
        return Hold(HoldReason.SNOOZE, "snoozed", until)

    def _in_maintenance(self, incident: Incident) -> Hold | None:
        table = self._config.table(incident.table)
        domain = None if table is None else table.domain
        ends = []
        for work in self._config.maintenance:
            start, end = work.span(self._config.timezone)
            everything = not work.tables and not work.domains
            about = everything or incident.table in work.tables or (domain is not None and domain in work.domains)
            if about and start <= self._now < end:
                ends.append((end, work.reason))
        if not ends:
            return None
        until, reason = max(ends)
        return Hold(HoldReason.MAINTENANCE, f"maintenance: {reason}", until)

    def _silenced(self, incident: Incident) -> Hold | None:
        table = self._config.table(incident.table)
        names = {"all": None, "table": incident.table, "domain": None if table is None else table.domain}
        about = [
            silence for silence in self._silences if silence.scope == "all" or silence.name == names[silence.scope]
        ]
        if not about:
            return None
        silence = max(about, key=lambda item: item.until)
        return Hold(HoldReason.SILENCE, f"silence #{silence.id}: {silence.reason}", silence.until)

    def _downstream(self, incident: Incident) -> Hold | None:
        if not self._config.alerts.mute_downstream:
            return None
        above = self._on(self.lineage.above(incident.table))
        roots = sorted(
            (current_incident for current_incident in above if self._mutes(current_incident, incident)), key=_rank
        )
        unresolved = [root for root in roots if root.state is not State.RESOLVED]
        if unresolved:
            return Hold(HoldReason.DOWNSTREAM, f"downstream of #{unresolved[0].id} on {unresolved[0].table}", None)
        resolved = [(end, root) for root in roots if (end := self._grace_end(root, incident)) > self._now]
        if not resolved:
            return None
        end, root = max(resolved, key=lambda pair: pair[0])
        return Hold(HoldReason.DOWNSTREAM, f"downstream of #{root.id} on {root.table}, which was just resolved", end)

    def _on(self, tables: Iterable[str]) -> Iterator[Incident]:
        return (item for table in tables for item in self._around.get(table, ()))

    def _mutes(self, root: Incident, incident: Incident) -> bool:
        """Check whether an incident on a table upstream mutes another."""
        if root.id == incident.id or incident.kind is not Kind.QUALITY or root.severity.rank < incident.severity.rank:
            return False
        in_cycle = incident.table in self.lineage.above(root.table)
        return (not in_cycle or _rank(root) < _rank(incident)) and self._is_notified(root)

    def _is_notified(self, incident: Incident) -> bool:
        if incident.id not in self._notified:
            self._notified[incident.id] = self._reaches_a_channel(incident)
        return self._notified[incident.id]

    def _reaches_a_channel(self, incident: Incident) -> bool:
        """Check whether a channel was notified of the present episode, or will be as soon as a message may be sent."""
        if self._recipients.was_notified(incident):
            return True
        if incident.state is State.RESOLVED or any(hold(incident) for hold in self._own_holds):
            return False
        routing = channels_of(incident, self._config, self._now)
        return self._recipients.is_pending(incident, routing.channels)

    @property
    def _own_holds(self) -> Sequence[Callable[[Incident], Hold | None]]:
        return self._snoozed, self._in_maintenance, self._silenced

    def _grace_end(self, root: Incident, incident: Incident) -> datetime:
        """Return until when a table downstream of a resolved incident may still fail without an alert."""
        if root.resolution is not Resolution.FIXED or root.last.resolved_at is None:
            return self._now
        table = self._config.table(incident.table)
        if table is None or table.schedule is None:
            return self._now
        check = table.check(incident.check_id)
        alerts = self._config.alerts
        runs = (alerts.resolve_after if check is None else policy_of(check, alerts).resolve_after) + 1
        return root.last.resolved_at + min(runs * table.schedule.longest_period(), LONGEST_GRACE)


def _rank(incident: Incident) -> tuple[datetime, int]:
    return incident.last.detected_at, incident.id
