"""Find what channels are to hear of incidents that last, though the outbox has nothing new of them.

That is: reminders; who takes care of it; and what was never told to a channel, since its route came later, its way was
lost, or it is the next in line and nobody acknowledged the incident. Such a change is decided on once more, like any
other. What was imported has no change that anybody had to hear of, so it stays silent until there is one; what quiet
hours dropped stays dropped.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from incidents import from_us, unacknowledged_for
from monitor.alerts.decide import FLAPPING_NOTICE, HEARD_OF_ACKNOWLEDGEMENT, NotificationReason
from monitor.alerts.decision_record import was_dropped
from monitor.alerts.route import Routing, channels_for
from monitor.config import Config
from monitor.config.project import Project
from store import LastingIncident, LastNotification, ReadTransaction, Store, Transition

_EVERYTHING: Final = 1_000_000
_JUST_NOW: Final = timedelta(minutes=5)
"""An acknowledgement that is older is told when it is looked at what lasts."""


def to_hear_of_lasting(
    tx: ReadTransaction,
    project: Project,
    last_notifications: Iterable[LastNotification],
    *,
    disabled: Collection[str],
    now: datetime,
    remind: bool,
) -> set[int]:
    """Return the lasting incidents of which a channel that is used may be told: reminders, and who takes care.

    `last_notifications`: of incidents that last. `disabled` are the channels that are not used. Without `remind`: only
    those that were acknowledged just now.
    """
    used = project.config.alerts.channels.keys() - disabled
    return _acknowledged_unheard(tx, project, used, from_us(0) if remind else now - _JUST_NOW) | {
        last_notification.incident_id
        for last_notification in last_notifications
        if last_notification.channel in used and may_be_reminded(last_notification, project, now)
    }


def may_be_reminded(last_notification: LastNotification, project: Project, now: datetime) -> bool:
    """Check whether so much time has passed since a channel was told that it may be told again."""
    soonest = min(project.config.alerts.remind_every, FLAPPING_NOTICE)
    if project.config.alerts.has_digest(last_notification.channel):
        soonest = timedelta(0)  # what lasts is in every digest
    return last_notification.reason != NotificationReason.RESOLVED and now - last_notification.told_at >= soonest


def _acknowledged_unheard(tx: ReadTransaction, project: Project, used: Collection[str], since: datetime) -> set[int]:
    """Return the incidents that are acknowledged, which a channel that shows them as they stand does not know."""
    following = [name for name in used if project.config.alerts.channels[name].kind.follows]
    if not following:
        return set()
    return tx.external_items.unheard_acknowledgements(dict.fromkeys(following, HEARD_OF_ACKNOWLEDGEMENT), since)


def backfill(
    config: Config, tx: ReadTransaction, last_notifications: Iterable[LastNotification], *, now: datetime, limit: int
) -> Sequence[int]:
    """Return the ids of settled transitions to decide on once more, at most so many, the oldest incident first.

    `last_notifications` is what channels were last told of incidents that last.
    """
    unheard = unheard_channels(config, tx.outbox.open_incidents(), last_notifications, now=now)
    last = tx.outbox.latest(unheard)
    return [last[item].id for item, channels in unheard.items() if item in last and is_missed(last[item], channels)][
        :limit
    ]


def unheard_channels(
    config: Config,
    lasting: Iterable[LastingIncident],
    last_notifications: Iterable[LastNotification],
    *,
    now: datetime,
) -> Mapping[int, Sequence[str]]:
    """Return by incident that lasts the channels that should know of it and were not told."""
    episode_heard_of = {
        (last_notification.incident_id, last_notification.channel): last_notification.episodes
        for last_notification in last_notifications
        if last_notification.reason != NotificationReason.RESOLVED
    }
    unheard: dict[int, list[str]] = {}
    routings: dict[object, Routing] = {}
    waits = sorted(route.unacknowledged_for for route in config.alerts.routes if route.unacknowledged_for is not None)
    for item in lasting:
        waited = unacknowledged_for(item.detected_at, item.acknowledged_at, now) if waits else timedelta(0)
        alike = (item.table, item.severity, item.kind, bisect_right(waits, waited))
        if alike not in routings:
            routings[alike] = channels_for(item.table, config, severity=item.severity, kind=item.kind, waited=waited)
        missing = []
        for channel, reached in routings[alike].channels.items():
            heard_of = episode_heard_of.get((item.incident_id, channel))
            # nothing new happens when a wait is over, so whoever knows of an earlier episode only is found here
            if heard_of is None or (reached.later and not item.flapping and heard_of < item.episodes):
                missing.append(channel)
        if missing:
            unheard[item.incident_id] = missing
    return unheard


def is_missed(last: Transition, channels: Sequence[str]) -> bool:
    """Check whether the last change of an incident is settled and was to be told to one of these channels."""
    if last.settled_at is None:
        return False  # it waits to be decided on anyhow
    return any(not was_dropped(last.decision, channel) for channel in channels)


def decide_again(store: Store, now: datetime) -> int:
    """Let everything that waits be decided anew at once, and give how many changes that is.

    For when the clock went back, the configuration changed, a silence was ended, or a channel is used again.
    """
    with store.writing() as tx:
        waiting = tx.outbox.waiting(_EVERYTHING)
        return len(tx.outbox.postpone([transition.id for transition in waiting], now))
