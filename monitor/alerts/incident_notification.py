"""An incident to decide on: what changed of it, and what is decided for each channel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from incidents import Incident
from monitor.alerts.decision_record import DecisionAction, DecisionRecord, as_decision, was_dropped
from store import Transition

LOOK_AGAIN: Final = timedelta(minutes=5)
"""The longest that what is held back waits to be decided again."""


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

    def owes(self, channel: str) -> bool:
        """Check whether quiet hours or a full channel kept something of it back before."""
        before = (DecisionRecord.read(transition.decision, channel) for transition in self.transitions)
        return any(record is not None and record.action is DecisionAction.HELD and record.owed for record in before)

    def dropped(self, channel: str) -> DecisionRecord | None:
        """Return what was decided where quiet hours dropped all that changed: it is decided on for others only."""
        if not self.transitions or not all(
            was_dropped(transition.decision, channel) for transition in self.transitions
        ):
            return None
        return DecisionRecord.read(self.transitions[-1].decision, channel)

    def conclude(self, transition: Transition, now: datetime) -> tuple[datetime | None, Mapping[str, object]]:
        """Return what was decided on a change by now, and when to look again; None if that is settled."""
        records = {
            channel: record.after(DecisionRecord.read(transition.decision, channel))
            for channel, record in self.records.items()
        }
        holds = [record for record in records.values() if record.action is DecisionAction.HELD]
        ends = [record.until for record in holds if record.until is not None]
        until = min([*ends, now + LOOK_AGAIN]) if holds else None
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
