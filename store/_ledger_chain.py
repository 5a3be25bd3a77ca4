"""Chain the entries of the ledger, and keep the last one outside the database as its anchor.

The hash of each entry covers all that is in it and the hash of the one before: an attacker who changes, removes or
inserts an entry has to make all later ones again, and then the last hash is another one than the anchor knows. So an
old backup in the place of the database is noticed too.

The anchor is a small file: the number and hash of an entry, and what was spent of each budget by then. It only ever
goes forward, under a lock of its own, and is replaced as a whole: written under another name, put on the disk, renamed.
Restoring old copies of both the database and the anchor is not noticed: keep the anchor apart from backups.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final

from incidents import to_us
from remedies import Misfit
from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.ledger import LedgerBudget
from remedies.differential_privacy.sensitivity import Adjacency
from store._engines import address_of
from store._errors import LedgerBroken, StoreUnavailable
from store._failpoint import FailPoint, reached
from store._files import NO_LINKS, lock_file, make_draft, make_folder, put_on_disk, remove_draft

_FORM: Final = "tablewatch.ledger-anchor/1"

ORIGIN: Final = bytes(32)
"""What the first entry follows."""

_ENTRY_FORM: Final = b"tablewatch.ledger/1\n"


class EntryKind(StrEnum):
    """What an entry of the ledger says.

    `created`, `changed`: a budget and its total. `reserved`: a charge. `answered`: the answer of one. `resumed`: a
    person has looked at a ledger that did not fit its anchor. `carried`: what was charged, as the anchor knows, by
    entries that are lost. `identified`: which table a budget is of, whatever it is called. `release`: the MAC of a
    decision about a release, of an export or of remembered people. `adopted`: the MACs of all of these, as a person
    took them after they were changed.
    """

    CREATED = "created"
    CHANGED = "changed"
    RESERVED = "reserved"
    ANSWERED = "answered"
    RESUMED = "resumed"
    CARRIED = "carried"
    IDENTIFIED = "identified"
    RELEASE = "release"
    ADOPTED = "adopted"


@dataclass(frozen=True, slots=True)
class LedgerFact:
    """The content of an entry, before it has its place."""

    kind: EntryKind
    body: str
    actor: str
    recorded_at: datetime
    budget: int | None = None
    request: str | None = None
    nano: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerHead:
    """The last entry: its number, 0 if there is none, and its hash."""

    number: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class ChainedEntry:
    """A fact in its place."""

    number: int
    fact: LedgerFact
    previous: bytes
    hash: bytes

    @property
    def head(self) -> LedgerHead:
        """Return it as the last entry."""
        return LedgerHead(self.number, self.hash)

    @property
    def is_whole(self) -> bool:
        """Check whether its hash is that of what is in it."""
        return self.hash == hash_of(self.number, self.fact, self.previous)


START: Final = LedgerHead(0, ORIGIN)
"""The head of a ledger without entries."""


def follow(head: LedgerHead, fact: LedgerFact) -> ChainedEntry:
    """Return a fact its place after the last entry."""
    number = head.number + 1
    return ChainedEntry(number, fact, head.hash, hash_of(number, fact, head.hash))


def hash_of(number: int, fact: LedgerFact, previous: bytes) -> bytes:
    """Return the hash of an entry: SHA-256 of its fields as a JSON list in ASCII, which is one text for one entry."""
    content = [
        *(number, fact.kind.value, fact.budget, fact.request, fact.nano),
        *(fact.body, fact.actor, to_us(fact.recorded_at), previous.hex()),
    ]
    return sha256(_ENTRY_FORM + json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode("ascii")).digest()


# --- the anchor -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Anchor:
    """An entry, and what was spent of each budget when it was the last one."""

    head: LedgerHead
    spent: Sequence[tuple[LedgerBudget, int]] = ()


def anchor_file(url: str, path: Path | None = None) -> Path:
    """Return the place of the anchor of a store's ledger.

    Args:
        url: of the store.
        path: what the configuration says; None for `FILE.ledger` beside a SQLite file, and for PostgreSQL a file in
            the folder for states of this user (`XDG_STATE_HOME`, else `~/.local/state`), one for each database and
            schema. Hosts that share a PostgreSQL store should share one place: each notices only what its own anchor
            vouches for.
    """
    if path is not None:
        return path
    address = address_of(url)
    if address.file is not None:
        store = address.file.resolve()  # two names of one store have one anchor
        return store.with_name(f"{store.name}.ledger")
    place = [address.url.host, address.url.port, address.url.database, sorted(address.url.query.items())]
    name = blake2b(json.dumps(place).encode(), digest_size=16).hexdigest()
    states = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(states) / "tablewatch" / f"{name}.ledger"


class AnchorFile:
    """The anchor on the disk."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self) -> Anchor | None:
        """Return what the anchor vouches for, None if there is none.

        Raises:
            LedgerBroken: it is damaged. StoreUnavailable: it cannot be read.
        """
        try:
            text = self.file.read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            text = ""
        except OSError as error:
            raise StoreUnavailable(f"{self.file}, the ledger's anchor, cannot be read ({error.strerror})") from None
        try:
            return _read(text)
        except (ValueError, TypeError, KeyError, ArithmeticError, Misfit):
            raise LedgerBroken(
                f"{self.file}, the ledger's anchor, is corrupt; nothing was charged; verify the ledger, move that "
                "file away and resume the ledger"
            ) from None

    def begin(self) -> Anchor:
        """Write the anchor of a ledger without entries, unless there is one; return the anchor."""
        with self._locked():
            present = self.read()
            if present is None:
                present = Anchor(START)
                self._write(present)
            return present

    def advance(self, anchor: Anchor) -> bool:
        """Advance the anchor to a later entry; return whether it was written: never in the place of one as late.

        Raises:
            LedgerBroken: the anchor vouches for another entry of that number. StoreUnavailable: it cannot be written.
        """
        with self._locked():
            present = self.read()
            if present is not None and present.head.number >= anchor.head.number:
                if present.head.number == anchor.head.number and present.head != anchor.head:
                    raise LedgerBroken(_two_ledgers(self.file))
                return present.head == anchor.head
            self._write(anchor)
            return True

    def replace(self, anchor: Anchor) -> None:
        """Write the anchor of an entry, whatever it was before."""
        with self._locked():
            self._write(anchor)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the anchor for one writer; no caller that waits here holds the store's lock."""
        try:
            make_folder(self.file.parent)
            number = os.open(f"{self.file}.lock", os.O_RDWR | os.O_CREAT | NO_LINKS, 0o600)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            lock_file(number, wait=True)
            yield
        except OSError as error:
            raise self._unwritable(error) from None
        finally:
            os.close(number)

    def _write(self, anchor: Anchor) -> None:
        draft = make_draft(self.file)
        try:
            draft.write_text(_text(anchor), encoding="ascii")
            put_on_disk(draft)
            reached(FailPoint.IN_ANCHOR)
            draft.replace(self.file)
            put_on_disk(self.file.parent)
        finally:
            remove_draft(draft)

    def _unwritable(self, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.file}, the ledger's anchor, cannot be written ({error.strerror}); queries are blocked without it"
        )


def _two_ledgers(file: Path) -> str:
    return (
        f"{file} confirms an entry that is not in this ledger: it is another database, or an old backup that was "
        "used further; queries are blocked; verify the ledger, then resume it"
    )


def _text(anchor: Anchor) -> str:
    parts = {
        "form": _FORM,
        "number": anchor.head.number,
        "hash": anchor.head.hash.hex(),
        "budgets": [
            {
                "data_set": budget.data_set,
                "unit": budget.unit,
                "accounting": budget.accounting.value,
                "adjacency": budget.adjacency.value,
                "total": budget.total,
                "spent": spent,
                "delta": None if budget.delta is None else str(budget.delta),
            }
            for budget, spent in anchor.spent
        ],
    }
    return json.dumps({**parts, "sum": _sum(parts)}, indent=1) + "\n"


def _sum(texts: Mapping[str, Any]) -> str:
    return sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def _read(text: str) -> Anchor:
    wording = json.loads(text)
    if wording.pop("sum") != _sum(wording) or wording["form"] != _FORM:
        raise ValueError
    head = LedgerHead(int(wording["number"]), bytes.fromhex(wording["hash"]))
    return Anchor(head, [(_budget(item), int(item["spent"])) for item in wording["budgets"]])


def _budget(item: Mapping[str, Any]) -> LedgerBudget:
    delta = None if item["delta"] is None else Fraction(item["delta"])
    methods = Accounting(item["accounting"]), Adjacency(item["adjacency"])
    return LedgerBudget(item["data_set"], item["unit"], *methods, item["total"], delta)
