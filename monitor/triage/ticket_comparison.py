"""Compare a ticket with the incident that was imported from it, and make the changes that bring the incident up to it.

Only what a ticket says otherwise than the last time is news; importing the same file again changes nothing. News is
applied, also where somebody put something else right here since (it is newer, and that is said). Some things stay as
they are recorded, each with its reason: what no event can change (title, table, who noticed), what somebody had put
right here before the ticket said anything about it, duplicates, and times that cannot follow one another. Texts are
compared, never told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from incidents import (
    Change,
    Corrected,
    Escalated,
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
from monitor.triage.ticket_history import FIELDS, TABLE, Field, TicketHistory, as_text, importer, ticket_history_of

_TIMES: Final = frozenset({"occurred", "detected", "resolved"})
_ENDING: Final = frozenset({"resolved", "resolution"})


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of which ticket and incident say different things; None where nothing is said, and for texts.

    `stays` is why the incident keeps what is recorded; None if it can follow the ticket. `is_new`: the ticket says it
    since its last import. `replaces` is who put right here what following the ticket replaces.
    """

    field: str
    recorded: datetime | str | None
    told: datetime | str | None
    stays: str | None = None
    is_new: bool = True
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class TicketComparison:
    """What a ticket says otherwise than its incident, the changes that apply what can be, and what to remember."""

    line: int
    incident: Incident
    differences: Sequence[Difference] = ()
    changes: Sequence[Change] = ()
    remembers: TicketSaid | None = None

    @property
    def is_new(self) -> bool:
        """Check whether some of it is said since the last import."""
        return any(difference.is_new for difference in self.differences)

    @property
    def to_record(self) -> Sequence[Change]:
        """Return what following the ticket writes down."""
        return [*self.changes, self.remembers] if self.remembers is not None else self.changes


def compare(
    ticket: Ticket, incident: Incident, events: Sequence[Event], *, now: datetime, zone: str
) -> TicketComparison:
    """Return what a ticket says otherwise than its incident; only what the file says something about is compared.

    Args:
        ticket: the row.
        incident: what is recorded of it.
        events: all that happened to it, in the order of recording.
        now: the present.
        zone: the IANA zone in which reasons tell times.
    """
    past = ticket_history_of(events)
    response = {item.name: as_text(item.told(ticket.told)) for item in FIELDS if item.name in ticket.said}
    if response.get(TABLE) != incident.table:
        response = {TABLE: response.get(TABLE)}
    news = {name: value for name, value in response.items() if past.said.get(name) != value}
    compared = [item for item in FIELDS if item.name in response and item.recorded(incident) != item.told(ticket.told)]
    differ = [_difference(item, ticket.told, incident, past, is_new=item.name in news) for item in compared]
    result, changes = _followed(incident, ticket.told, differ, now=now, zone=zone)
    remembers = _remembered(events, changes, response, now) if news else None
    return TicketComparison(ticket.line, incident, result, changes, remembers)


def _difference(
    compared: Field, reported_incident: ReportedIncident, incident: Incident, past: TicketHistory, *, is_new: bool
) -> Difference:
    name = compared.name
    recorded, text = (None, None) if compared.text else (compared.recorded(incident), compared.told(reported_incident))
    stays = _stays(compared, incident, past, is_new=is_new)
    replaced = past.here.get(name) if stays is None else None
    if name == "resolved" and stays is None and reported_incident.resolved_at is None:
        replaced = replaced or past.here.get("resolution")  # going on takes back how it ended, too
    return Difference(name, recorded, text, stays, is_new, replaced)


def _stays(compared: Field, incident: Incident, past: TicketHistory, *, is_new: bool) -> str | None:
    """Return why a field stays as it is recorded; None if the incident follows the ticket."""
    here = past.here.get(compared.name)
    if compared.stays is not None:
        return compared.stays.format(id=incident.id)
    if incident.merged_into is not None:
        return f"it was merged into #{incident.merged_into}"
    judged = past.here.get("resolution")
    if judged is not None and incident.resolution is Resolution.DUPLICATE and compared.name in _ENDING:
        return f"{judged} resolved it here as a duplicate"
    if here is not None and (not is_new or past.said.get(compared.name) is None):
        return f"corrected here by {here}"
    return None if is_new else "unchanged in the ticket since the last import, not applied then"


def _followed(
    incident: Incident,
    reported_incident: ReportedIncident,
    differences: Sequence[Difference],
    *,
    now: datetime,
    zone: str,
) -> tuple[Sequence[Difference], Sequence[Change]]:
    """Return the changes that apply what can be applied, and the differences with the reasons of what cannot."""
    fields = frozenset(difference.field for difference in differences if difference.stays is None)
    stuck: frozenset[str] = frozenset()
    reason = "it is open here; resolve it with 'incident resolve'"
    try:
        changes = _changes(incident, reported_incident, fields, now)
    except (ImpossibleOrder, NotAllowed) as error:
        reason = in_zone(str(error), zone)
        # times depend on one another, and how it ended on its end
        stuck = fields & (_TIMES | (_ENDING if incident.last.resolved_at is None else frozenset()))
        changes = _changes(incident, reported_incident, fields - stuck, now)
    after = _after(incident, changes, now)
    stuck |= {
        difference.name
        for difference in FIELDS
        if difference.name in fields and difference.recorded(after) != difference.told(reported_incident)
    }
    return [
        replace(difference, stays=reason, replaces=None) if difference.field in stuck else difference
        for difference in differences
    ], changes


def _after(incident: Incident, changes: Iterable[Change], now: datetime) -> Incident:
    for change in changes:
        incident = apply(incident, Event(incident.id, now, "", change))
    return incident


def _remembered(
    events: Sequence[Event], changes: Sequence[Change], response: Mapping[str, str | None], now: datetime
) -> TicketSaid | None:
    """Return what of a ticket its changes do not tell, or tell otherwise: a new cause comes with the recorded end."""
    current_events = [Event(events[0].incident_id, now, importer(""), change) for change in changes]
    known = ticket_history_of([*events, *current_events]).said
    rest = {name: value for name, value in response.items() if known.get(name) != value}
    return TicketSaid(rest) if rest else None


def _changes(
    incident: Incident, reported_incident: ReportedIncident, fields: frozenset[str], now: datetime
) -> Sequence[Change]:
    """Return the changes that apply some fields, each decided on the incident as the one before leaves it.

    Raises:
        incidents.ImpossibleOrder: the times cannot follow one another.
        incidents.NotAllowed: its state does not allow one of them.
    """
    changes: list[Change] = []
    for decide in (_begin, _shorten, _end, _reopen, _resolve):
        decided = decide(incident, reported_incident, fields, now)
        changes += decided
        incident = _after(incident, decided, now)
    return [*changes, Escalated(reported_incident.severity)] if "severity" in fields else changes


def _begin(
    incident: Incident, reported_incident: ReportedIncident, fields: frozenset[str], now: datetime
) -> Sequence[Change]:
    if not fields & {"occurred", "detected"}:
        return ()
    detected = reported_incident.detected_at if "detected" in fields else None
    occurred = reported_incident.occurred_at if "occurred" in fields else None
    first = incident.episodes[0]
    if reported_incident.occurred_at is None and first.onset.at == first.detected_at:
        occurred = detected  # nobody says when it began: as on opening, when it was noticed
    # all times of one episode at once: moved one by one they could be in an impossible order on the way
    whole = len(incident.episodes) == 1 and incident.last.resolved_at is not None and "resolved" in fields
    change = Corrected(0, occurred, detected, reported_incident.resolved_at if whole else None)
    return (verbs.correct(incident, change, now=now),)


def _shorten(
    incident: Incident, reported_incident: ReportedIncident, fields: frozenset[str], _: datetime
) -> Sequence[Change]:
    """Let what went on without a healthy time between end before it went on; what was bad again stays so.

    Raises:
        incidents.ImpossibleOrder: it was good between the ticket's end and the last episode.
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
    """Go on from the end that was recorded: by the ticket, the data was bad all the time."""
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
