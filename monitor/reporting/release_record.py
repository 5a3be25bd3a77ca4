"""Render the record of a release to one HTML file: its certificates, what was decided, and what that does not say."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checks import Message
from incidents import AGENT
from monitor.releases.plan import RemedyKind
from monitor.releases.record import ReleaseRecord
from monitor.reporting.certificate import Certificate, certificates
from monitor.reporting.releases import release_row
from monitor.reporting.render import page
from monitor.terminal.localizer import Localizer
from store import ReleaseEvent, ReleaseEventKind

SHOWN: Final = 20
"""How many certificates the page shows in full; older ones stand in its list, and in the JSON form."""

EVENTS: Final[Mapping[ReleaseEventKind, Message]] = {
    ReleaseEventKind.APPROVED: Message("approved"),
    ReleaseEventKind.HELD: Message("put on hold"),
    ReleaseEventKind.EXPORTED: Message("given out"),
}


@dataclass(frozen=True, slots=True)
class RecordLine:
    """A line of the list. `export`: its certificate, where the line is an export."""

    event: ReleaseEvent
    what: Message
    export: Certificate | None

    @property
    def remedy(self) -> str | None:
        """Name the remedy."""
        found = self.event.body.get("remedy")
        return found if isinstance(found, str) else None

    @property
    def by_agent(self) -> bool:
        """Check whether no person did it."""
        return self.event.actor == AGENT


def record_html(record: ReleaseRecord, voice: Localizer, *, project: str, redact: Callable[[str], str] = str) -> str:
    """Return one self-contained page: no script, nothing fetched."""
    current_certificates = certificates(record.exports)
    by_id = {certificate.event.id: certificate for certificate in current_certificates}
    return page(
        "record",
        voice,
        redact=redact,
        project=project,
        as_of=record.as_of,
        record=record,
        row=None if record.state is None else release_row(record.state),
        release=None if record.state is None else record.state.release,
        entries=[RecordLine(event, EVENTS[event.kind], by_id.get(event.id)) for event in record.events],
        certificates=current_certificates[:SHOWN],
        more=max(0, len(current_certificates) - SHOWN),
        says=tuple(says(current_certificates)),
    )


def says(certificates: Sequence[Certificate]) -> Iterator[Message]:
    """Describe what the certificates say, and what they do not."""
    kinds = {certificate.kind for certificate in certificates}
    yield Message(
        "Thresholds were passed by the file as it was read again after it was written. "
        "That is no proof of anonymity, and no statement of law."
    )
    if RemedyKind.TABLE in kinds:
        yield Message(
            "Groups are counted by all quasi-identifiers that are in the file. Columns that the release calls "
            "sensitive or other are taken as unknown to whoever looks for somebody; if they are not, the groups are "
            "smaller."
        )
        yield Message("A dash is a limit that nobody asked for, or a figure that was therefore not measured.")
    if kinds - {RemedyKind.TABLE}:
        yield Message(
            "What was randomised has no k: epsilon bounds what a row can change, whatever somebody knows beforehand. "
            "Several exports add up; the budget of the table counts them where it has one."
        )
    if any(certificate.body["pseudonyms"] for certificate in certificates):
        yield Message(
            "A person has the same pseudonym in every export of this release, and another one in any other release."
        )
    yield Message(
        "Not measured: what somebody knows from elsewhere, what other tables about the same people give away together "
        "with this one, and what became of the file after it left."
    )
    yield Message("The SHA-256 shows that a file is the one on record. It does not show that the file is harmless.")
