"""Take tickets into the store: new ones are written down, known ones are compared and, if asked for, followed.

Everything is one transaction: an import that fails on its way leaves nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from incidents import Incident
from monitor.desk.ticket_changes import Comparison, compare, importer
from monitor.desk.tickets import Ticket
from store import Book, History, Store, View

_CHUNK: Final = 1000


@dataclass(slots=True)
class Taken:
    """What an import found: the new tickets and their numbers, and the known ones, of which some differ.

    In a dry run the new ones have no numbers.
    """

    new: list[Ticket] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    known: int = 0
    differ: list[Comparison] = field(default_factory=list)

    @property
    def applicable(self) -> int:
        """Count the incidents that can follow their tickets in something."""
        return sum(bool(one.changes) for one in self.differ)

    def assumed(self, name: str) -> int:
        """Count the new tickets that do not say this field of theirs; how it ended is one of ended ones only."""
        return sum(
            name not in ticket.said and (name != "resolution" or ticket.told.resolved_at is not None)
            for ticket in self.new
        )


@dataclass(frozen=True, slots=True)
class Intake:
    """Takes tickets in at a moment; reasons tell times in a zone. With `update` incidents follow their tickets."""

    store: Store
    now: datetime
    zone: str
    actor: str
    update: bool = False

    def look(self, tickets: Sequence[Ticket], on_ticket: Callable[[], None] = lambda: None) -> Taken:
        """Say what taking them in would do, and write nothing."""
        with self.store.reading() as view:
            return self._take(view, None, tickets, on_ticket)

    def take(self, tickets: Sequence[Ticket], on_ticket: Callable[[], None] = lambda: None) -> Taken:
        """Take them in.

        Raises:
            store.StoreConflict: somebody else changed one of the incidents meanwhile; nothing was written.
        """
        with self.store.writing() as book:
            return self._take(book, book, tickets, on_ticket)

    def _take(self, view: View, book: Book | None, tickets: Sequence[Ticket], on_ticket: Callable[[], None]) -> Taken:
        taken = Taken()
        for start in range(0, len(tickets), _CHUNK):
            chunk = tickets[start : start + _CHUNK]
            there = view.latest_incidents([ticket.fingerprint for ticket in chunk])
            new = [ticket for ticket in chunk if ticket.fingerprint not in there]
            differ = list(self._compared(view, chunk, there, on_ticket))
            if book is not None:
                taken.numbers += self._write(book, new, differ)
            taken.new += new
            taken.known += len(chunk) - len(new)
            taken.differ += differ
        return taken

    def _compared(
        self, view: View, tickets: Sequence[Ticket], there: Mapping[str, Incident], on_ticket: Callable[[], None]
    ) -> Iterator[Comparison]:
        for ticket in tickets:
            incident = there.get(ticket.fingerprint)
            if incident is not None:
                found = compare(ticket, incident, view.events, now=self.now, zone=self.zone)
                if found.differences:
                    yield found
            on_ticket()

    def _write(self, book: Book, new: Sequence[Ticket], differ: Sequence[Comparison]) -> list[int]:
        actor = importer(self.actor)
        histories = [History(ticket.told.changes(self.now), self.now, actor) for ticket in new]
        if self.update:
            for one in differ:
                book.append(one.incident, one.changes, recorded_at=self.now, actor=actor)
        return [incident.id for incident in book.add_histories(histories)]
