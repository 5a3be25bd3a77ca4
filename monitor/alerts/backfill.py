"""Find what lasts and was never told to a channel that is to hear of it: its route came later, or its way was lost.

Such a change is decided on once more, like any other. What was imported has no change that anybody had to hear of, so
it stays silent until there is one; what quiet hours dropped stays dropped.
"""

from collections.abc import Iterable, Sequence

from monitor.alerts.decide import NotificationReason
from monitor.alerts.decision_record import was_dropped
from monitor.alerts.route import channels_for
from monitor.config import Config
from store import Lasting, LastNotification, ReadTransaction, Transition


def backfill(
    config: Config, tx: ReadTransaction, last_notifications: Iterable[LastNotification], *, limit: int
) -> Sequence[int]:
    """Return the ids of settled transitions to decide on once more, at most so many, the oldest incident first.

    `last_notifications` is what channels were last told of incidents that last.
    """
    knows = {
        (last_notification.incident_id, last_notification.channel)
        for last_notification in last_notifications
        if last_notification.reason != NotificationReason.RESOLVED
    }
    unheard: dict[int, list[str]] = {}
    routes: dict[object, Sequence[str]] = {}
    for item in tx.outbox.open_incidents():
        channels = routes.get(item[1:])
        if channels is None:
            channels = routes[item[1:]] = _channels(config, item)
        missing = [channel for channel in channels if (item.incident_id, channel) not in knows]
        if missing:
            unheard[item.incident_id] = missing
    last = tx.outbox.latest(unheard)
    return [last[item].id for item, channels in unheard.items() if item in last and _is_missed(last[item], channels)][
        :limit
    ]


def _channels(config: Config, lasting: Lasting) -> Sequence[str]:
    return list(channels_for(lasting.table, config, severity=lasting.severity, kind=lasting.kind).channels)


def _is_missed(last: Transition, channels: Sequence[str]) -> bool:
    if last.settled_at is None:
        return False  # it waits to be decided on anyhow
    return any(not was_dropped(last.decision, channel) for channel in channels)
