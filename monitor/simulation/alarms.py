"""Decide the alerts of replayed incidents by the code that decides real ones, `NotificationPass`, on facts in memory.

Recorded and replayed events are applied in order. Between two of them the clock advances to each time at which a
decision is due: the end of `group_wait` or of a hold, a reminder, the next in line. The daemon rechecks what is held
back every five minutes; here rechecks whose result cannot have changed are skipped. Messages are delivered at once;
nothing is composed or sent. Silences are the stored ones; incidents of other checks take part only on tables up- and
downstream, which they may mute.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final, NamedTuple

from incidents import Acknowledged, Event, Incident, State, Window, apply, from_us
from monitor.alerts.batch import HOUR
from monitor.alerts.decide import FLAPPING_NOTICE, needs_acknowledged_notice
from monitor.alerts.decision_record import RECHECK_AFTER, was_dropped
from monitor.alerts.digest import next_slot
from monitor.alerts.facts import AlertFacts, DueIncidents, pending_channels
from monitor.alerts.hold import LONGEST_GRACE, HoldRules, Lineage, Recipients, quiet_times, quiet_until
from monitor.alerts.notification_pass import NotificationPass, PendingDecision
from monitor.alerts.reminders import is_missed, may_be_reminded, missing_channels
from monitor.config.project import Project
from store import (
    Changed,
    DeliveryState,
    IncidentFilter,
    LastingIncident,
    LastNotification,
    ReadTransaction,
    Silence,
    Transition,
)

_EPOCH: Final = from_us(0)
_DAY: Final = timedelta(days=1)


class Alarm(NamedTuple):
    """A notification of a channel about an incident: its time, reason (`first`, `reminder` ...) and message."""

    at: datetime
    channel: str
    reason: str
    check_id: str
    table: str
    message: str


def alarms_of(
    project: Project, tx: ReadTransaction, events: Iterable[Event], *, checks: Sequence[str], window: Window
) -> list[Alarm]:
    """Return the alerts that a project would have sent in a window.

    Args:
        project: the configuration of routes and alert rules.
        tx: the store with silences and the incidents of other checks.
        events: the events of the incidents of the replayed checks.
        checks: the ids of the replayed checks.
        window: the time of the alerts.
    """
    if not project.config.alerts.channels:
        return []
    related = _related_events(project, tx, checks)
    merged = heapq.merge(
        *(_sorted(part) for part in (_events_in(events, window), related)),
        key=lambda event: event.recorded_at,
    )
    start, end = from_us(window.start_us), from_us(window.end_us)
    alarms = _ReplayedAlerts(project, tx.silences.all(), frozenset(checks)).play(merged, until=end)
    return [alarm for alarm in alarms if start <= alarm.at < end]


def _events_in(events: Iterable[Event], window: Window) -> list[Event]:
    """Return the events of the incidents that were open in a window or had an event in it, up to its end."""
    start, end = from_us(window.start_us), from_us(window.end_us)
    by_incident: dict[int, list[Event]] = {}
    for event in events:
        by_incident.setdefault(event.incident_id, []).append(event)
    return [
        event
        for own in by_incident.values()
        if own[-1].recorded_at >= start or own[-1].change.kind not in {"resolved", "merged"}
        for event in own
        if event.recorded_at < end
    ]


def _sorted(events: Iterable[Event]) -> list[Event]:
    """Return events by time; those of an incident stay in order, also where a run ended before an earlier one."""
    moved: dict[int, list[Event]] = {}
    for event in events:
        own = moved.setdefault(event.incident_id, [])
        own.append(replace(event, recorded_at=max(event.recorded_at, own[-1].recorded_at)) if own else event)
    return sorted((event for own in moved.values() for event in own), key=lambda event: event.recorded_at)


def _related_events(project: Project, tx: ReadTransaction, checks: Sequence[str]) -> list[Event]:
    """Return the events of other checks on tables up- and downstream, of which incidents mute one another."""
    if not project.config.alerts.mute_downstream:
        return []
    lineage = Lineage.of(project.config)
    tables = {table.name for table in project.config.tables if any(table.check(check) for check in checks)}
    related = tables.union(*(lineage.ancestors(table) | lineage.descendants(table) for table in tables)) - tables
    if not related:
        return []
    incidents = tx.incidents.matching(IncidentFilter(tables=tuple(sorted(related))))
    others = [incident.id for incident in incidents if incident.check_id not in checks]
    # the ids of replayed incidents are positive
    return [
        Event(-event.incident_id, event.recorded_at, event.actor, event.change)
        for events in tx.incidents.histories(others).values()
        for event in events
    ]


@dataclass
class _ReplayedAlerts:
    """Incidents, pending decisions and notifications at the simulated time `now`; the daemon has them in the store."""

    project: Project
    silences: Sequence[Silence]
    checks: frozenset[str]
    now: datetime = _EPOCH
    incidents: dict[int, Incident] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    """Incident ids by the ids in the events."""
    acknowledged_by: dict[int, str] = field(default_factory=dict)
    transitions: dict[int, Transition] = field(default_factory=dict)
    """The last transition of each incident."""
    waiting: dict[int, Transition] = field(default_factory=dict)
    notifications: dict[int, dict[str, LastNotification]] = field(default_factory=dict)
    deliveries: dict[str, DeliveryState] = field(default_factory=dict)
    message_times: dict[str, list[datetime]] = field(default_factory=dict)
    open_ids: set[int] = field(default_factory=set)
    reminder_hold_ends: set[datetime] = field(default_factory=set)
    """Future times at which holds of reminders end."""
    skipped: set[int] = field(default_factory=set)
    """Ids of waiting transitions of which rechecks are skipped until `not_before`."""
    calendar_edge: datetime = _EPOCH
    """The next time of `_calendar_times`."""
    ids: Iterator[int] = field(default_factory=count)

    def play(self, events: Iterable[Event], *, until: datetime) -> Iterator[Alarm]:
        for event in events:
            yield from self._advance(event.recorded_at)
            self._apply(event)
            self._resume_rechecks()
        yield from self._advance(until)

    def _apply(self, event: Event) -> None:
        number = self.numbers.setdefault(event.incident_id, len(self.numbers) + 1)
        before = self.incidents.get(number)
        incident = self.incidents[number] = apply(before, replace(event, incident_id=number))
        (self.open_ids.discard if incident.state is State.RESOLVED else self.open_ids.add)(number)
        if isinstance(event.change, Acknowledged):
            self.acknowledged_by[number] = event.actor
        change = Changed.of(before, event.change)
        if change is not None:
            self._save(Transition(next(self.ids), number, change, event.recorded_at, incident.table))

    def _save(self, transition: Transition) -> None:
        """Save a transition, which waits until it is settled."""
        incident_id = transition.incident_id or 0
        last = self.transitions.get(incident_id)
        if last is None or last.id <= transition.id:
            self.transitions[incident_id] = transition
        if transition.settled_at is None:
            self.waiting[transition.id] = transition
        else:
            del self.waiting[transition.id]

    # --- time ---------------------------------------------------------------------------------------------------------

    def _advance(self, until: datetime) -> Iterator[Alarm]:
        """Advance the clock to a time, and decide what is due before it: events of that time come first."""
        last: datetime | None = None
        while (due := self._next_due(last)) is not None and due < until:
            self.now = last = due
            yield from self._notify()
        self.now = until

    def _next_due(self, last: datetime | None) -> datetime | None:
        """Return the next time at which a decision may be due; None if nothing waits.

        What was due before is due now, once. `last`: the time of the last decision since the last event.
        """
        moments = [max(moment, self.now) for moment in self._times_of_waiting()]
        moments += [moment for moment in self._times_of_open() if moment >= self.now]
        return min((moment for moment in moments if last is None or moment > last), default=None)

    def _times_of_waiting(self) -> Iterator[datetime]:
        """Yield the times at which transitions are due: the end of `group_wait`, or of a hold."""
        for item in self.waiting.values():
            yield item.recorded_at + self.project.config.alerts.group_wait
            if item.not_before is not None:
                yield item.not_before

    def _times_of_open(self) -> Iterator[datetime]:
        """Yield the times at which alerts of open incidents may be due: reminders, digests, the next in line."""
        yield from self.reminder_hold_ends
        yield from self._times_of(self.open_ids)
        if self.open_ids:
            yield from self._digest_slots()
            hours = (item for item in self.project.config.alerts.quiet_hours.values() if item.afterwards == "drop")
            ends = (quiet_until(item, self.now, zone=self.project.config.timezone) for item in hours)
            yield from (end for end in ends if end is not None)  # reminders that they dropped are due again

    def _times_of(self, numbers: Iterable[int]) -> Iterator[datetime]:
        """Yield the times at which alerts of incidents may become due: reminders, ends of snoozes, the next in line."""
        alerts = self.project.config.alerts
        waits = [route.unacknowledged_for for route in alerts.routes if route.unacknowledged_for is not None]
        for number in numbers:
            incident = self.incidents[number]
            for row in self.notifications.get(number, {}).values():
                yield from (row.told_at + alerts.remind_every, row.told_at + FLAPPING_NOTICE)
            if incident.snoozed_until is not None:
                yield incident.snoozed_until
            yield from (incident.last.detected_at + wait for wait in waits)

    def _digest_slots(self) -> Iterator[datetime]:
        for route in self.project.config.alerts.routes:
            if route.digest is not None:
                yield next_slot((route.digest.at,), self.now, zone=self.project.config.timezone)

    def _notifications_of_open(self) -> Iterator[LastNotification]:
        for number in sorted(self.open_ids):
            yield from self.notifications.get(number, {}).values()

    # --- alerts -------------------------------------------------------------------------------------------------------

    def _notify(self) -> Iterator[Alarm]:
        """Decide what is due, and yield the notifications; they are delivered at once."""
        self._requeue_missed()
        due = self._due()
        if not due:
            return
        decided = NotificationPass(self.project, self._facts(due), self.now, remind=True)
        self.reminder_hold_ends = {
            moment for moment in self.reminder_hold_ends | {*decided.reminder_hold_ends} if moment > self.now
        }
        messages = list(decided.messages())
        for message in messages:
            delivery = message.delivery_id or f"message {next(self.ids)}"
            self.deliveries[delivery] = DeliveryState.SENT
            self.message_times.setdefault(message.channel, []).append(self.now)
            for row in decided.record(message, delivery):
                self.notifications.setdefault(row.incident_id, {})[row.channel] = row
            for item in message.batch.items:
                incident = item.incident
                if incident.check_id in self.checks:
                    yield Alarm(self.now, message.channel, item.reason, incident.check_id, incident.table, delivery)
        self._save_decisions(decided, notified=bool(messages))

    def _save_decisions(self, decided: NotificationPass, *, notified: bool) -> None:
        """Save the decisions on transitions; `notified`: a channel was notified."""
        decisions = decided.decisions()
        unchanged = [number for pending in decisions if not self._is_changed(pending) for number in pending.ids]
        if notified or any(self._affects_others(pending) for pending in decisions):
            self._resume_rechecks()
            unchanged = []
        for pending in decisions:
            settled_at = self.now if pending.until is None else None
            for number in pending.ids:
                last = replace(self.waiting[number], not_before=pending.until, settled_at=settled_at)
                self._save(replace(last, decision=pending.decision))
        if unchanged and all(pending.until == self.now + RECHECK_AFTER for pending in decisions):
            self._skip_rechecks(unchanged, decided.hold_ends)

    # --- rechecks that are skipped ------------------------------------------------------------------------------------

    def _is_changed(self, pending: PendingDecision) -> bool:
        """Check whether a decision differs from the previous one on the same transitions."""
        return any(self.waiting[number].decision != pending.decision for number in pending.ids)

    def _affects_others(self, pending: PendingDecision) -> bool:
        """Check whether a decision may change others: a transition is settled, or dropped for a channel."""
        drops = any(was_dropped(pending.decision, channel) for channel in self.project.config.alerts.channels)
        return pending.until is None or (drops and self._is_changed(pending))

    def _skip_rechecks(self, transition_ids: Sequence[int], holds: Iterable[datetime]) -> None:
        """Postpone the next recheck of transitions to the last one whose result is the same; `holds`: their ends."""
        steps = (self._next_change(transition_ids, holds) - self.now - timedelta.resolution) // RECHECK_AFTER
        if steps > 1:
            self.skipped.update(transition_ids)
            for number in transition_ids:
                self._save(replace(self.waiting[number], not_before=self.now + steps * RECHECK_AFTER))

    def _resume_rechecks(self) -> None:
        """Set the next rechecks to those that were skipped, from now on: something changed."""
        for number in self.skipped:
            last = self.waiting[number]
            if last.not_before is not None:
                steps = (last.not_before - self.now) // RECHECK_AFTER
                self._save(replace(last, not_before=last.not_before - steps * RECHECK_AFTER))
        self.skipped.clear()

    def _next_change(self, transition_ids: Iterable[int], holds: Iterable[datetime]) -> datetime:
        """Return the next time at which a decision on transitions may change without an event, at most a day ahead."""
        incidents = {self.waiting[number].incident_id or 0 for number in transition_ids}
        if self.calendar_edge <= self.now:
            edges = (moment for moment in self._calendar_times() if moment > self.now)
            self.calendar_edge = min(edges, default=self.now + _DAY)
        moments = (*holds, *self.reminder_hold_ends, *self._times_of(incidents | self.open_ids), self.calendar_edge)
        return min(moment for moment in moments if moment > self.now)

    def _calendar_times(self) -> Iterator[datetime]:
        """Yield the starts and ends of quiet hours, maintenance and silences, and when digests are due."""
        config = self.project.config
        for quiet in config.alerts.quiet_hours.values():
            for start_and_end in quiet_times(quiet, self.now, zone=config.timezone):
                yield from start_and_end
        for work in config.maintenance:
            yield from work.span(config.timezone)
        for silence in self.silences:
            yield from (silence.starts_at, _end(silence))
        yield from self._digest_slots()

    def _requeue_missed(self) -> None:
        open_incidents = [LastingIncident.of(self.incidents[number]) for number in sorted(self.open_ids)]
        missing = missing_channels(self.project.config, open_incidents, self._notifications_of_open(), now=self.now)
        for number, channels in missing.items():
            last = self.transitions.get(number)
            if last is not None and is_missed(last, channels):
                self._save(replace(last, settled_at=None, not_before=self.now))

    def _due(self) -> DueIncidents:
        config = self.project.config
        for number in [number for number in self.skipped if self._is_due(self.waiting[number])]:
            self.skipped.remove(number)
            self._save(replace(self.waiting[number], not_before=self.now))
        waiting = [item for item in self.waiting.values() if (item.not_before or _EPOCH) <= self.now]
        lasting = {
            row.incident_id
            for row in self._notifications_of_open()
            if row.channel in config.alerts.channels
            and (may_be_reminded(row, self.project, self.now) or self._needs_acknowledged_notice(row))
        }
        waiting.sort(key=lambda item: (item.not_before or _EPOCH, item.id))
        return DueIncidents.of(waiting, lasting, config, self.now)

    def _is_due(self, skipped: Transition) -> bool:
        """Check whether a recheck of a transition that is skipped would be now: every `RECHECK_AFTER`."""
        return skipped.not_before is None or not (skipped.not_before - self.now) % RECHECK_AFTER

    def _needs_acknowledged_notice(self, row: LastNotification) -> bool:
        follows = self.project.config.alerts.channels[row.channel].kind.follows
        return follows and needs_acknowledged_notice(self.incidents[row.incident_id], row)

    def _facts(self, due: DueIncidents) -> AlertFacts:
        incidents = {number: self.incidents[number] for number in (*due.changed, *due.lasting)}
        return AlertFacts(
            due=due,
            incidents=incidents,
            last_notifications={number: self.notifications.get(number, {}) for number in incidents},
            delivery_states=self.deliveries,
            hold_rules=self._hold_rules(),
            disabled={},
            recent_messages={
                channel: self._recent_messages(channel) for channel in self.project.config.alerts.channels
            },
            digest_ids=self.deliveries.keys(),
            acknowledged_by=self.acknowledged_by,
        )

    def _recent_messages(self, channel: str) -> Sequence[datetime]:
        moments = self.message_times.setdefault(channel, [])
        moments[:] = [moment for moment in moments if moment > self.now - HOUR]
        return moments

    def _hold_rules(self) -> HoldRules:
        config = self.project.config
        silences = [item for item in self.silences if item.starts_at <= self.now < _end(item)]
        around = list(self._incidents_around()) if config.alerts.mute_downstream else []
        notifications = {incident.id: list(self.notifications.get(incident.id, {}).values()) for incident in around}
        latest = {incident.id: last for incident in around if (last := self.transitions.get(incident.id)) is not None}
        recipients = Recipients(notifications, pending_channels(latest, config.alerts.channels))
        return HoldRules(config, silences=silences, around=around, now=self.now, recipients=recipients)

    def _incidents_around(self) -> Iterator[Incident]:
        """Yield the incidents that may mute others: open ones, and those resolved within `LONGEST_GRACE`."""
        since = self.now - LONGEST_GRACE
        for incident in self.incidents.values():
            ended_at = incident.last.resolved_at
            if ended_at is None or ended_at >= since:
                yield incident


def _end(silence: Silence) -> datetime:
    return silence.until if silence.ended_at is None else min(silence.until, silence.ended_at)
