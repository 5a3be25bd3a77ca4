"""Hold a million tickets in little memory: in batches, each packed as plain values and compressed.

They stay in memory and never go through a file: what people wrote in tickets is nobody else's business.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from checks import Severity
from incidents import FoundBy, Resolution, from_us, to_us
from monitor.triage.create import ReportedIncident

BATCH: Final = 1000
_LEVEL: Final = 1
_RESOLUTIONS: Final = {word.value: word for word in Resolution}
_SEVERITIES: Final = {word.value: word for word in Severity}
_FOUND_BY: Final = {word.value: word for word in FoundBy}


@dataclass(frozen=True, slots=True)
class Ticket:
    """A good row: its first line in the file, the incident it tells of, and the fields it says something about.

    A ticket without an end says that it lasts, if the file has a column for the end: `resolved` is then among `said`.
    `assumed_zone` counts its times without an offset. `former` is the fingerprint by which one with a key was known at
    first.
    """

    line: int
    told: ReportedIncident
    said: frozenset[str]
    assumed_zone: int = 0
    former: str | None = None

    @property
    def fingerprint(self) -> str:
        """Return what importing the same ticket again shares."""
        return self.told.fingerprint or ""


@dataclass(slots=True)
class TicketBatches:
    """Tickets in the order in which they were added; `len` is their number."""

    _packed: list[bytes] = field(default_factory=list)
    _last: list[tuple[Any, ...]] = field(default_factory=list)
    _fields: dict[frozenset[str], int] = field(default_factory=dict)
    _count: int = 0

    def append(self, ticket: Ticket) -> None:
        """Add a ticket."""
        self._last.append(_pack(ticket, self._fields.setdefault(ticket.said, len(self._fields))))
        self._count += 1
        if len(self._last) == BATCH:
            self._packed.append(zlib.compress(json.dumps(self._last).encode(), _LEVEL))
            self._last = []

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Ticket]:
        """Yield the tickets one by one."""
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[Ticket]]:
        """Yield the tickets in batches of at most `BATCH`."""
        fields = list(self._fields)
        for packed in self._packed:
            yield [_unpack(cells, fields) for cells in json.loads(zlib.decompress(packed))]
        if self._last:
            yield [_unpack(cells, fields) for cells in self._last]


def _pack(ticket: Ticket, fields: int) -> tuple[Any, ...]:
    told = ticket.told
    return (
        *(ticket.line, fields, ticket.assumed_zone, ticket.former),
        *(told.table, told.title, to_us(told.detected_at)),
        None if told.occurred_at is None else to_us(told.occurred_at),
        None if told.resolved_at is None else to_us(told.resolved_at),
        *(str(told.resolution), str(told.severity), str(told.found_by), told.cause, told.fingerprint),
    )


def _unpack(cells: Sequence[Any], fields: list[frozenset[str]]) -> Ticket:
    line, text, assumed, former, table, title, detected, occurred, resolved, *words = cells
    resolution, severity, found_by, cause, fingerprint = words
    reported_incident = ReportedIncident(
        table,
        title,
        from_us(detected),
        None if occurred is None else from_us(occurred),
        None if resolved is None else from_us(resolved),
        _RESOLUTIONS[resolution],
        _SEVERITIES[severity],
        _FOUND_BY[found_by],
        cause,
        fingerprint,
    )
    return Ticket(line, reported_incident, fields[text], assumed, former)
