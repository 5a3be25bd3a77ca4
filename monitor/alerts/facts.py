"""Read from the store what a decision on alerts depends on: changes, incidents, last notifications, messages, holds.

A warning without an incident takes the same way in the form of an incident that is not stored: its id is negative, it
has one episode, and there are no reminders of it. Its last notifications follow from the decisions on its changes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Self

from checks import OccurrenceMethod
from incidents import Acknowledged, Episode, FoundBy, Incident, Onset, Resolution, State, WarningSpell
from monitor.alerts.batch import HOUR, ready
from monitor.alerts.decide import NotificationReason, last_delivered
from monitor.alerts.decision_record import DecisionAction, DecisionRecord, was_dropped
from monitor.alerts.digest import digest_id, last_slot
from monitor.alerts.hold import LONGEST_GRACE, NO_RECIPIENTS, HoldRules, Recipients
from monitor.alerts.reminders import due_reminders
from monitor.config import Config
from monitor.config.project import Project
from store import Changed, DeliveryState, Disabled, IncidentFilter, LastNotification, ReadTransaction, Transition

BATCH_LIMIT: Final = 25_000
"""The most changes decided together: four checks of 5,000 tables, since later ones are not in the digest of the day."""
_UNRESOLVED: Final = tuple(state for state in State if state is not State.RESOLVED)


@dataclass(frozen=True, slots=True)
class DueIncidents:
    """The incidents to decide on: those with changes whose `group_wait` is over, and others that may have reminders."""

    changed: Mapping[int, Sequence[Transition]]
    lasting: Collection[int]

    @classmethod
    def of(cls, waiting: Iterable[Transition], lasting: Iterable[int], config: Config, now: datetime) -> Self:
        """Return those of these changes and unresolved incidents that are due."""
        changed: dict[int, list[Transition]] = {}
        for group in ready(list(waiting), group_wait=config.alerts.group_wait, now=now).values():
            for transition in group:
                changed.setdefault(notified_id(transition), []).append(transition)
        return cls(changed, sorted(set(lasting).difference(changed)))

    @classmethod
    def read(cls, project: Project, tx: ReadTransaction, now: datetime, *, remind: bool) -> Self:
        """Return those of the store that are due; `remind`: with all reminders."""
        lasting = due_reminders(
            tx,
            project,
            tx.outbox.last_notifications_of_open() if remind else (),
            disabled=tx.silences.disabled_channels(),
            now=now,
            remind=remind,
        )
        return cls.of(tx.outbox.due(now, BATCH_LIMIT), lasting, project.config, now)

    def __len__(self) -> int:
        """Return the number of incidents."""
        return len(self.changed) + len(self.lasting)

    def among(self, ids: Iterable[int]) -> "DueIncidents":
        """Return those with these ids."""
        ids = frozenset(ids)
        changed = {number: transitions for number, transitions in self.changed.items() if number in ids}
        return DueIncidents(changed, [number for number in self.lasting if number in ids])


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """What a decision depends on, at one moment.

    `last_notifications`: by incident and channel; `told_at` is when the message was delivered. `delivery_states`: of
    their messages. `recent_messages`: when messages about incidents were written in the last hour, by channel.
    `digest_ids`: the newest digests that are written. `acknowledged_by`: by incident.
    """

    due: DueIncidents
    incidents: Mapping[int, Incident]
    last_notifications: Mapping[int, Mapping[str, LastNotification]]
    delivery_states: Mapping[str, DeliveryState]
    hold_rules: HoldRules
    disabled: Mapping[str, Disabled]
    recent_messages: Mapping[str, Sequence[datetime]]
    digest_ids: Collection[str]
    acknowledged_by: Mapping[int, str]


def read_facts(project: Project, tx: ReadTransaction, due: DueIncidents, now: datetime) -> AlertFacts:
    """Return what decisions on these incidents depend on."""
    config, disabled = project.config, tx.silences.disabled_channels()
    incidents = incidents_and_warnings(tx, [*due.changed, *due.lasting])
    rows = _last_notifications(tx, incidents)
    messages, digests = {row.delivery_id for row in rows}, _due_digests(project, now)
    states = tx.deliveries.states([*messages, *digests])
    return AlertFacts(
        due=due,
        incidents=incidents,
        last_notifications=_by_incident(rows, tx.deliveries.sent_at(messages)),
        delivery_states=states,
        hold_rules=read_hold_rules(config, tx, incidents.values(), disabled=disabled, now=now),
        disabled=disabled,
        recent_messages=tx.deliveries.created_since(now - HOUR, config.alerts.channels),
        digest_ids=states.keys() & digests,
        acknowledged_by=_acknowledged_by(tx, incidents.values()),
    )


def _by_incident(
    rows: Iterable[LastNotification], sent_at: Mapping[str, datetime]
) -> Mapping[int, Mapping[str, LastNotification]]:
    """Return notifications by incident and channel, as of their delivery: no reminder follows a late one at once."""
    results: dict[int, dict[str, LastNotification]] = {}
    for row in rows:
        delivered_at = max(row.told_at, sent_at.get(row.delivery_id, row.told_at))
        results.setdefault(row.incident_id, {})[row.channel] = replace(row, told_at=delivered_at)
    return results


def _due_digests(project: Project, now: datetime) -> set[str]:
    """Return the ids of the newest digests that were due by now, written or not."""
    alerts = project.config.alerts
    times = {route.digest.at for route in alerts.routes if route.digest is not None}
    slots = {last_slot([at], now, zone=project.config.timezone) for at in times}
    return {digest_id(channel, slot) for channel in alerts.channels for slot in slots}


def _acknowledged_by(tx: ReadTransaction, incidents: Iterable[Incident]) -> Mapping[int, str]:
    acknowledged = [incident.id for incident in incidents if incident.state is State.ACKNOWLEDGED]
    histories = tx.incidents.histories(acknowledged) if acknowledged else {}
    return {
        number: event.actor
        for number, events in histories.items()
        for event in events
        if isinstance(event.change, Acknowledged)
    }


# --- holds ------------------------------------------------------------------------------------------------------------


def read_hold_rules(
    config: Config,
    tx: ReadTransaction,
    incidents: Iterable[Incident],
    *,
    disabled: Mapping[str, Disabled],
    now: datetime,
) -> HoldRules:
    """Return what may hold back alerts of these incidents: silences, and incidents upstream; of `disabled` channels."""
    tables = {incident.table for incident in incidents}
    lineage = config.lineage
    upstream = {ancestor for table in tables for ancestor in lineage.above(table)}
    related = tuple(sorted(upstream.union(*(lineage.below(table) for table in tables))))
    around: list[Incident] = []
    if related and config.alerts.mute_downstream:
        around = tx.incidents.matching(IncidentFilter(states=_UNRESOLVED, tables=related))
        since = now - LONGEST_GRACE
        just_resolved = IncidentFilter(states=(State.RESOLVED,), tables=tuple(sorted(upstream)), since=since)
        around += tx.incidents.matching(just_resolved) if upstream else []
    recipients = _recipients(config, tx, [incident.id for incident in around], disabled) if around else NO_RECIPIENTS
    return HoldRules(config, silences=tx.silences.all(now), around=around, now=now, recipients=recipients)


def _recipients(
    config: Config, tx: ReadTransaction, incident_ids: Sequence[int], disabled: Mapping[str, Disabled]
) -> Recipients:
    """Return who was or will be notified of incidents: not by a message that was given up, or to a disabled channel."""
    rows = tx.outbox.last_notifications(incident_ids)
    states = tx.deliveries.states({row.delivery_id for row in rows})
    delivered: dict[int, list[LastNotification]] = {}
    for row in rows:
        state = states.get(row.delivery_id)
        lost = state is DeliveryState.DEAD or (state is DeliveryState.WAITING and row.channel in disabled)
        last_notification = last_delivered(row) if lost else row
        if last_notification is not None:
            delivered.setdefault(row.incident_id, []).append(last_notification)
    used = [channel for channel in config.alerts.channels if channel not in disabled]
    return Recipients(delivered, pending_channels(tx.outbox.latest(incident_ids), used))


def pending_channels(latest: Mapping[int, Transition], channels: Iterable[str]) -> Mapping[int, Sequence[str]]:
    """Return, by incident, the channels for which its last change is not decided on for good; `latest`: these."""
    return {
        number: [channel for channel in channels if not was_dropped(transition.decision, channel)]
        for number, transition in latest.items()
        if transition.settled_at is None
    }


# --- warnings ---------------------------------------------------------------------------------------------------------


def incidents_and_warnings(tx: ReadTransaction, ids: Iterable[int]) -> Mapping[int, Incident]:
    """Return incidents, and warnings for negative ids, by id."""
    ids = list(ids)
    results = dict(tx.incidents.get_many([number for number in ids if number > 0]))
    warnings = [-number for number in ids if number < 0]
    if warnings:
        results |= {-number: as_incident(spell) for number, spell in tx.warnings.get_many(warnings).items()}
    return results


def notified_id(transition: Transition) -> int:
    """Return the id of the incident that changed, or the negative one of the warning."""
    return transition.incident_id if transition.incident_id is not None else -(transition.warning_id or 0)


def as_incident(spell: WarningSpell) -> Incident:
    """Return a warning in the form of an incident."""
    is_over = spell.ended_at is not None
    onset = Onset(spell.began_at, spell.began_at, spell.began_at, OccurrenceMethod.FIRST_OBSERVATION)
    return Incident(
        id=-spell.id,
        fingerprint=spell.series,
        table=spell.table,
        check_id=spell.check_id,
        kind=spell.kind,
        severity=spell.severity,
        title=spell.title,
        title_values=spell.title_values,
        found_by=FoundBy.CHECK,
        state=State.RESOLVED if is_over else State.OPEN,
        episodes=(Episode(onset, spell.began_at, spell.ended_at),),
        resolution=Resolution.FIXED if is_over else None,
    )


def _last_notifications(tx: ReadTransaction, incidents: Mapping[int, Incident]) -> list[LastNotification]:
    """Return the last notification of each channel about incidents and warnings."""
    warnings = [-number for number in incidents if number < 0]
    results = tx.outbox.last_notifications(number for number in incidents if number > 0)
    return [*results, *_last_notifications_of_warnings(tx, warnings, incidents)] if warnings else results


def _last_notifications_of_warnings(
    tx: ReadTransaction, warnings: Iterable[int], incidents: Mapping[int, Incident]
) -> Iterator[LastNotification]:
    """Yield the last notifications of warnings, by the decisions on their beginnings and ends."""
    last: dict[tuple[int, str], LastNotification] = {}
    for transition in tx.outbox.of_warnings(warnings):
        is_end = transition.change is Changed.RESOLVED
        for channel in (transition.decision or {}).get("channels", {}):
            record = DecisionRecord.read(transition.decision, channel)
            if record is None or record.action is not DecisionAction.NOTIFIED or record.delivery is None:
                continue
            number = notified_id(transition)
            last[number, channel] = LastNotification(
                incident_id=number,
                channel=channel,
                reason=NotificationReason.RESOLVED if is_end else NotificationReason.FIRST,
                severity=incidents[number].severity,
                episodes=1,
                told_at=transition.recorded_at,
                delivery_id=record.delivery,
            )
    yield from last.values()
