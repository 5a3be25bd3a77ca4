"""Laws of following tickets, over random files and random work of people in between."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from checks import Severity
from incidents import (
    Change,
    Corrected,
    Escalated,
    Event,
    ImpossibleOrder,
    Incident,
    Merged,
    NotAllowed,
    ReportedIncident,
    Resolution,
    replay,
    verbs,
)
from incidents.verbs import Ending
from monitor.triage.ticket_comparison import compare
from monitor.triage.ticket_fields import FIELDS
from monitor.triage.ticket_history import as_text, importer, ticket_history_of
from monitor.triage.ticket_reader import Ticket

START = datetime(2026, 11, 2, tzinfo=UTC)
NOW = START + timedelta(hours=100)


def _at(hour: int) -> datetime:
    return START + timedelta(hours=hour)


_HOURS = st.integers(0, 12)


@st.composite
def _tickets(draw: st.DrawFn) -> Ticket:
    occurred, detected, resolved = (_at(hour) for hour in sorted(draw(st.tuples(_HOURS, _HOURS, _HOURS))))
    said = {"table", "title", "detected", "resolved"} | draw(st.sets(st.sampled_from(["occurred", "severity"])))
    ended = draw(st.booleans())
    said |= draw(st.sets(st.sampled_from(["resolution", "cause"]))) if ended else set()
    said -= draw(st.sampled_from([set(), set(), {"resolved", "resolution", "cause"}]))
    result = ReportedIncident(
        table="orders",
        title=draw(st.sampled_from(["late", "wrong"])),
        detected_at=detected,
        occurred_at=occurred if "occurred" in said else None,
        resolved_at=resolved if ended and "resolved" in said else None,
        resolution=draw(st.sampled_from(Resolution)) if "resolution" in said else Resolution.FIXED,
        severity=draw(st.sampled_from(Severity)) if "severity" in said else Severity.ERROR,
        cause=draw(st.sampled_from(["a job", "a typo"])) if "cause" in said else None,
        fingerprint="import:T-1",
    )
    return Ticket(2, result, frozenset(said))


@dataclass(frozen=True, slots=True)
class _Work:
    """The verb of a user on an incident."""

    kind: str
    hour: int
    length: int
    resolution: Resolution

    def decide(self, incident: Incident) -> Change:
        at, then = _at(self.hour), _at(self.hour + self.length)
        match self.kind:
            case "resolve":
                return verbs.resolve(incident, Ending(at, self.resolution), now=NOW)
            case "reopen":
                return verbs.reopen(incident, detected_at=then, occurred_at=at, now=NOW)
            case "begin":
                return verbs.correct(incident, Corrected(0, occurred_at=at), now=NOW)
            case "end":
                return verbs.correct(incident, Corrected(-1, resolved_at=at), now=NOW)
            case "merge":
                return Merged(99)
            case _:
                return Escalated(Severity.INFO)


_WORK = st.builds(
    _Work,
    st.sampled_from(["resolve", "resolve", "reopen", "reopen", "begin", "end", "merge", "escalate"]),
    st.integers(0, 20),
    st.integers(0, 3),
    st.sampled_from(Resolution),
)


def _record(events: Sequence[Event], changes: Sequence[Change], actor: str) -> list[Event]:
    return [*events, *(Event(1, NOW, actor, change) for change in changes)]


def _after(events: Sequence[Event], step: Ticket | _Work) -> Sequence[Event]:
    """Return the events after an import, or after a user's verb if that was possible."""
    if isinstance(step, Ticket):
        found = compare(step, replay(events), events, now=NOW, zone="UTC")
        return _record(events, found.all_changes, importer("ann"))
    try:
        return _record(events, [step.decide(replay(events))], "bob")
    except (NotAllowed, ImpossibleOrder):
        return events


@given(_tickets(), st.lists(_tickets() | _WORK, max_size=8))
def test_the_same_file_changes_nothing(first: Ticket, story: list[Ticket | _Work]) -> None:
    """Whatever people do, importing the file again that was imported last records nothing and claims no field."""
    events: Sequence[Event] = _record([], first.reported.changes(NOW), importer("ann"))
    last = first
    for step in story:
        events = _after(events, step)
        last = step if isinstance(step, Ticket) else last
        again = compare(last, replay(events), events, now=NOW, zone="UTC")
        assert not again.all_changes
        assert all(difference.stays is not None and not difference.is_new for difference in again.differences)


@given(_tickets(), st.lists(_tickets() | _WORK, max_size=8), _tickets())
def test_an_import_changes_only_what_is_news(first: Ticket, story: list[Ticket | _Work], ticket: Ticket) -> None:
    """It moves no field of which the ticket says what it said last, leaves duplicates alone, and keeps the order."""
    events: Sequence[Event] = _record([], first.reported.changes(NOW), importer("ann"))
    for step in story:
        events = _after(events, step)
    past, before = ticket_history_of(events), replay(events)
    found = compare(ticket, before, events, now=NOW, zone="UTC")
    after = replay(_record(events, found.all_changes, importer("ann")))
    for name, one in FIELDS.items():
        same = name not in ticket.fields or past.ticket[name] == as_text(getattr(ticket.reported, one.attribute))
        goes_with_it = {"occurred": "detected", "resolution": "resolved"}.get(name)
        moved = one.recorded(before) != one.recorded(after)
        assert not (same and moved) or any(
            other.field == goes_with_it and other.is_new and other.stays is None for other in found.differences
        )
    if before.merged_into is not None:
        assert after == before
    for episode in after.episodes:
        assert episode.onset.at <= episode.detected_at <= (episode.resolved_at or NOW)
    for earlier, later in pairwise(after.episodes):
        assert earlier.resolved_at is not None
        assert earlier.resolved_at <= later.onset.at
