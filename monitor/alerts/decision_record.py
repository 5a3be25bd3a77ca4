"""What was decided for one channel about one change, as the log shows it and the store keeps it (JSON).

Find what lasts and was never told to a channel that is to hear of it: its route came later, or its way was lost.

Such a change is decided on once more, like any other. What was imported has no change that anybody had to hear of, so
it stays silent until there is one; what quiet hours dropped stays dropped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from monitor.alerts.decide import NotificationReason
from monitor.alerts.hold import Hold, HoldReason
from monitor.alerts.route import channels_for
from monitor.config import Config
from store import Lasting, LastNotification, ReadTransaction, Transition


class DecisionAction(StrEnum):
    """What was done."""

    TOLD = "told"
    HELD = "held"
    """Not now: it is decided again."""
    DROPPED = "dropped"
    """Never: quiet hours that drop what happens in them."""
    NOTHING = "nothing"
    """There was nothing to tell."""


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision for one channel.

    `reason` is what there was to tell, `why` in a few words, `by` how the channel is reached. `held_by`, `hold` and
    `until` say what held it back, also after it did. `owed`: it is told afterwards even if it is over by then.
    `delivery` is the message.
    """

    action: DecisionAction
    reason: NotificationReason
    why: str
    by: tuple[str, ...] = ()
    held_by: HoldReason | None = None
    hold: str | None = None
    until: datetime | None = None
    owed: bool = False
    delivery: str | None = None

    @classmethod
    def read(cls, decision: Mapping[str, Any] | None, channel: str) -> Self | None:
        """Return what was decided for a channel before; None if nothing was."""
        plain = (decision or {}).get("channels", {}).get(channel)
        if plain is None:
            return None
        return cls(
            action=DecisionAction(plain["action"]),
            reason=NotificationReason(plain["reason"]),
            why=plain["why"],
            by=tuple(plain["by"]),
            held_by=None if plain["held_by"] is None else HoldReason(plain["held_by"]),
            hold=plain["hold"],
            until=None if plain["until"] is None else datetime.fromisoformat(plain["until"]),
            owed=plain["owed"],
            delivery=plain["delivery"],
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "action": self.action.value,
            "reason": self.reason.value,
            "why": self.why,
            "by": list(self.by),
            "held_by": None if self.held_by is None else self.held_by.value,
            "hold": self.hold,
            "until": None if self.until is None else self.until.isoformat(),
            "owed": self.owed,
            "delivery": self.delivery,
        }

    def held(self, hold: Hold) -> "DecisionRecord":
        """Return the same decision, but not now."""
        return replace(
            self,
            action=DecisionAction.HELD,
            held_by=hold.by,
            hold=hold.why,
            until=hold.until,
            owed=self.owed or hold.by.owes,
        )

    def after(self, before: "DecisionRecord | None") -> "DecisionRecord":
        """Return what stays of an earlier decision and this one.

        What was told stays told, what held it back is kept.
        """
        if before is None:
            return self
        if before.action in {DecisionAction.TOLD, DecisionAction.DROPPED} and self.action is not DecisionAction.TOLD:
            return before
        if self.held_by is None and before.held_by is not None:
            kept = replace(self, held_by=before.held_by, hold=before.hold, until=before.until)
            return replace(kept, owed=self.owed or before.owed)
        return replace(self, owed=self.owed or before.owed)


def was_dropped(decision: Mapping[str, Any] | None, channel: str) -> bool:
    """Check whether quiet hours dropped a change for a channel."""
    record = DecisionRecord.read(decision, channel)
    return record is not None and record.action is DecisionAction.DROPPED


def as_decision(records: Mapping[str, DecisionRecord], why: str | None) -> dict[str, Any]:
    """Return the decision on a change as the store keeps it; `why` says it where no channel is concerned."""
    return {"why": why, "channels": {channel: record.as_json() for channel, record in records.items()}}


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
