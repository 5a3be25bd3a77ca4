"""Import tickets while they are read: new ones are written, known ones compared and, if asked, updated.

An import is one transaction: one that fails writes nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from incidents import Incident
from monitor.triage.ticket_columns import Ticket
from monitor.triage.ticket_comparison import TicketComparison, compare
from monitor.triage.ticket_history import importer
from monitor.triage.ticket_reader import TicketReader
from store import ReadTransaction, Store, WriteTransaction

_ASSUMED: Final = frozenset({"resolution", "found_by"})


@dataclass(slots=True)
class ImportCounts:
    """The new tickets with their numbers (none in a dry run), and the known ones, of which some differ.

    `lasting`: the new ones without an end.
    """

    new: int = 0
    lasting: int = 0
    first_id: int | None = None
    last_id: int | None = None
    known: int = 0
    differ: list[TicketComparison] = field(default_factory=list)
    _without: dict[str, int] = field(default_factory=dict)

    @property
    def applicable(self) -> int:
        """Return the number of incidents that can be updated."""
        return sum(bool(ticket_comparison.changes) for ticket_comparison in self.differ)

    def assumed(self, name: str) -> int:
        """Return the number of new tickets without a value in a field; for the resolution, of resolved ones."""
        return self._without.get(name, 0)

    def add(self, tickets: Sequence[Ticket]) -> None:
        """Count new tickets."""
        self.new += len(tickets)
        kinds = Counter((ticket.reported.resolved_at is None, ticket.fields) for ticket in tickets)
        for (lasts, fields), number in kinds.items():
            self.lasting += number * lasts
            for name in _ASSUMED - fields:
                if name != "resolution" or not lasts:
                    self._without[name] = self._without.get(name, 0) + number

    def number(self, numbers: Sequence[int]) -> None:
        """Keep the first and the last number of new incidents, which ascend."""
        if numbers:
            self.first_id = numbers[0] if self.first_id is None else self.first_id
            self.last_id = numbers[-1]


class TicketsRefused(Exception):
    """Some rows are bad; nothing was written. `tickets` has read them all."""

    def __init__(self, tickets: TicketReader) -> None:
        super().__init__(f"{len(tickets.bad)} of {tickets.rows} rows are no incident")
        self.tickets = tickets


@dataclass(frozen=True, slots=True)
class TicketImport:
    """Imports tickets at a moment; `zone`: of times in reasons.

    `update`: known incidents are updated. `partial`: good rows are imported although others are bad.
    """

    store: Store
    now: datetime
    zone: str
    actor: str
    update: bool = False
    partial: bool = False

    def dry_run(self, tickets: TicketReader, on_rows: Callable[[int], None] = lambda _: None) -> ImportCounts:
        """Return the counts of an import, and write nothing.

        Raises:
            TicketsRefused, UnreadableTickets, OSError: as `run`.
        """
        with self.store.reading() as tx:
            return self._import(tx, None, tickets, on_rows)

    def run(self, tickets: TicketReader, on_rows: Callable[[int], None] = lambda _: None) -> ImportCounts:
        """Import the tickets while they are read.

        Raises:
            TicketsRefused: some rows are bad, and the import is not `partial`; nothing was written.
            UnreadableTickets, OSError: the file cannot be read to its end; nothing was written.
            store.StoreConflict: one of the incidents was changed meanwhile; nothing was written.
        """
        with self.store.writing() as tx:
            return self._import(tx, tx, tickets, on_rows)

    def _import(
        self,
        reading: ReadTransaction,
        writing: WriteTransaction | None,
        tickets: TicketReader,
        on_rows: Callable[[int], None],
    ) -> ImportCounts:
        import_counts = ImportCounts()
        is_empty = reading.incidents.last_change() == 0  # no ticket is known, and a file has each once
        for batch in tickets.batches(on_rows):
            if tickets.bad and not self.partial:
                continue  # read on for the other bad rows
            known = {} if is_empty else _known(reading, batch)
            new = [ticket for ticket in batch if ticket.line not in known] if known else batch
            compared = list(self._compared(reading, batch, known)) if known else []
            if writing is not None:
                import_counts.number(self._write(writing, new, compared))
            import_counts.add(new)
            import_counts.known += len(batch) - len(new)
            import_counts.differ += [item for item in compared if item.differences]
        if tickets.bad and not self.partial:
            raise TicketsRefused(tickets)
        return import_counts

    def _compared(
        self, tx: ReadTransaction, tickets: Sequence[Ticket], known: Mapping[int, Incident]
    ) -> Iterator[TicketComparison]:
        events = tx.incidents.histories([incident.id for incident in known.values()])
        for ticket in tickets:
            incident = known.get(ticket.line)
            if incident is not None:
                yield compare(ticket, incident, events[incident.id], now=self.now, zone=self.zone)

    def _write(
        self, tx: WriteTransaction, new: Sequence[Ticket], compared: Sequence[TicketComparison]
    ) -> Sequence[int]:
        actor = importer(self.actor)
        if self.update:
            for ticket_comparison in compared:
                tx.incidents.append(
                    ticket_comparison.incident,
                    ticket_comparison.all_changes,
                    recorded_at=self.now,
                    actor=actor,
                    announce=False,
                )
        return tx.incidents.add_past([ticket.reported for ticket in new], recorded_at=self.now, actor=actor)


def _known(tx: ReadTransaction, tickets: Sequence[Ticket]) -> Mapping[int, Incident]:
    """Return the incidents of the tickets that were imported before, by the ticket's line."""
    former = [ticket.former for ticket in tickets if ticket.former is not None]
    there = tx.incidents.latest([*(ticket.fingerprint for ticket in tickets), *former])
    if not there:
        return {}
    incidents = {ticket.line: there.get(ticket.fingerprint) or there.get(ticket.former or "") for ticket in tickets}
    return {line: incident for line, incident in incidents.items() if incident is not None}
