"""Find unresolved incidents of which channels may be notified although nothing changed.

These are reminders, acknowledgements, and missed notifications: the route was added later, the message was given up, or
the channel is the next in line and the incident is unacknowledged. The last change of such an incident is decided
again, as any other. Imported incidents have no changes in the outbox, so nothing is sent until there is one; alerts
that quiet hours dropped stay dropped.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from incidents import from_us, unacknowledged_for
from monitor.alerts.decide import ACKNOWLEDGEMENT_KNOWN_FROM, FLAPPING_NOTICE, NotificationReason
from monitor.alerts.decision_record import was_dropped
from monitor.alerts.route import Routing, channels_for
from monitor.config import Config
from monitor.config.project import Project
from store import LastingIncident, LastNotification, ReadTransaction, Store, Transition

_ALL: Final = 1_000_000
_JUST_NOW: Final = timedelta(minutes=5)
"""An older acknowledgement is sent with the next reminders."""


def due_reminders(
    tx: ReadTransaction,
    project: Project,
    last_notifications: Iterable[LastNotification],
    *,
    disabled: Collection[str],
    now: datetime,
    remind: bool,
) -> set[int]:
    """Return the unresolved incidents of which a channel may get a reminder or an acknowledgement.

    `last_notifications`: of unresolved incidents. Channels that are `disabled` get none. Without `remind`: only
    incidents that were acknowledged just now.
    """
    used = project.config.alerts.channels.keys() - disabled
    return _newly_acknowledged(tx, project, used, from_us(0) if remind else now - _JUST_NOW) | {
        last_notification.incident_id
        for last_notification in last_notifications
        if last_notification.channel in used and may_be_reminded(last_notification, project, now)
    }


def may_be_reminded(last_notification: LastNotification, project: Project, now: datetime) -> bool:
    """Check whether the last notification is so long ago that a channel may get a reminder."""
    soonest = min(project.config.alerts.remind_every, FLAPPING_NOTICE)
    if project.config.alerts.has_digest(last_notification.channel):
        soonest = timedelta(0)  # open incidents are in every digest
    return last_notification.reason != NotificationReason.RESOLVED and now - last_notification.told_at >= soonest


def _newly_acknowledged(tx: ReadTransaction, project: Project, used: Collection[str], since: datetime) -> set[int]:
    """Return the acknowledged incidents whose items in a channel (`follows`) do not show it yet."""
    following = [name for name in used if project.config.alerts.channels[name].kind.follows]
    if not following:
        return set()
    return tx.external_items.unheard_acknowledgements(dict.fromkeys(following, ACKNOWLEDGEMENT_KNOWN_FROM), since)


def missed_transitions(
    config: Config, tx: ReadTransaction, last_notifications: Iterable[LastNotification], *, now: datetime, limit: int
) -> Sequence[int]:
    """Return the ids of decided transitions to decide on again, at most `limit`, the oldest incident first.

    `last_notifications`: of unresolved incidents.
    """
    missing = missing_channels(config, tx.outbox.open_incidents(), last_notifications, now=now)
    last = tx.outbox.latest(missing)
    missed = [
        last[number].id for number, channels in missing.items() if number in last and is_missed(last[number], channels)
    ]
    return missed[:limit]


def missing_channels(
    config: Config,
    lasting: Iterable[LastingIncident],
    last_notifications: Iterable[LastNotification],
    *,
    now: datetime,
) -> Mapping[int, Sequence[str]]:
    """Return, by unresolved incident, the channels that it is routed to and that were not notified of it."""
    notified_episodes = {
        (last_notification.incident_id, last_notification.channel): last_notification.episodes
        for last_notification in last_notifications
        if last_notification.reason != NotificationReason.RESOLVED
    }
    results: dict[int, list[str]] = {}
    routings: dict[object, Routing] = {}
    waits = sorted(route.unacknowledged_for for route in config.alerts.routes if route.unacknowledged_for is not None)
    for item in lasting:
        waited = unacknowledged_for(item.detected_at, item.acknowledged_at, now) if waits else timedelta(0)
        alike = (item.table, item.severity, item.kind, bisect_right(waits, waited))
        if alike not in routings:
            routings[alike] = channels_for(item.table, config, severity=item.severity, kind=item.kind, waited=waited)
        missing = []
        for channel, reached in routings[alike].channels.items():
            episode = notified_episodes.get((item.incident_id, channel))
            # `unacknowledged_for` is over without a change, so channels notified of an earlier episode are found here
            if episode is None or (reached.later and not item.flapping and episode < item.episodes):
                missing.append(channel)
        if missing:
            results[item.incident_id] = missing
    return results


def is_missed(last: Transition, channels: Sequence[str]) -> bool:
    """Check whether the last change of an incident is decided for good, and not dropped for all of these channels."""
    if last.settled_at is None:
        return False  # it is decided on anyhow
    return any(not was_dropped(last.decision, channel) for channel in channels)


def decide_again(store: Store, now: datetime) -> int:
    """Make all changes that are held back due at once, and return their number.

    For when a silence was ended, or a channel is enabled again.
    """
    with store.writing() as tx:
        waiting = tx.outbox.waiting(_ALL)
        return len(tx.outbox.postpone([transition.id for transition in waiting], now))
