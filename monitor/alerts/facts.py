"""What a decision on alerts looks at, as values: what changed or lasts, what channels know, what holds alerts back."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Self

from incidents import Acknowledged, Incident, State
from monitor.alerts.batch import HOUR, ready
from monitor.alerts.digest import digest_id, last_slot
from monitor.alerts.hold import Circumstances
from monitor.alerts.inhibition import circumstances_of
from monitor.alerts.lasting import to_hear_of_lasting
from monitor.alerts.warning import incidents_and_warnings, last_notifications, notified_id
from monitor.config import Config
from monitor.config.project import Project
from store import DeliveryState, Disabled, LastNotification, ReadTransaction, Transition

AT_ONCE: Final = 25_000
"""Transitions decided on in one go: four checks of 5,000 tables, since what comes later is not in today's digest."""


@dataclass(frozen=True, slots=True)
class DueIncidents:
    """What is to be decided on: changes whose group has waited, by incident, and other incidents that last."""

    changed: Mapping[int, Sequence[Transition]]
    lasting: Collection[int]

    @classmethod
    def of(cls, waiting: Iterable[Transition], lasting: Iterable[int], config: Config, now: datetime) -> Self:
        """Return what may be decided on of what waits and lasts."""
        changed: dict[int, list[Transition]] = {}
        for group in ready(list(waiting), group_wait=config.alerts.group_wait, now=now).values():
            for transition in group:
                changed.setdefault(notified_id(transition), []).append(transition)
        return cls(changed, sorted(set(lasting).difference(changed)))

    @classmethod
    def read(cls, project: Project, tx: ReadTransaction, now: datetime, *, remind: bool) -> Self:
        """Return what may be decided on now; `remind`: also of all that lasts."""
        lasting = to_hear_of_lasting(
            tx,
            project,
            tx.outbox.last_notifications_of_open() if remind else (),
            disabled=tx.silences.disabled_channels(),
            now=now,
            remind=remind,
        )
        return cls.of(tx.outbox.due(now, AT_ONCE), lasting, project.config, now)

    def __len__(self) -> int:
        """Return of how many incidents it is."""
        return len(self.changed) + len(self.lasting)

    def among(self, ids: Iterable[int]) -> "DueIncidents":
        """Return what of it is about these incidents."""
        ids = frozenset(ids)
        changed = {number: news for number, news in self.changed.items() if number in ids}
        return DueIncidents(changed, [number for number in self.lasting if number in ids])


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """What is known at a moment of what is to be decided on.

    `told`: what each channel was last told, by incident, and since when it knows; `states`: how far those messages are.
    `written`: when each channel was given messages in the last hour. `digests`: the ids of the newest that are made.
    `acknowledged_by`: who takes care of an incident.
    """

    due: DueIncidents
    incidents: Mapping[int, Incident]
    told: Mapping[int, Mapping[str, LastNotification]]
    states: Mapping[str, DeliveryState]
    circumstances: Circumstances
    disabled: Mapping[str, Disabled]
    written: Mapping[str, Sequence[datetime]]
    digests: Collection[str]
    acknowledged_by: Mapping[int, str]


def read_facts(project: Project, tx: ReadTransaction, due: DueIncidents, now: datetime) -> AlertFacts:
    """Return what the store has of what is to be decided on."""
    config, disabled = project.config, tx.silences.disabled_channels()
    incidents = incidents_and_warnings(tx, [*due.changed, *due.lasting])
    rows = last_notifications(tx, incidents)
    messages, digests = {row.delivery_id for row in rows}, _digests(project, now)
    states = tx.deliveries.states([*messages, *digests])
    return AlertFacts(
        due=due,
        incidents=incidents,
        told=_told(rows, tx.deliveries.sent_at(messages)),
        states=states,
        circumstances=circumstances_of(config, tx, incidents.values(), disabled=disabled, now=now),
        disabled=disabled,
        written=tx.deliveries.created_since(now - HOUR, config.alerts.channels),
        digests=states.keys() & digests,
        acknowledged_by=_acknowledged_by(tx, incidents.values()),
    )


def _told(
    rows: Iterable[LastNotification], sent_at: Mapping[str, datetime]
) -> Mapping[int, Mapping[str, LastNotification]]:
    """Return what channels know; what reached them late they know since then, so that no reminder follows at once."""
    told: dict[int, dict[str, LastNotification]] = {}
    for row in rows:
        heard_at = max(row.told_at, sent_at.get(row.delivery_id, row.told_at))
        told.setdefault(row.incident_id, {})[row.channel] = replace(row, told_at=heard_at)
    return told


def _digests(project: Project, now: datetime) -> set[str]:
    """Return the ids of the newest digests that may be made by now."""
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
