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
    ReleaseEventKind.EXPORTED: Message("exported"),
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
        result = self.event.body.get("remedy")
        return result if isinstance(result, str) else None

    @property
    def by_agent(self) -> bool:
        """Check whether no person did it."""
        return self.event.actor == AGENT


def record_html(
    record: ReleaseRecord, localizer: Localizer, *, project: str, redact: Callable[[str], str] = str
) -> str:
    """Return one self-contained page: no script, nothing fetched."""
    current_certificates = certificates(record.exports)
    by_id = {certificate.event.id: certificate for certificate in current_certificates}
    return page(
        "record",
        localizer,
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
        "The file passed its thresholds when it was verified after writing. This is neither proof of anonymity nor "
        "legal advice."
    )
    if RemedyKind.TABLE in kinds:
        yield Message(
            "Equivalence classes are formed by all quasi-identifiers in the file. Columns classified as sensitive or "
            "other are assumed to be unknown to an attacker; if they are known, the classes are smaller."
        )
        yield Message("A dash marks a limit that is not configured, or a value that was therefore not measured.")
    if kinds - {RemedyKind.TABLE}:
        yield Message(
            "A randomised table has no k: epsilon bounds the influence of a row whatever an attacker already knows. "
            "The epsilons of several exports add up and are charged to the table's budget if it has one."
        )
    if any(certificate.body["pseudonyms"] for certificate in certificates):
        yield Message(
            "A person has the same pseudonym in every export of this release and a different one in other releases."
        )
    yield Message(
        "Not measured: background knowledge of an attacker, linkage with other tables about the same people, and the "
        "use of the file after export."
    )
    yield Message("The SHA-256 proves that a file is the recorded export. It does not prove that the file is safe.")
