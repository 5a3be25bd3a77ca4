"""Chain the entries of the ledger: the hash of each covers all that is in it and the hash of the one before.

Whoever changes, removes or inserts an entry has to make all later ones anew, and then the last hash is another one than
the anchor knows.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final

from incidents import to_us

ORIGIN: Final = bytes(32)
"""What the first entry follows."""

_FORM: Final = b"tablewatch.ledger/1\n"


class EntryKind(StrEnum):
    """What an entry of the ledger says.

    `created`, `changed`: a budget and its total. `reserved`: a charge. `answered`: the answer of one. `resumed`: a
    person has looked at a ledger that did not fit its anchor. `carried`: what was charged, as the anchor knows, by
    entries that are lost. `identified`: which table a budget is of, whatever it is called. `release`: the MAC of a
    decision about a release, of an export or of remembered persons. `adopted`: the MACs of all of these, as a person
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
    """What an entry says, before it has its place."""

    kind: EntryKind
    body: str
    actor: str
    recorded_at: datetime
    budget: int | None = None
    request: str | None = None
    nano: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
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
    def head(self) -> Head:
        """Return it as the last entry."""
        return Head(self.number, self.hash)

    @property
    def is_whole(self) -> bool:
        """Check whether its hash is that of what is in it."""
        return self.hash == hash_of(self.number, self.fact, self.previous)


START: Final = Head(0, ORIGIN)
"""The head of a ledger without entries."""


def follow(head: Head, fact: LedgerFact) -> ChainedEntry:
    """Return a fact its place after the last entry."""
    number = head.number + 1
    return ChainedEntry(number, fact, head.hash, hash_of(number, fact, head.hash))


def hash_of(number: int, fact: LedgerFact, previous: bytes) -> bytes:
    """Return the hash of an entry: SHA-256 of its fields as a JSON list in ASCII, which is one text for one entry."""
    content = [
        *(number, fact.kind.value, fact.budget, fact.request, fact.nano),
        *(fact.body, fact.actor, to_us(fact.recorded_at), previous.hex()),
    ]
    return sha256(_FORM + json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode("ascii")).digest()
