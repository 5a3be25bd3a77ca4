"""Random histories of incidents, made by the verbs themselves, and what makes an incident valid."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import strategies as st

from checks import Kind, OccurrenceMethod, Severity
from incidents import (
    Change,
    Corrected,
    Episode,
    Event,
    FoundBy,
    ImpossibleOrder,
    Incident,
    NotAllowed,
    Onset,
    Opened,
    Resolution,
    State,
    apply,
    verbs,
)

BASE = datetime(2026, 1, 1, tzinfo=UTC)
"""Tick 0 of the histories; a tick is a microsecond, so that every moment of a history can be counted one by one."""

BASE_US = 1_767_225_600_000_000
TABLES = ("a", "b", "c")


def at(tick: int) -> datetime:
    """Return the moment of a tick."""
    return BASE + timedelta(microseconds=tick)


def tick(moment: datetime) -> int:
    """Return the tick of a moment."""
    return (moment - BASE) // timedelta(microseconds=1)


@dataclass
class History:
    """What happened to some incidents, in the order of recording."""

    incidents: dict[int, Incident]
    events: list[Event]
    now: int = 0

    def record(self, incident_id: int, change: Change) -> None:
        """Write a change down at the present."""
        event = Event(incident_id, at(self.now), "somebody", change)
        self.events.append(event)
        self.incidents[incident_id] = apply(self.incidents.get(incident_id), event)


def found_by_check(draw, now):
    """Draw an incident that a check found: somewhere between the last passing run and now."""
    earliest = draw(st.integers(max(0, now - 40), now))
    occurred = draw(st.integers(earliest, now))
    onset = Onset(at(occurred), at(earliest), at(now), OccurrenceMethod.BAD_ROWS)
    return Opened(
        fingerprint=f"f{now}",
        table=draw(st.sampled_from(TABLES)),
        check_id=draw(st.sampled_from(["a.key", "b.fresh", "c.rows"])),
        incident_kind=draw(st.sampled_from([Kind.QUALITY, Kind.QUALITY, Kind.QUALITY, Kind.DISCLOSURE])),
        severity=draw(st.sampled_from(list(Severity))),
        title="rows are missing",
        title_values={"rows": 3},
        found_by=FoundBy.CHECK,
        episode=Episode(onset, at(now)),
    )


def found_by_person(draw, now):
    """Draw an incident that a person reports, now or late."""
    detected = draw(st.integers(max(0, now - 30), now))
    occurred = draw(st.none() | st.integers(max(0, detected - 50), detected))
    return verbs.report(
        verbs.IncidentReport(draw(st.sampled_from(TABLES)), "the board report is wrong"),
        detected_at=at(detected),
        occurred_at=None if occurred is None else at(occurred),
        now=at(now),
    )


def _resolve(draw, incident, history):
    now = history.now
    ending = verbs.Ending(
        at(draw(st.integers(max(0, now - 20), now))), draw(st.sampled_from(list(Resolution))), "a cause"
    )
    return verbs.resolve(incident, ending, now=at(now))


def _reopen(draw, incident, history):
    now = history.now
    detected = draw(st.integers(max(0, now - 10), now))
    occurred = draw(st.none() | st.integers(max(0, detected - 10), detected))
    return verbs.reopen(
        incident, detected_at=at(detected), occurred_at=None if occurred is None else at(occurred), now=at(now)
    )


def _correct(draw, incident, history):
    when = st.none() | st.integers(0, history.now).map(at)
    change = Corrected(draw(st.sampled_from([0, -1])), draw(when), draw(when), draw(when))
    return verbs.correct(incident, change, now=at(history.now))


def _merge(draw, incident, history):
    into = draw(st.sampled_from(list(history.incidents.values())))
    force = draw(st.booleans())
    return verbs.merge(incident, into, lookup=history.incidents.get, now=at(history.now), force=force)


def _name_root(draw, incident, history):
    root = draw(st.none() | st.sampled_from(list(history.incidents.values())))
    return verbs.name_root(incident, root, lookup=history.incidents.get)


def _small(draw, incident, history):
    now = history.now
    verb = draw(st.sampled_from(["ack", "assign", "snooze", "comment"]))
    if verb == "ack":
        return verbs.acknowledge(incident, now=at(now))
    if verb == "assign":
        return verbs.assign(incident, "a.sato")
    if verb == "snooze":
        return verbs.snooze(incident, at(now + 5), now=at(now))
    return verbs.comment(incident, "asked upstream")


VERBS = (_resolve, _resolve, _resolve, _reopen, _reopen, _correct, _correct, _merge, _name_root, _small)


@st.composite
def histories(draw, most=14):
    """Draw a history: incidents are found, and people do to them whatever the verbs allow."""
    history = History({}, [])
    for _ in range(draw(st.integers(0, most))):
        history.now += draw(st.integers(0, 30))
        if not history.incidents or draw(st.integers(0, 2)) == 0:
            found = draw(st.sampled_from([found_by_check, found_by_person]))(draw, history.now)
            history.record(len(history.incidents) + 1, found)
            continue
        incident = draw(st.sampled_from(list(history.incidents.values())))
        try:
            change = draw(st.sampled_from(VERBS))(draw, incident, history)
        except (ImpossibleOrder, NotAllowed):
            continue
        history.record(incident.id, change)
    return history


def assert_valid(incident: Incident) -> None:
    """Report what holds for every incident, whatever happened to it."""
    for episode in incident.episodes:
        onset = episode.onset
        assert onset.earliest <= onset.at <= onset.latest <= episode.detected_at
        assert episode.resolved_at is None or episode.detected_at <= episode.resolved_at
    for before, after in pairwise(incident.episodes):
        assert before.resolved_at is not None, "only the last episode may last"
        assert before.resolved_at <= after.onset.earliest, "episodes never overlap"
    is_over = incident.last.resolved_at is not None
    assert (incident.state is State.RESOLVED) == is_over == (incident.resolution is not None)
    assert (incident.state is State.ACKNOWLEDGED) <= (incident.acknowledged_at is not None)
    if incident.merged_into is not None:
        assert incident.resolution is not None
        assert incident.merged_into != incident.id
