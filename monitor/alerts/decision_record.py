"""What changed of an incident, and what was decided for each channel: the log shows it, the store keeps it (JSON)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Self

from incidents import Incident
from monitor.alerts.decide import NotificationReason
from monitor.alerts.hold import Hold, HoldReason
from store import Transition

LOOK_AGAIN: Final = timedelta(minutes=5)
"""The longest that what is held back waits to be decided again."""


class DecisionAction(StrEnum):
    """What was done."""

    TOLD = "told"
    HELD = "held"
    """Not now: it is decided again."""
    DROPPED = "dropped"
    """Never: by quiet hours that drop what happens in them, or acknowledged before the next in line was told."""
    NOTHING = "nothing"
    """There was nothing to tell."""


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision for one channel.

    `reason` is what there was to tell, `why` in a few words, `by` how the channel is reached. `held_by`, `hold` and
    `until` say what held it back, also after it did. `owed`: it is told afterwards even if it is over by then.
    `delivery` is the message. `escalates` (not stored): it is told since nobody acknowledged the incident.
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
    escalates: bool = False

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
    """Check whether a change was dropped for a channel."""
    record = DecisionRecord.read(decision, channel)
    return record is not None and record.action is DecisionAction.DROPPED


def as_decision(records: Mapping[str, DecisionRecord], why: str | None) -> dict[str, Any]:
    """Return the decision on a change as the store keeps it; `why` says it where no channel is concerned."""
    return {"why": why, "channels": {channel: record.as_json() for channel, record in records.items()}}


@dataclass(slots=True)
class IncidentNotification:
    """What changed of an incident (nothing, if it is about a reminder), and what was decided."""

    incident: Incident
    transitions: Sequence[Transition] = ()
    records: dict[str, DecisionRecord] = field(default_factory=dict)
    why: str | None = None

    @property
    def since(self) -> datetime:
        """Return since when it waits to be told."""
        recorded = (transition.recorded_at for transition in self.transitions)
        return min(recorded, default=self.incident.last.detected_at)

    def tells(self, channel: str) -> bool:
        """Check whether a channel is told of it."""
        return channel in self.records and self.records[channel].action is DecisionAction.TOLD

    def held_channels(self) -> Mapping[str, bool]:
        """Return the channels its news was held back from before, and whether they get it even if it is over by now."""
        channels: dict[str, bool] = {}
        for transition in self.transitions:
            for channel in (transition.decision or {}).get("channels", {}):
                record = DecisionRecord.read(transition.decision, channel)
                if record is not None and record.action is DecisionAction.HELD:
                    channels[channel] = channels.get(channel, False) or record.owed
        return channels

    def dropped(self, channel: str) -> DecisionRecord | None:
        """Return what was decided where all that changed was dropped: it is decided on for others only."""
        if not self.transitions or not all(
            was_dropped(transition.decision, channel) for transition in self.transitions
        ):
            return None
        return DecisionRecord.read(self.transitions[-1].decision, channel)

    def conclude(
        self, transition: Transition, now: datetime, *, soonest: datetime | None
    ) -> tuple[datetime | None, Mapping[str, object]]:
        """Return what was decided on a change by now, and when to look again; None if that is settled.

        `soonest`: when other channels may be concerned, whatever holds back from these.
        """
        records = {
            channel: record.after(DecisionRecord.read(transition.decision, channel))
            for channel, record in self.records.items()
        }
        holds = [record for record in records.values() if record.action is DecisionAction.HELD]
        ends = [record.until for record in holds if record.until is not None]
        until = min([*ends, now + LOOK_AGAIN, *([] if soonest is None else [soonest])]) if holds else None
        return until, as_decision({**_gone(transition, records), **records}, self.why)


def _gone(transition: Transition, records: Mapping[str, DecisionRecord]) -> Mapping[str, DecisionRecord]:
    """Return what was decided before for channels that are not concerned any more."""
    results = {}
    for channel in (transition.decision or {}).get("channels", {}):
        record = DecisionRecord.read(transition.decision, channel)
        if channel in records or record is None:
            continue
        held = record.action is DecisionAction.HELD
        results[channel] = (
            replace(record, action=DecisionAction.NOTHING, why="no longer one of its channels") if held else record
        )
    return results
