"""Chain decisions, exports and remembered people of releases in the ledger, so that SQL alone cannot forge them.

Each fact has an entry in the ledger with a MAC of all that it says, under the key of the store's signatures, which is
not in the database. A row without its entry, an entry without its row, and a row that says something else are flaws;
a ledger that was cut or exchanged does not fit its anchor. See docs/adr/0019-releases-are-chained-in-the-ledger.md.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, TypeVar

from checks.classes.counts import KnownRelease
from checks.classes.pairs import CLASS_VALUE, COPIES
from incidents import to_us
from remedies.differential_privacy.ledger import Audit, Flaw
from store._json import from_text, to_text
from store._ledger import StoredLedger
from store._ledger_chain import EntryKind, LedgerFact
from store._transaction import ReadTransaction, WriteTransaction
from store._values import ReleaseEvent, ReleaseEventKind

_Result = TypeVar("_Result")
_Key = Callable[[], bytes]
_SIZE: Final = 32


@dataclass(frozen=True, slots=True)
class RememberedPersons:
    """The people of a release, and the subject under which they are stored."""

    subject: str
    release: KnownRelease

    @property
    def key(self) -> tuple[str, str]:
        """Return the subject and the name of the release."""
        return self.subject, self.release.name


class ReleaseLedger:
    """The facts about releases in a store, each with its entry in the ledger."""

    def __init__(self, ledger: StoredLedger, key: _Key) -> None:
        """Use a ledger; `key` returns the key of the store's signatures, and is called only where there is a fact."""
        self._ledger, self._key = ledger, key

    def write(self, act: Callable[[WriteTransaction], _Result]) -> _Result:
        """Run an action in one transaction that agrees with the anchor, and advance the anchor.

        Raises:
            LedgerBroken: the ledger does not fit its anchor; nothing was written.
        """
        return self._ledger.write(act)

    def append(self, tx: WriteTransaction, event: ReleaseEvent, persons: RememberedPersons | None = None) -> int:
        """Write a fact and its entry, and return its number. `persons`: those in the file of an export."""
        number = tx.release_events.add(event)
        key = self._key()
        parts = {"event": number, "mac": _event_mac(event, number, key), **_persons_part(persons, key)}
        tx.ledger.append(LedgerFact(EntryKind.RELEASE, to_text(parts), event.actor, event.recorded_at))
        return number

    def append_persons(self, tx: WriteTransaction, persons: RememberedPersons, *, actor: str, now: datetime) -> None:
        """Write the entry of people that are remembered apart from an export."""
        parts = {"event": None, **_persons_part(persons, self._key())}
        tx.ledger.append(LedgerFact(EntryKind.RELEASE, to_text(parts), actor, now))

    def verify(self) -> Audit:
        """Verify the whole chain, the anchor, and each fact of a release with the people that are remembered."""
        audit = self._ledger.verify()
        return replace(audit, flaws=[*audit.flaws, *self.flaws(persons=True)])

    def flaws(self, tx: ReadTransaction | None = None, *, persons: bool = False) -> Sequence[Flaw]:
        """Return where facts differ from their entries; with `persons`, also where remembered people do.

        The chain itself is verified by `StoredLedger.verify`.
        """
        if tx is None:
            with self._ledger.store.reading() as current:
                return self.flaws(current, persons=persons)
        chain = _Chain.read(tx)
        results = list(chain.event_flaws(tx, self._key))
        return [*results, *chain.person_flaws(tx, self._key)] if persons else results

    def person_flaw(self, tx: ReadTransaction, persons: RememberedPersons) -> str | None:
        """Return how remembered people differ from their entry, None if they do not."""
        entry = _Chain.read(tx).persons.get(persons.key)
        return _person_problem(persons.release, entry, self._key())

    def adopt(self, *, reason: str, actor: str, now: datetime) -> bool:
        """Accept the facts as they are, for a recorded reason, with all releases on hold; return whether it was needed.

        Raises:
            LedgerBroken: the ledger does not fit its anchor: resume it first.
        """

        def act(tx: WriteTransaction) -> bool:
            if not self.flaws(tx, persons=True):
                return False
            key = self._key()
            events = {str(event.id): _event_mac(event, event.id, key) for event in tx.release_events.matching()}
            remembered = [
                [subject, release.name, _persons_mac(release, key)]
                for subject in tx.releases.subjects()
                for release in tx.releases.of_subject(subject)
            ]
            body = to_text({"reason": reason, "events": events, "persons": remembered})
            tx.ledger.append(LedgerFact(EntryKind.ADOPTED, body, actor, now))
            for name in sorted({event.release for event in tx.release_events.matching()}):
                note = f"the record of releases was changed and is accepted as it is: {reason}"
                self.append(tx, ReleaseEvent(name, ReleaseEventKind.HELD, actor, note, {}, now))
            return True

        return self.write(act)


@dataclass
class _Chain:
    """The facts by the ledger's entries: the MAC and number of the entry of each, and of remembered people."""

    events: dict[int, tuple[str, int]] = field(default_factory=dict)
    persons: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    flaws: list[Flaw] = field(default_factory=list)

    @classmethod
    def read(cls, tx: ReadTransaction) -> "_Chain":
        chain = cls()
        for entry in tx.ledger.release_entries():
            try:
                chain._take(entry.number, entry.fact.kind, from_text(entry.fact.body))
            except (KeyError, TypeError, ValueError):
                chain.flaws.append(Flaw(entry.number, "it is about a release and cannot be read"))
        return chain

    def _take(self, number: int, kind: EntryKind, body: Mapping[str, Any]) -> None:
        if kind is EntryKind.ADOPTED:
            self.events = {int(event): (mac, number) for event, mac in body["events"].items()}
            self.persons = {(subject, name): (mac, number) for subject, name, mac in body["persons"]}
            self.flaws = []
            return
        if body["event"] is not None:
            self.events[body["event"]] = (body["mac"], number)
        persons = body.get("persons")
        if persons is not None:
            self.persons[persons["subject"], persons["name"]] = (persons["mac"], number)

    def event_flaws(self, tx: ReadTransaction, key: _Key) -> Sequence[Flaw]:
        results, left = list(self.flaws), dict(self.events)
        for event in tx.release_events.matching():
            mac, number = left.pop(event.id, (None, None))
            name = f"{_NAMES[event.kind]} of release '{event.release}' ({event.recorded_at:%Y-%m-%d %H:%M}Z)"
            if mac is None:
                results.append(Flaw(None, f"{name} is not in the ledger: it was not written by Tablewatch"))
            elif mac != _event_mac(event, event.id, key()):
                results.append(Flaw(number, f"{name} was changed after it was recorded, or the signature key was"))
        removed = "the decision or export of a release that it records was removed"
        return [*results, *(Flaw(number, removed) for number in sorted(number for _, number in left.values()))]

    def person_flaws(self, tx: ReadTransaction, key: _Key) -> Sequence[Flaw]:
        results, left = [], dict(self.persons)
        for subject in tx.releases.subjects():
            for release in tx.releases.of_subject(subject):
                entry = left.pop((subject, release.name), None)
                problem = _person_problem(release, entry, key())
                if problem is not None:
                    results.append(Flaw(None if entry is None else entry[1], problem))
        for (_, name), (_, number) in left.items():
            results.append(Flaw(number, f"the people of '{name}' were removed"))
        return results


_NAMES: Final = {
    ReleaseEventKind.APPROVED: "the approval",
    ReleaseEventKind.HELD: "the hold",
    ReleaseEventKind.EXPORTED: "the export",
}


def _person_problem(release: KnownRelease, entry: tuple[str, int] | None, key: bytes) -> str | None:
    if entry is None:
        return f"the people of '{release.name}' are not in the ledger: they were not written by Tablewatch"
    if entry[0] != _persons_mac(release, key):
        return f"the people of '{release.name}' were changed after they were recorded, or the signature key was"
    return None


def _persons_part(persons: RememberedPersons | None, key: bytes) -> dict[str, Any]:
    if persons is None:
        return {}
    subject, name = persons.key
    return {"persons": {"subject": subject, "name": name, "mac": _persons_mac(persons.release, key)}}


def _event_mac(event: ReleaseEvent, number: int, key: bytes) -> str:
    fields = [event.release, event.kind.value, event.actor, event.note, to_text(event.body)]
    text = json.dumps([number, *fields, to_us(event.recorded_at)], ensure_ascii=True, separators=(",", ":"))
    return blake2b(text.encode("ascii"), key=key, digest_size=_SIZE, person=b"release fact").hexdigest()


def _persons_mac(release: KnownRelease, key: bytes) -> str:
    """Return the MAC of who was in which class with how many rows, in no order.

    A release in which each pair has one row has the MAC of earlier versions, which kept no counts.
    """
    pairs = release.pairs
    mac = blake2b(key=key, digest_size=_SIZE, person=b"release persons")
    numbers = pairs.counts()
    size = COPIES if any(copies > 1 for copies in numbers.values()) else 0
    rows = sorted(b"".join(pair) + copies.to_bytes(COPIES, "little")[:size] for pair, copies in numbers.items())
    values = None if pairs.values is None else sorted(set(_parts(pairs.values, CLASS_VALUE)))
    while values and not any(value[-COPIES:].strip(b"\0") for value in values):  # of a version that kept no such count
        values = [value[:-COPIES] for value in values]
    counts = [to_us(release.released_at), pairs.digest.hex(), pairs.unnamed, len(rows)]
    counts.append(None if values is None else len(values))
    mac.update(json.dumps(counts).encode("ascii"))
    for part in (*rows, *(values or ())):
        mac.update(part)
    return mac.hexdigest()


def _parts(signatures: bytes, size: int) -> list[bytes]:
    return [signatures[at : at + size] for at in range(0, len(signatures), size)]
