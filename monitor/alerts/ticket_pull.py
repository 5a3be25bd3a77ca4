"""Read the statuses of the tickets of unresolved incidents, and update the incidents.

A ticket in progress acknowledges its incident. A closed ticket is recorded, and resolves the incident if the channel
has `close_resolves` and the check no longer fails. A ticket never reopens an incident. Each status is applied once: the
change and the status are written together, and only if neither the incident nor the ticket changed since they were
read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incidents import Incident, NotAllowed, NotForced, Resolution, State
from monitor.channels import DeliveryFailed, TicketKind, TicketStatus
from monitor.config.project import Project
from monitor.triage.errors import IncidentChanged
from monitor.triage.incident_editor import IncidentEditor
from store import ExternalItem, Store, WriteTransaction

if TYPE_CHECKING:
    from monitor.channels.addresses import Network


@dataclass(frozen=True, slots=True)
class PullResult:
    """The number of tickets read and of those that had changed, and why not all were read; None if all were."""

    read: int = 0
    changed: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _OpenTicket:
    """A ticket with its incident, and the number of events of the incident when it was read."""

    ticket: ExternalItem
    incident: Incident
    version: int


def ticket_channels(project: Project) -> Iterator[tuple[str, float]]:
    """Yield the channels with tickets, and the seconds between two reads of their statuses."""
    for name, channel in project.config.alerts.channels.items():
        if isinstance(channel.kind, TicketKind):
            yield name, channel.settings.pull_every_s


def pull_tickets(project: Project, store: Store, channel: str, *, network: "Network | None" = None) -> PullResult:
    """Read the statuses of the tickets of a channel, and update their incidents.

    Raises:
        StoreError: the store cannot be used; the rest is done the next time.
    """
    settings, kind = project.config.alerts.channels[channel].settings, project.config.alerts.channels[channel].kind
    if not isinstance(kind, TicketKind):
        raise TypeError(f"channel {channel} has no tickets")
    tickets = _open_tickets(store, channel, kind.target(settings))
    read = changed = 0
    for start in range(0, len(tickets), kind.at_once):
        batch = tickets[start : start + kind.at_once]
        labels = [entry.ticket.label for entry in batch]
        statuses = kind.statuses(settings, labels, now=project.clock.now(), network=network)
        if isinstance(statuses, DeliveryFailed):
            return PullResult(read, changed, statuses.why)
        read += len(statuses)
        changed += sum(_apply(project, store, entry, statuses) for entry in batch)
    return PullResult(read, changed)


def _open_tickets(store: Store, channel: str, target: str) -> Sequence[_OpenTicket]:
    with store.reading() as tx:
        tickets = [ticket for ticket in tx.external_items.lasting(channel) if ticket.target == target]
        incidents = tx.incidents.get_many([ticket.incident_id for ticket in tickets])
        return [
            _OpenTicket(ticket, incidents[ticket.incident_id], tx.incidents.version(ticket.incident_id))
            for ticket in tickets
        ]


def _apply(project: Project, store: Store, entry: _OpenTicket, statuses: Mapping[str, TicketStatus]) -> bool:
    """Update an incident by the status of its ticket; return whether the status had changed and was applied."""
    ticket, status = entry.ticket, statuses.get(entry.ticket.label)
    if status is None or status == ticket.status:
        return False

    def note(tx: WriteTransaction) -> None:
        if not tx.external_items.note_status(ticket, status):
            raise IncidentChanged(f"ticket {ticket.item} was changed meanwhile")

    editor = IncidentEditor(project, store, actor=ticket.channel, if_version=entry.version, beside=note)
    try:
        if status is TicketStatus.IN_PROGRESS and entry.incident.state is State.OPEN:
            editor.acknowledge(ticket.incident_id)
        elif status is TicketStatus.CLOSED:
            _apply_closed(project, editor, ticket)
        else:
            with store.writing() as tx:
                note(tx)
    except NotAllowed:  # changed since it was read: done the next time
        return False
    return True


def _apply_closed(project: Project, editor: IncidentEditor, ticket: ExternalItem) -> None:
    text = f"ticket {ticket.item} was closed"
    if not project.config.alerts.channels[ticket.channel].settings.close_resolves:
        editor.comment(ticket.incident_id, text)
        return
    listed = bool(project.config.incidents.causes)  # a closed ticket is none of the listed causes
    try:
        editor.resolve(ticket.incident_id, Resolution.FIXED, cause=None if listed else text)
    except NotForced:
        editor.comment(ticket.incident_id, f"{text}; the check still fails, so that the incident is not resolved")
