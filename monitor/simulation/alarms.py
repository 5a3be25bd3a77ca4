"""Let the alerts of replayed incidents be decided by the product itself: by `NotificationPass`, on facts in memory.

What is replayed happens as it was recorded, in order; between two changes the clock goes to each moment at which
something is due: a group that has waited, a hold that ends, a reminder, the next in line. A daemon decides on what is
held back every five minutes; here those times are skipped at which the decision cannot change. Messages arrive at once
and nothing is composed or sent. Silences are those that there were; incidents of other checks are there only where
lineage makes one stand for another.
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
from monitor.alerts.hold import LONGEST_GRACE, HoldRules, Lineage, Recipients, quiet_times
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

_BEFORE_ALL: Final = from_us(0)
_DAY: Final = timedelta(days=1)


class Alarm(NamedTuple):
    """A channel is told of an incident: when, why (`first`, `reminder` ...), and in which message."""

    at: datetime
    channel: str
    reason: str
    check_id: str
    table: str
    message: str


def alarms_of(
    project: Project, tx: ReadTransaction, events: Iterable[Event], *, checks: Sequence[str], window: Window
) -> list[Alarm]:
    """Return of which alerts a project would have notified its channels in a window.

    Args:
        project: whose routes and rules hold.
        tx: the store with what was recorded: silences, and the incidents of other checks.
        events: what happened to the incidents of some checks.
        checks: those checks.
        window: the time of the alerts.
    """
    if not project.config.alerts.channels:
        return []
    around = _around(project, tx, checks)
    merged = heapq.merge(
        *(_in_order(part) for part in (_touching(events, window), around)),
        key=lambda event: event.recorded_at,
    )
    start, end = from_us(window.start_us), from_us(window.end_us)
    alarms = _ReplayedAlerts(project, tx.silences.all(), frozenset(checks)).play(merged, until=end)
    return [alarm for alarm in alarms if start <= alarm.at < end]


def _touching(events: Iterable[Event], window: Window) -> list[Event]:
    """Return what happened to incidents of which something happened in a window or that lasted into it."""
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


def _in_order(events: Iterable[Event]) -> list[Event]:
    """Return events by their times, those of an incident in its order: a run may end before one decided on earlier."""
    moved: dict[int, list[Event]] = {}
    for event in events:
        own = moved.setdefault(event.incident_id, [])
        own.append(replace(event, recorded_at=max(event.recorded_at, own[-1].recorded_at)) if own else event)
    return sorted((event for own in moved.values() for event in own), key=lambda event: event.recorded_at)


def _around(project: Project, tx: ReadTransaction, checks: Sequence[str]) -> list[Event]:
    """Return what was recorded of other checks on tables of which incidents stand for these, or the other way."""
    if not project.config.alerts.mute_downstream:
        return []
    lineage = Lineage.of(project.config)
    tables = {table.name for table in project.config.tables if any(table.check(check) for check in checks)}
    related = tables.union(*(lineage.ancestors(table) | lineage.descendants(table) for table in tables)) - tables
    if not related:
        return []
    incidents = tx.incidents.matching(IncidentFilter(tables=tuple(sorted(related))))
    others = [incident.id for incident in incidents if incident.check_id not in checks]
    # numbers of replayed incidents are positive
    return [
        Event(-event.incident_id, event.recorded_at, event.actor, event.change)
        for events in tx.incidents.histories(others).values()
        for event in events
    ]


@dataclass
class _ReplayedAlerts:
    """Incidents that happen, and what channels know of them: what is in a store otherwise."""

    project: Project
    silences: Sequence[Silence]
    checks: frozenset[str]
    now: datetime = _BEFORE_ALL
    incidents: dict[int, Incident] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    """The numbers of incidents by those of what is replayed."""
    acknowledged_by: dict[int, str] = field(default_factory=dict)
    transitions: dict[int, Transition] = field(default_factory=dict)
    """The last change of each incident that was news."""
    waiting: dict[int, Transition] = field(default_factory=dict)
    told: dict[int, dict[str, LastNotification]] = field(default_factory=dict)
    deliveries: dict[str, DeliveryState] = field(default_factory=dict)
    written: dict[str, list[datetime]] = field(default_factory=dict)
    lasting: set[int] = field(default_factory=set)
    held: set[datetime] = field(default_factory=set)
    """When what holds reminders back ends: the moments to come."""
    skipping: set[int] = field(default_factory=set)
    """Waiting transitions whose `not_before` skips times at which the decision on them cannot change."""
    calendar_edge: datetime = _BEFORE_ALL
    ids: Iterator[int] = field(default_factory=count)

    def play(self, events: Iterable[Event], *, until: datetime) -> Iterator[Alarm]:
        for event in events:
            yield from self._wait(event.recorded_at)
            self._happen(event)
            self._skip_nothing()
        yield from self._wait(until)

    def _happen(self, event: Event) -> None:
        number = self.numbers.setdefault(event.incident_id, len(self.numbers) + 1)
        before = self.incidents.get(number)
        incident = self.incidents[number] = apply(before, replace(event, incident_id=number))
        (self.lasting.discard if incident.state is State.RESOLVED else self.lasting.add)(number)
        if isinstance(event.change, Acknowledged):
            self.acknowledged_by[number] = event.actor
        news = Changed.of(before, event.change)
        if news is not None:
            transition = Transition(next(self.ids), number, news, event.recorded_at, incident.table)
            self._take_down(transition)

    def _take_down(self, transition: Transition) -> None:
        """Remember how a change stands: it waits until it is settled."""
        incident_id = transition.incident_id or 0
        last = self.transitions.get(incident_id)
        if last is None or last.id <= transition.id:
            self.transitions[incident_id] = transition
        if transition.settled_at is None:
            self.waiting[transition.id] = transition
        else:
            del self.waiting[transition.id]

    # --- time ---------------------------------------------------------------------------------------------------------

    def _wait(self, until: datetime) -> Iterator[Alarm]:
        """Let the clock go to a moment; what happens at it comes before what is decided at it."""
        last: datetime | None = None
        while (due := self._next_due(last)) is not None and due < until:
            self.now = last = due
            yield from self._notify()
        self.now = until

    def _next_due(self, last: datetime | None) -> datetime | None:
        """Return the next moment at which something may be decided; None if nothing waits.

        What was due before is due now, once: `last` is when it was decided since something happened.
        """
        lasting = (moment for moment in self._moments_of_lasting() if moment >= self.now)
        moments = (*(max(moment, self.now) for moment in self._moments_of_waiting()), *lasting)
        return min((moment for moment in moments if last is None or moment > last), default=None)

    def _moments_of_waiting(self) -> Iterator[datetime]:
        """Yield when changes may be decided on: their group has waited, or what holds them back ends."""
        for item in self.waiting.values():
            yield item.recorded_at + self.project.config.alerts.group_wait
            if item.not_before is not None:
                yield item.not_before

    def _moments_of_lasting(self) -> Iterator[datetime]:
        """Yield when somebody may hear of what lasts: a reminder, the message of the day, the next in line."""
        yield from self.held
        yield from self._moments_of(self.lasting)
        if self.lasting:
            yield from self._digest_slots()

    def _moments_of(self, numbers: Iterable[int]) -> Iterator[datetime]:
        """Yield when time alone may change what is to be told of incidents: reminders, snoozes, the next in line."""
        alerts = self.project.config.alerts
        waits = [route.unacknowledged_for for route in alerts.routes if route.unacknowledged_for is not None]
        for number in numbers:
            incident = self.incidents[number]
            for row in self.told.get(number, {}).values():
                yield from (row.told_at + alerts.remind_every, row.told_at + FLAPPING_NOTICE)
            if incident.snoozed_until is not None:
                yield incident.snoozed_until
            yield from (incident.last.detected_at + wait for wait in waits)

    def _digest_slots(self) -> Iterator[datetime]:
        for route in self.project.config.alerts.routes:
            if route.digest is not None:
                yield next_slot((route.digest.at,), self.now, zone=self.project.config.timezone)

    def _told_of_lasting(self) -> Iterator[LastNotification]:
        for number in sorted(self.lasting):
            yield from self.told.get(number, {}).values()

    # --- alerts -------------------------------------------------------------------------------------------------------

    def _notify(self) -> Iterator[Alarm]:
        """Decide on what is due, and yield what channels are told; it reaches them at once."""
        self._requeue_missed()
        due = self._due()
        if not due:
            return
        decided = NotificationPass(self.project, self._facts(due), self.now, remind=True)
        self.held = {moment for moment in self.held | {*decided.reminder_hold_ends} if moment > self.now}
        messages = list(decided.messages())
        for message in messages:
            delivery = message.delivery_id or f"message {next(self.ids)}"
            self.deliveries[delivery] = DeliveryState.SENT
            self.written.setdefault(message.channel, []).append(self.now)
            for row in decided.record(message, delivery):
                self.told.setdefault(row.incident_id, {})[row.channel] = row
            for item in message.batch.items:
                incident = item.incident
                if incident.check_id in self.checks:
                    yield Alarm(self.now, message.channel, item.reason, incident.check_id, incident.table, delivery)
        self._conclude(decided, is_news=bool(messages))

    def _conclude(self, decided: NotificationPass, *, is_news: bool) -> None:
        """Take down what was decided on changes; `is_news`: a channel was notified."""
        decisions = decided.decisions()
        unaltered = [number for pending in decisions if not self._is_altered(pending) for number in pending.ids]
        if is_news or any(self._alters_others(pending) for pending in decisions):
            self._skip_nothing()
            unaltered = []
        for pending in decisions:
            settled_at = self.now if pending.until is None else None
            for number in pending.ids:
                last = replace(self.waiting[number], not_before=pending.until, settled_at=settled_at)
                self._take_down(replace(last, decision=pending.decision))
        if unaltered and all(pending.until == self.now + RECHECK_AFTER for pending in decisions):
            self._skip(unaltered, decided.hold_ends)

    # --- times that are skipped ---------------------------------------------------------------------------------------

    def _is_altered(self, pending: PendingDecision) -> bool:
        """Check whether a decision differs from the last one."""
        return any(self.waiting[number].decision != pending.decision for number in pending.ids)

    def _alters_others(self, pending: PendingDecision) -> bool:
        """Check whether other decisions may differ after a decision: a change settled, or was dropped for a channel."""
        drops = any(was_dropped(pending.decision, channel) for channel in self.project.config.alerts.channels)
        return pending.until is None or (drops and self._is_altered(pending))

    def _skip(self, changes: Sequence[int], holds: Iterable[datetime]) -> None:
        """Decide on changes again only at the last time before anything else can be decided; `holds`: when they end."""
        steps = (self._next_change(changes, holds) - self.now - timedelta.resolution) // RECHECK_AFTER
        if steps > 1:
            self.skipping.update(changes)
            for number in changes:
                self._take_down(replace(self.waiting[number], not_before=self.now + steps * RECHECK_AFTER))

    def _skip_nothing(self) -> None:
        """Decide again at the next of the times that are skipped: something changed."""
        for number in self.skipping:
            last = self.waiting[number]
            if last.not_before is not None:
                steps = (last.not_before - self.now) // RECHECK_AFTER
                self._take_down(replace(last, not_before=last.not_before - steps * RECHECK_AFTER))
        self.skipping.clear()

    def _next_change(self, changes: Iterable[int], holds: Iterable[datetime]) -> datetime:
        """Return the next moment at which time alone may alter the decision on changes, a day ahead at most."""
        incidents = {self.waiting[number].incident_id or 0 for number in changes}
        if self.calendar_edge <= self.now:
            edges = (moment for moment in self._calendar() if moment > self.now)
            self.calendar_edge = min(edges, default=self.now + _DAY)
        moments = (*holds, *self.held, *self._moments_of(incidents | self.lasting), self.calendar_edge)
        return min(moment for moment in moments if moment > self.now)

    def _calendar(self) -> Iterator[datetime]:
        """Yield the next moments at which quiet hours, maintenance or silences begin or end, or a digest is due."""
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
        lasting = [LastingIncident.of(self.incidents[number]) for number in sorted(self.lasting)]
        unheard = missing_channels(self.project.config, lasting, self._told_of_lasting(), now=self.now)
        for number, channels in unheard.items():
            last = self.transitions.get(number)
            if last is not None and is_missed(last, channels):
                self._take_down(replace(last, settled_at=None, not_before=self.now))

    def _due(self) -> DueIncidents:
        config = self.project.config
        for number in [number for number in self.skipping if self._is_due(self.waiting[number])]:
            self.skipping.remove(number)
            self._take_down(replace(self.waiting[number], not_before=self.now))
        waiting = [item for item in self.waiting.values() if (item.not_before or _BEFORE_ALL) <= self.now]
        lasting = {
            row.incident_id
            for row in self._told_of_lasting()
            if row.channel in config.alerts.channels
            and (may_be_reminded(row, self.project, self.now) or self._is_unheard(row))
        }
        waiting.sort(key=lambda item: (item.not_before or _BEFORE_ALL, item.id))
        return DueIncidents.of(waiting, lasting, config, self.now)

    def _is_due(self, skipped: Transition) -> bool:
        """Check whether a daemon decides now on a change on which it decides every five minutes."""
        return skipped.not_before is None or not (skipped.not_before - self.now) % RECHECK_AFTER

    def _is_unheard(self, row: LastNotification) -> bool:
        follows = self.project.config.alerts.channels[row.channel].kind.follows
        return follows and needs_acknowledged_notice(self.incidents[row.incident_id], row)

    def _facts(self, due: DueIncidents) -> AlertFacts:
        incidents = {number: self.incidents[number] for number in (*due.changed, *due.lasting)}
        return AlertFacts(
            due=due,
            incidents=incidents,
            last_notifications={number: self.told.get(number, {}) for number in incidents},
            delivery_states=self.deliveries,
            hold_rules=self._hold_rules(),
            disabled={},
            recent_messages={channel: self._lately(channel) for channel in self.project.config.alerts.channels},
            digest_ids=self.deliveries.keys(),
            acknowledged_by=self.acknowledged_by,
        )

    def _lately(self, channel: str) -> Sequence[datetime]:
        moments = self.written.setdefault(channel, [])
        moments[:] = [moment for moment in moments if moment > self.now - HOUR]
        return moments

    def _hold_rules(self) -> HoldRules:
        config = self.project.config
        silences = [item for item in self.silences if item.starts_at <= self.now < _end(item)]
        around = list(self._around()) if config.alerts.mute_downstream else []
        told = {incident.id: list(self.told.get(incident.id, {}).values()) for incident in around}
        latest = {incident.id: last for incident in around if (last := self.transitions.get(incident.id)) is not None}
        recipients = Recipients(told, pending_channels(latest, config.alerts.channels))
        return HoldRules(config, silences=silences, around=around, now=self.now, recipients=recipients)

    def _around(self) -> Iterator[Incident]:
        """Yield the incidents that may mute others: those that last, and those that were resolved just now."""
        since = self.now - LONGEST_GRACE
        for incident in self.incidents.values():
            ended_at = incident.last.resolved_at
            if ended_at is None or ended_at >= since:
                yield incident


def _end(silence: Silence) -> datetime:
    return silence.until if silence.ended_at is None else min(silence.until, silence.ended_at)
