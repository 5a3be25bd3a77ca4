"""Find what channels are to hear of incidents that last, though the outbox has nothing new of them."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Final

from incidents import Acknowledged, Incident, State, from_us
from monitor.alerts.decide import FLAPPING_NOTICE, HEARD_OF_ACKNOWLEDGEMENT, NotificationReason
from monitor.config.project import Project
from store import LastNotification, ReadTransaction

_JUST_NOW: Final = timedelta(minutes=5)
"""An acknowledgement that is older is told when it is looked at what lasts."""


def to_hear_of_lasting(
    tx: ReadTransaction,
    project: Project,
    last_notifications: Iterable[LastNotification],
    *,
    now: datetime,
    remind: bool,
) -> set[int]:
    """Return the lasting incidents of which a channel that is used may be told: reminders, and who takes care.

    `last_notifications`: of incidents that last. Without `remind`: only those that were acknowledged just now.
    """
    used = project.config.alerts.channels.keys() - tx.silences.disabled_channels().keys()
    return _acknowledged_unheard(tx, project, used, from_us(0) if remind else now - _JUST_NOW) | {
        last_notification.incident_id
        for last_notification in last_notifications
        if last_notification.channel in used and may_be_reminded(last_notification, project, now)
    }


def may_be_reminded(last_notification: LastNotification, project: Project, now: datetime) -> bool:
    """Check whether so much time has passed since a channel was told that it may be told again."""
    soonest = min(project.config.alerts.remind_every, FLAPPING_NOTICE)
    return last_notification.reason != NotificationReason.RESOLVED and now - last_notification.told_at >= soonest


def _acknowledged_unheard(tx: ReadTransaction, project: Project, used: Collection[str], since: datetime) -> set[int]:
    """Return the incidents that are acknowledged, which a channel that shows them as they stand does not know."""
    following = [name for name in used if project.config.alerts.channels[name].kind.follows]
    return tx.external_items.unheard_acknowledgements(dict.fromkeys(following, HEARD_OF_ACKNOWLEDGEMENT), since)


def acknowledged_by(tx: ReadTransaction, incident: Incident) -> str | None:
    """Return who takes care of an incident; None if nobody does."""
    if incident.state is not State.ACKNOWLEDGED:
        return None
    events = tx.incidents.events(incident.id)
    return next((event.actor for event in reversed(events) if isinstance(event.change, Acknowledged)), None)
