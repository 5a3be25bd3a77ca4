"""Take tickets into the store: new ones are written down, known ones are compared and, if asked for, followed.

Everything is one transaction: an import that fails on its way leaves nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from incidents import Incident
from monitor.triage.ticket_batches import Ticket, TicketBatches
from monitor.triage.ticket_comparison import TicketComparison, compare
from monitor.triage.ticket_history import importer
from store import History, ReadTransaction, Store, WriteTransaction

_ASSUMED: Final = frozenset({"resolution", "found_by"})


@dataclass(slots=True)
class ImportCounts:
    """What an import found: the new tickets and their numbers, and the known ones, of which some differ.

    In a dry run the new ones have no numbers. `lasting` are the new ones without an end.
    """

    new: int = 0
    lasting: int = 0
    first_id: int | None = None
    last_id: int | None = None
    known: int = 0
    differ: list[TicketComparison] = field(default_factory=list)
    _unsaid: dict[str, int] = field(default_factory=dict)

    @property
    def applicable(self) -> int:
        """Count the incidents that can follow their tickets in something."""
        return sum(bool(ticket_comparison.changes) for ticket_comparison in self.differ)

    def assumed(self, name: str) -> int:
        """Count the new tickets that do not say this field of theirs; how it ended is one of ended ones only."""
        return self._unsaid.get(name, 0)

    def add(self, tickets: Sequence[Ticket]) -> None:
        """Count new tickets."""
        self.new += len(tickets)
        for ticket in tickets:
            lasts = ticket.told.resolved_at is None
            self.lasting += lasts
            for name in _ASSUMED - ticket.said:
                if name != "resolution" or not lasts:
                    self._unsaid[name] = self._unsaid.get(name, 0) + 1

    def number(self, numbers: Sequence[int]) -> None:
        """Remember the numbers that incidents were given; they go up."""
        if numbers:
            self.first_id = numbers[0] if self.first_id is None else self.first_id
            self.last_id = numbers[-1]


@dataclass(frozen=True, slots=True)
class TicketImport:
    """Takes tickets in at a moment; reasons tell times in a zone. With `update` incidents follow their tickets."""

    store: Store
    now: datetime
    zone: str
    actor: str
    update: bool = False

    def look(self, tickets: TicketBatches, on_ticket: Callable[[], None] = lambda: None) -> ImportCounts:
        """Return what taking them in would do, and write nothing."""
        with self.store.reading() as tx:
            return self._take(tx, None, tickets, on_ticket)

    def take(self, tickets: TicketBatches, on_ticket: Callable[[], None] = lambda: None) -> ImportCounts:
        """Take them in.

        Raises:
            store.StoreConflict: somebody else changed one of the incidents meanwhile; nothing was written.
        """
        with self.store.writing() as tx:
            return self._take(tx, tx, tickets, on_ticket)

    def _take(
        self,
        reading: ReadTransaction,
        writing: WriteTransaction | None,
        tickets: TicketBatches,
        on_ticket: Callable[[], None],
    ) -> ImportCounts:
        import_counts = ImportCounts()
        for chunk in tickets.batches():
            there = _known(reading, chunk)
            new = [ticket for ticket in chunk if ticket.line not in there]
            compared = list(self._compared(reading, chunk, there, on_ticket))
            if writing is not None:
                import_counts.number(self._write(writing, new, compared))
            import_counts.add(new)
            import_counts.known += len(chunk) - len(new)
            import_counts.differ += [item for item in compared if item.differences]
        return import_counts

    def _compared(
        self,
        tx: ReadTransaction,
        tickets: Sequence[Ticket],
        there: Mapping[int, Incident],
        on_ticket: Callable[[], None],
    ) -> Iterator[TicketComparison]:
        events = tx.incidents.histories([incident.id for incident in there.values()])
        for ticket in tickets:
            incident = there.get(ticket.line)
            if incident is not None:
                yield compare(ticket, incident, events[incident.id], now=self.now, zone=self.zone)
            on_ticket()

    def _write(
        self, tx: WriteTransaction, new: Sequence[Ticket], compared: Sequence[TicketComparison]
    ) -> Sequence[int]:
        actor = importer(self.actor)
        histories = [History(ticket.told.changes(self.now), self.now, actor) for ticket in new]
        if self.update:
            for ticket_comparison in compared:
                tx.incidents.append(
                    ticket_comparison.incident,
                    ticket_comparison.to_record,
                    recorded_at=self.now,
                    actor=actor,
                    announce=False,
                )
        return tx.incidents.add_past(histories)


def _known(tx: ReadTransaction, tickets: Sequence[Ticket]) -> Mapping[int, Incident]:
    """Return the incidents of the tickets that were imported before, by the ticket's line."""
    former = [ticket.former for ticket in tickets if ticket.former is not None]
    there = tx.incidents.latest([*(ticket.fingerprint for ticket in tickets), *former])
    incidents = {ticket.line: there.get(ticket.fingerprint) or there.get(ticket.former or "") for ticket in tickets}
    return {line: incident for line, incident in incidents.items() if incident is not None}
