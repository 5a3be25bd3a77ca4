"""The recorded incidents of a check or of a segment, for replays."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from checks.classes.arrays import np
from incidents._model import AGENT, Episode, Incident, Resolution, to_us
from incidents.events import Event, Merged, Opened, Reopened, Resolved, apply
from incidents.lifecycle import WITHOUT_ROWS
from incidents.spans import Ints


@dataclass(frozen=True, slots=True)
class RecordedHistory:
    """The recorded incidents of a check or of a segment: the events, and the present incidents.

    `good_by`: the end of the last run before the first result of a segment in which its limits held.
    """

    events: Mapping[int, Sequence[Event]] = field(default_factory=dict)
    incidents: Mapping[int, Incident] = field(default_factory=dict)
    monitored_since: datetime | None = None
    good_by: datetime | None = None
    others: Mapping[int, Sequence[Event]] = field(default_factory=dict)
    """The events of incidents into which some of these were merged."""

    def standing(self, number: int, by: datetime) -> Incident | None:
        """Return the state at a moment of an incident into which one was merged; None if there was none yet."""
        incident: Incident | None = None
        for event in self.others.get(number, ()):
            if event.recorded_at <= by:
                incident = apply(incident, event)
        return incident

    def acts(self, begin: datetime) -> list[Event]:
        """Return the events that a replay keeps: those of people, and all before a moment, as recorded."""
        every = [event for events in self.events.values() for event in events]
        taken = [event for event in every if event.recorded_at < begin or not _is_decided(event)]
        return sorted(taken, key=lambda event: event.recorded_at)

    def open_at(self, ended: Ints) -> Ints:
        """Return for ends of runs the number of the incident of the check that was open until then, 0 for none."""
        numbers = np.zeros(ended.size, dtype=np.int64)
        for number, events in self.events.items():
            begun: int | None = None
            for event in events:
                at = to_us(event.recorded_at)
                if isinstance(event.change, Opened | Reopened):
                    begun = at
                elif isinstance(event.change, Resolved | Merged) and begun is not None:
                    numbers[(ended > begun) & (ended <= at)] = number
                    begun = None
            if begun is not None:
                numbers[ended > begun] = number
        return numbers

    def ends(self) -> Iterator[tuple[int, int]]:
        """Yield since when results passed that ended an incident, and when that was recorded (microseconds)."""
        for events in self.events.values():
            for event in events:
                if isinstance(event.change, Resolved) and _is_decided(event):
                    yield to_us(event.change.at), to_us(event.recorded_at)

    def detected(self) -> Iterator[Episode]:
        """Yield the episodes that a check detected, as it did."""
        for events in self.events.values():
            for event in events:
                if event.actor == AGENT and isinstance(event.change, Opened | Reopened):
                    yield event.change.episode


def _is_decided(event: Event) -> bool:
    """Check whether an event was decided by `advance`; a replay decides these again."""
    if event.actor != AGENT:
        return False
    if isinstance(event.change, Resolved):
        return event.change.resolution is Resolution.FIXED or event.change.cause == WITHOUT_ROWS
    return event.change.kind in {"opened", "reopened", "escalated", "flapped"}
