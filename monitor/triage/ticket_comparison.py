"""Compare a ticket with the incident imported from it, and return the changes that update the incident.

Only values that changed in the ticket since its last import are applied, so importing the same file again changes
nothing. They are applied also to fields that were corrected here since: the ticket is newer, and the output says
so. Some fields stay as they are recorded, each with its reason: those that no event can change (title, table, source of
detection), those that were corrected here before the ticket had a value, duplicates, and times in an impossible order.
Texts are compared, never shown.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from incidents import (
    Change,
    Corrected,
    Event,
    ImpossibleOrder,
    Incident,
    NotAllowed,
    ReportedIncident,
    Resolution,
    TicketSaid,
    apply,
    verbs,
)
from incidents.verbs import Ending
from monitor.triage.errors import in_zone
from monitor.triage.ticket_columns import Ticket
from monitor.triage.ticket_fields import FIELDS
from monitor.triage.ticket_history import TicketHistory, as_text, importer, ticket_history_of

_TIMES: Final = frozenset(name for name, field in FIELDS.items() if field.is_time)
_OF_THE_END: Final = frozenset({"resolved", "resolution"})


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which ticket and incident differ; the values are None if there are none, and for texts.

    `stays`: why the incident keeps its value; None if it can be updated. `is_new`: the ticket changed since its last
    import. `replaces`: who made the correction here that an update replaces.
    """

    field: str
    recorded: datetime | str | None
    of_ticket: datetime | str | None
    stays: str | None = None
    is_new: bool = True
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class TicketComparison:
    """The differences between a ticket and its incident, the changes to apply, and the values to note."""

    line: int
    incident: Incident
    differences: Sequence[Difference] = ()
    changes: Sequence[Change] = ()
    note: TicketSaid | None = None

    @property
    def is_new(self) -> bool:
        """Check whether the ticket changed since the last import."""
        return any(difference.is_new for difference in self.differences)

    @property
    def all_changes(self) -> Sequence[Change]:
        """Return the changes to record, with the note."""
        return [*self.changes, self.note] if self.note is not None else self.changes


def compare(
    ticket: Ticket, incident: Incident, events: Sequence[Event], *, now: datetime, zone: str
) -> TicketComparison:
    """Return the comparison of a ticket with its incident, in the fields with a value in the file.

    Args:
        ticket: the row.
        incident: its present state.
        events: all of its events, in the order of recording.
        now: the present.
        zone: the IANA zone of times in reasons.
    """
    past = ticket_history_of(events)
    values = {name: as_text(_of_ticket(ticket.reported, name)) for name in FIELDS if name in ticket.fields}
    if values.get("table") != incident.table:
        values = {"table": values.get("table")}
    changed = {name: value for name, value in values.items() if past.ticket.get(name) != value}
    compared = _different(incident, ticket.reported, values)
    differ = [_difference(name, ticket.reported, incident, past, is_new=name in changed) for name in compared]
    result, changes = _updated(incident, ticket.reported, differ, now=now, zone=zone)
    note = _note(events, changes, values, now) if changed else None
    return TicketComparison(ticket.line, incident, result, changes, note)


def _of_ticket(reported: ReportedIncident, name: str) -> datetime | str | None:
    value: datetime | str | None = getattr(reported, FIELDS[name].attribute)
    return value


def _different(incident: Incident, reported: ReportedIncident, names: Container[str]) -> Sequence[str]:
    """Return the fields, of some, in which an incident is not what a ticket says."""
    return [
        name
        for name, field in FIELDS.items()
        if name in names and field.recorded(incident) != _of_ticket(reported, name)
    ]


def _difference(
    name: str, reported_incident: ReportedIncident, incident: Incident, past: TicketHistory, *, is_new: bool
) -> Difference:
    field = FIELDS[name]
    recorded, text = (None, None) if field.is_text else (field.recorded(incident), _of_ticket(reported_incident, name))
    stays = _stays(name, incident, past, is_new=is_new)
    replaced = past.changed_by.get(name) if stays is None else None
    if name == "resolved" and stays is None and reported_incident.resolved_at is None:
        replaced = replaced or past.changed_by.get("resolution")  # reopening removes the resolution, too
    return Difference(name, recorded, text, stays, is_new, replaced)


def _stays(name: str, incident: Incident, past: TicketHistory, *, is_new: bool) -> str | None:
    """Return why a field stays as it is recorded; None if it is updated."""
    changed_by, stays = past.changed_by.get(name), FIELDS[name].stays
    if stays is not None:
        return stays.format(id=incident.id)
    if incident.merged_into is not None:
        return f"it was merged into #{incident.merged_into}"
    judged = past.changed_by.get("resolution")
    if judged is not None and incident.resolution is Resolution.DUPLICATE and name in _OF_THE_END:
        return f"{judged} resolved it here as a duplicate"
    if changed_by is not None and (not is_new or past.ticket.get(name) is None):
        return f"corrected here by {changed_by}"
    return None if is_new else "unchanged in the ticket since the last import, not applied then"


def _updated(
    incident: Incident,
    reported_incident: ReportedIncident,
    differences: Sequence[Difference],
    *,
    now: datetime,
    zone: str,
) -> tuple[Sequence[Difference], Sequence[Change]]:
    """Return the differences, with reasons for fields that cannot be updated, and the changes for the others."""
    fields = frozenset(difference.field for difference in differences if difference.stays is None)
    stuck: frozenset[str] = frozenset()
    reason = "it is open here; resolve it with 'incident resolve'"
    try:
        changes = _changes(incident, reported_incident, fields, now)
    except (ImpossibleOrder, NotAllowed) as error:
        reason = in_zone(str(error), zone)
        # times depend on one another, and the resolution on the end
        stuck = fields & (_TIMES | (_OF_THE_END if incident.last.resolved_at is None else frozenset()))
        changes = _changes(incident, reported_incident, fields - stuck, now)
    after = _after(incident, changes, now)
    stuck |= set(_different(after, reported_incident, fields))
    return [
        replace(difference, stays=reason, replaces=None) if difference.field in stuck else difference
        for difference in differences
    ], changes


def _after(incident: Incident, changes: Iterable[Change], now: datetime) -> Incident:
    for change in changes:
        incident = apply(incident, Event(incident.id, now, "", change))
    return incident


def _note(
    events: Sequence[Event], changes: Sequence[Change], values: Mapping[str, str | None], now: datetime
) -> TicketSaid | None:
    """Return the values of a ticket that its changes do not record, or record differently; None if there are none."""
    current_events = [Event(events[0].incident_id, now, importer(""), change) for change in changes]
    recorded = ticket_history_of([*events, *current_events]).ticket
    rest = {name: value for name, value in values.items() if recorded.get(name) != value}
    return TicketSaid(rest) if rest else None


def _changes(
    incident: Incident, reported_incident: ReportedIncident, fields: frozenset[str], now: datetime
) -> Sequence[Change]:
    """Return the changes that update some fields, each decided after the one before is applied.

    Raises:
        incidents.ImpossibleOrder: the times cannot follow one another.
        incidents.NotAllowed: its state does not allow one of them.
    """
    changes: list[Change] = []
    for decide in (_begin, _shorten, _end, _reopen, _resolve):
        decided = decide(incident, reported_incident, fields, now)
        changes += decided
        incident = _after(incident, decided, now)
    return changes + [
        field.change(_of_ticket(reported_incident, name))
        for name, field in FIELDS.items()
        if name in fields and field.change is not None
    ]


def _begin(
    incident: Incident, reported_incident: ReportedIncident, fields: frozenset[str], now: datetime
) -> Sequence[Change]:
    if not fields & {"occurred", "detected"}:
        return ()
    detected = reported_incident.detected_at if "detected" in fields else None
    occurred = reported_incident.occurred_at if "occurred" in fields else None
    first = incident.episodes[0]
    if reported_incident.occurred_at is None and first.onset.at == first.detected_at:
        occurred = detected  # without a value it is the time of detection, as for a new incident
    # all times of one episode at once: one by one, their order could be impossible meanwhile
    whole = len(incident.episodes) == 1 and incident.last.resolved_at is not None and "resolved" in fields
    change = Corrected(0, occurred, detected, reported_incident.resolved_at if whole else None)
    return (verbs.correct(incident, change, now=now),)


def _shorten(
    incident: Incident, reported_incident: ReportedIncident, fields: frozenset[str], _: datetime
) -> Sequence[Change]:
    """End episodes earlier that followed one another without a healthy time.

    Raises:
        incidents.ImpossibleOrder: there was a healthy time between the ticket's end and the last episode.
    """
    at, episodes = reported_incident.resolved_at, incident.episodes
    if "resolved" not in fields or at is None or at >= incident.last.detected_at or at < episodes[0].detected_at:
        return ()
    ended = max(number for number, episode in enumerate(episodes) if episode.detected_at <= at)
    for before, after in pairwise(episodes[ended:]):
        if after.onset.at != before.resolved_at:
            raise ImpossibleOrder(
                f"the ticket was resolved {_format(at)}, before the incident recurred {_format(after.onset.at)}; "
                "'incident correct "
                f"{incident.id} --episode {ended + 1} --resolved TIME' corrects an earlier end"
            )
    correcteds = [
        Corrected(number, at, at, None if episode.resolved_at is None else at)
        for number, episode in enumerate(episodes)
        if number > ended
    ]
    return [Corrected(ended, resolved_at=at), *correcteds]


def _format(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(sep=" ", timespec="seconds")


def _end(
    incident: Incident, reported_incident: ReportedIncident, fields: frozenset[str], now: datetime
) -> Sequence[Change]:
    if (
        "resolved" not in fields
        or reported_incident.resolved_at is None
        or incident.last.resolved_at in {None, reported_incident.resolved_at}
    ):
        return ()
    return (verbs.correct(incident, Corrected(-1, resolved_at=reported_incident.resolved_at), now=now),)


def _reopen(
    incident: Incident, reported_incident: ReportedIncident, fields: frozenset[str], now: datetime
) -> Sequence[Change]:
    """Reopen at the recorded end: by the ticket, the data was bad all the time."""
    ended_at = incident.last.resolved_at
    if "resolved" not in fields or reported_incident.resolved_at is not None or ended_at is None:
        return ()
    return (verbs.reopen(incident, detected_at=ended_at, occurred_at=ended_at, now=now),)


def _resolve(
    incident: Incident, reported_incident: ReportedIncident, fields: frozenset[str], now: datetime
) -> Sequence[Change]:
    ends = "resolved" in fields and incident.last.resolved_at is None
    at = reported_incident.resolved_at if "resolved" in fields else incident.last.resolved_at
    if at is None or not (ends or fields & {"resolution", "cause"}):
        return ()
    resolution = (
        reported_incident.resolution if incident.resolution is None or "resolution" in fields else incident.resolution
    )
    return (
        verbs.resolve(
            incident, Ending(at, resolution, reported_incident.cause if "cause" in fields else None), now=now
        ),
    )
