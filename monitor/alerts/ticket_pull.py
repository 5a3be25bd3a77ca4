"""Read how people are with the tickets of incidents that last, and let the incidents follow.

A ticket that somebody works on acknowledges its incident. One that was closed is an event of it, and resolves it where
the channel says so (`close_resolves`) and its check does not fail any more. A ticket never reopens an incident. Each
status is acted on once: what comes of it and the status are written together, and only while neither the incident nor
the ticket was changed since they were read.
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
    """How many tickets were read, how many of them had changed, and why not all were read; None if they were."""

    read: int = 0
    changed: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Pulled:
    """A ticket with its incident, and how many events that had when it was read."""

    ticket: ExternalItem
    incident: Incident
    version: int


def ticket_channels(project: Project) -> Iterator[tuple[str, float]]:
    """Yield the channels that have tickets, and how many seconds are between two reads of their statuses."""
    for name, channel in project.config.alerts.channels.items():
        if isinstance(channel.kind, TicketKind):
            yield name, channel.settings.pull_every_s


def pull_tickets(project: Project, store: Store, channel: str, *, network: "Network | None" = None) -> PullResult:
    """Read the statuses of the tickets of a channel, and let their incidents follow.

    Raises:
        StoreError: the store cannot be used; what was not done is done the next time.
    """
    settings, kind = project.config.alerts.channels[channel].settings, project.config.alerts.channels[channel].kind
    if not isinstance(kind, TicketKind):
        raise TypeError(f"channel {channel} has no tickets")
    lasting = _lasting(store, channel, kind.target(settings))
    read = changed = 0
    for start in range(0, len(lasting), kind.at_once):
        batch = lasting[start : start + kind.at_once]
        labels = [pulled.ticket.label for pulled in batch]
        statuses = kind.statuses(settings, labels, now=project.clock.now(), network=network)
        if isinstance(statuses, DeliveryFailed):
            return PullResult(read, changed, statuses.why)
        read += len(statuses)
        changed += sum(_follow(project, store, pulled, statuses) for pulled in batch)
    return PullResult(read, changed)


def _lasting(store: Store, channel: str, target: str) -> Sequence[_Pulled]:
    with store.reading() as tx:
        tickets = [ticket for ticket in tx.external_items.lasting(channel) if ticket.target == target]
        incidents = tx.incidents.get_many([ticket.incident_id for ticket in tickets])
        return [
            _Pulled(ticket, incidents[ticket.incident_id], tx.incidents.version(ticket.incident_id))
            for ticket in tickets
        ]


def _follow(project: Project, store: Store, pulled: _Pulled, statuses: Mapping[str, TicketStatus]) -> bool:
    """Let an incident follow its ticket; say whether the status had changed and was acted on."""
    ticket, status = pulled.ticket, statuses.get(pulled.ticket.label)
    if status is None or status == ticket.status:
        return False

    def note(tx: WriteTransaction) -> None:
        if not tx.external_items.note_status(ticket, status):
            raise IncidentChanged(f"ticket {ticket.item} was changed meanwhile")

    editor = IncidentEditor(project, store, actor=ticket.channel, if_version=pulled.version, beside=note)
    try:
        if status is TicketStatus.IN_PROGRESS and pulled.incident.state is State.OPEN:
            editor.acknowledge(ticket.incident_id)
        elif status is TicketStatus.CLOSED:
            _closed(project, editor, ticket)
        else:
            with store.writing() as tx:
                note(tx)
    except NotAllowed:  # changed since it was read: looked at the next time
        return False
    return True


def _closed(project: Project, editor: IncidentEditor, ticket: ExternalItem) -> None:
    text = f"ticket {ticket.item} was closed"
    if not project.config.alerts.channels[ticket.channel].settings.close_resolves:
        editor.comment(ticket.incident_id, text)
        return
    listed = bool(project.config.incidents.causes)  # then a ticket that was closed is none of the causes
    try:
        editor.resolve(ticket.incident_id, Resolution.FIXED, cause=None if listed else text)
    except NotForced:
        editor.comment(ticket.incident_id, f"{text}; the check still fails, so that the incident is not resolved")
