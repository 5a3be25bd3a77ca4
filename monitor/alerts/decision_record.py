"""The decisions on the changes of an incident, by channel: as the store keeps them and as the alert log shows them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Self

from checks import Message
from incidents import Incident
from monitor.alerts.decide import NotificationReason
from monitor.alerts.hold import Hold, HoldReason
from store import Transition

RECHECK_AFTER: Final = timedelta(minutes=5)
"""After how long at most an alert that is held back is decided again."""

UNDECIDED: Final = (
    Message("no alert channel is configured"),
    Message("no daemon has run since; tablewatch run starts one"),
    Message("it waits for other changes of its table (alerts.group_wait)"),
    Message("the daemon decides it next"),
)
"""Why a change has no decision yet; the first reason that holds."""


class DecisionAction(StrEnum):
    """What is done about a change for one channel."""

    NOTIFIED = "told"
    HELD = "held"
    """Not now: it is decided again."""
    DROPPED = "dropped"
    """Never: by quiet hours with `afterwards: drop`, or acknowledged before the next in line was notified."""
    NOTHING = "nothing"
    """There is no reason to notify."""


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision for one channel.

    `reason` to notify it, `why` in a few words, `by` which routes it is reached. `held_by`, `hold` and `until`: what
    held it back, also when that is over. `even_if_resolved`: what was held back is sent even if the incident is
    resolved by then. `delivery`: the id of the message. `escalates` (not stored): because it was unacknowledged.
    """

    action: DecisionAction
    reason: NotificationReason
    why: str
    by: tuple[str, ...] = ()
    held_by: HoldReason | None = None
    hold: str | None = None
    until: datetime | None = None
    even_if_resolved: bool = False
    delivery: str | None = None
    escalates: bool = False

    @classmethod
    def read(cls, decision: Mapping[str, Any] | None, channel: str) -> Self | None:
        """Return the earlier decision for a channel; None if there is none."""
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
            even_if_resolved=plain["owed"],
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
            "owed": self.even_if_resolved,
            "delivery": self.delivery,
        }

    def held(self, hold: Hold) -> "DecisionRecord":
        """Return the same decision, held back."""
        return replace(
            self,
            action=DecisionAction.HELD,
            held_by=hold.by,
            hold=hold.why,
            until=hold.until,
            even_if_resolved=self.even_if_resolved or hold.by.sends_resolved,
        )

    def after(self, earlier: "DecisionRecord | None") -> "DecisionRecord":
        """Return the decision to store after an earlier one: what was sent or dropped stays, and so does the hold."""
        if earlier is None:
            return self
        is_final = earlier.action in {DecisionAction.NOTIFIED, DecisionAction.DROPPED}
        if is_final and self.action is not DecisionAction.NOTIFIED:
            return earlier
        record = replace(self, even_if_resolved=self.even_if_resolved or earlier.even_if_resolved)
        if self.held_by is None and earlier.held_by is not None:
            return replace(record, held_by=earlier.held_by, hold=earlier.hold, until=earlier.until)
        return record


def was_dropped(decision: Mapping[str, Any] | None, channel: str) -> bool:
    """Check whether a change was dropped for a channel."""
    record = (decision or {}).get("channels", {}).get(channel)
    return record is not None and record["action"] == DecisionAction.DROPPED


def hold_ends(decision: Mapping[str, Any]) -> Iterator[datetime]:
    """Yield when the holds of a decision end, where that is known."""
    for record in decision["channels"].values():
        if record["action"] == DecisionAction.HELD and record["until"] is not None:
            yield datetime.fromisoformat(record["until"])


def is_held_by(decision: Mapping[str, Any] | None, reason: HoldReason) -> bool:
    """Check whether a change is or was held back for a channel for a reason."""
    return any(record["held_by"] == reason for record in (decision or {}).get("channels", {}).values())


def encode_decision(records: Mapping[str, DecisionRecord], why: str | None) -> dict[str, Any]:
    """Return the decision on a change as the store keeps it; `why`: the reason where it concerns no channel."""
    return {"why": why, "channels": {channel: record.as_json() for channel, record in records.items()}}


@dataclass(slots=True)
class IncidentNotification:
    """An incident with its undecided changes (none for a reminder) and the decisions, by channel.

    `earlier`: for each change the decisions on it so far.
    """

    incident: Incident
    transitions: Sequence[Transition] = ()
    records: dict[str, DecisionRecord] = field(default_factory=dict)
    why: str | None = None
    earlier: Sequence[Mapping[str, DecisionRecord]] = field(init=False)

    def __post_init__(self) -> None:
        self.earlier = [_records(transition) for transition in self.transitions]

    @property
    def since(self) -> datetime:
        """Return when the first of its changes was recorded."""
        recorded = (transition.recorded_at for transition in self.transitions)
        return min(recorded, default=self.incident.last.detected_at)

    def notifies(self, channel: str) -> bool:
        """Check whether a channel is notified of it."""
        return channel in self.records and self.records[channel].action is DecisionAction.NOTIFIED

    def held_channels(self) -> Mapping[str, bool]:
        """Return the channels for which it was held back before, and whether it is sent even if resolved by now."""
        channels: dict[str, bool] = {}
        for records in self.earlier:
            for channel, record in records.items():
                if record.action is DecisionAction.HELD:
                    channels[channel] = channels.get(channel, False) or record.even_if_resolved
        return channels

    def dropped(self, channel: str) -> DecisionRecord | None:
        """Return the earlier decision where all changes were dropped for a channel, so that it stays; else None."""
        earlier = [records.get(channel) for records in self.earlier]
        is_dropped = all(record is not None and record.action is DecisionAction.DROPPED for record in earlier)
        return earlier[-1] if earlier and is_dropped else None

    def conclusions(
        self, now: datetime, *, next_in_line_at: datetime | None
    ) -> Iterator[tuple[Transition, datetime | None, Mapping[str, object]]]:
        """Yield each change, when it is decided again (None: never), and the decision to store.

        `next_in_line_at`: when further channels may be notified, whatever holds back for the present ones.
        """
        for transition, earlier in zip(self.transitions, self.earlier, strict=True):
            records = {channel: record.after(earlier.get(channel)) for channel, record in self.records.items()}
            holds = [record for record in records.values() if record.action is DecisionAction.HELD]
            times = [now + RECHECK_AFTER, next_in_line_at, *(record.until for record in holds)]
            until = min(time for time in times if time is not None) if holds else None
            unrouted = {channel: _unrouted(record) for channel, record in earlier.items() if channel not in records}
            yield transition, until, encode_decision({**unrouted, **records}, self.why)


def _records(transition: Transition) -> Mapping[str, DecisionRecord]:
    channels = (transition.decision or {}).get("channels", {})
    records = {channel: DecisionRecord.read(transition.decision, channel) for channel in channels}
    return {channel: record for channel, record in records.items() if record is not None}


def _unrouted(record: DecisionRecord) -> DecisionRecord:
    """Return the earlier decision for a channel that is no longer concerned; nothing is held back for it."""
    if record.action is not DecisionAction.HELD:
        return record
    return replace(record, action=DecisionAction.NOTHING, why="no longer one of its channels")
