"""Counts of equivalence classes that outlive a pass: what a check asks for, what a look finds, what a store must offer.

    check ──wants──> KeptClasses ──look (knows KnownCounts)──> ClassChange ──store applies──> sizes ──> judge

A look groups and hashes what changed since the counts were made, and hands on signatures with counts. Nothing here
holds a value of a table: parts of a table and classes are named by signatures, and how far a look came is sealed.

Counts lie in parts. The counts of a part can be replaced; what belongs to no part can only be added to:

    append      a part of the rows that have the newest value of the watermark, since more of these may come
    partition   a part for each value of the column
    changes     no part: differences are added
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SIGNATURE: Final = 16
"""Bytes of a signature."""

COUNT: Final = 8
"""Bytes of a count."""

MOST_CLASSES: Final = 4_000_000
"""A table with more counts than this is counted as a whole each time, by its own engine."""


class Mode(StrEnum):
    """By what a look knows what changed."""

    APPEND = "append"
    PARTITION = "partition"
    CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class Keeping:
    """How counts are kept: by `column` (the watermark, the partition, or the sequence of the table of changes)."""

    mode: Mode
    column: str
    table: str | None = None
    """The table of changes."""


@dataclass(frozen=True, slots=True)
class KeptClasses:
    """A wish: the sizes of the classes of these quasi-identifiers, from counts that are kept."""

    quasi_identifiers: tuple[str, ...]
    keeping: Keeping


@dataclass(frozen=True, slots=True)
class PersonClasses:
    """A wish: how the class of each person compares with its classes in earlier releases of the table."""

    quasi_identifiers: tuple[str, ...]
    person: tuple[str, ...]


Kept: TypeAlias = KeptClasses | PersonClasses


class Recount(StrEnum):
    """Why all of a table was counted, though counts are kept."""

    FIRST = "first"
    """Nothing was kept: it is the first time, or the last counts were given up."""
    ASKED_OTHERWISE = "asked-otherwise"
    """Columns, their types, the filter, the way of keeping or the key are others."""
    ROWS_DIFFER = "rows-differ"
    """Rows went, or came where none can come: the count of rows is not the one that was kept."""
    NULL_WATERMARK = "null-watermark"
    """Rows without a watermark: nobody knows when they came."""
    MANY_CLASSES = "many-classes"
    """There are more classes than are kept."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Signatures with counts, each signature once, ascending, no count 0.

    `signatures`: 16 bytes each. `counts`: 8 bytes each, little-endian, signed where they are differences.
    """

    signatures: bytes = b""
    counts: bytes = b""

    @classmethod
    def of(cls, signatures: bytes | bytearray, counts: npt.NDArray[np.int64]) -> Pairs:
        """Take signatures in any order, whatever number of times, with a count each; the counts of one are added."""
        import numpy as np

        if not len(counts):
            return cls()
        first, second = _halves(signatures)
        order = np.argsort(first, kind="stable")  # quick where what is put together is sorted already
        if (np.diff(first[order]) == 0).any():
            order = np.lexsort((second, first))
        first, second, counts = first[order], second[order], counts[order]
        new = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        begins = np.flatnonzero(np.concatenate(([True], new)))
        summed = np.add.reduceat(counts, begins)
        kept = begins[summed != 0]
        both = np.stack((first[kept], second[kept]), axis=1).astype(">u8")
        return cls(both.tobytes(), summed[summed != 0].astype("<i8").tobytes())

    @classmethod
    def added(cls, *several: Pairs) -> Pairs:
        """Add the counts of several up."""
        import numpy as np

        some = [one for one in several if one.signatures]
        if len(some) < 2:
            return some[0] if some else cls()
        counts = np.frombuffer(b"".join(one.counts for one in some), dtype="<i8")
        return cls.of(b"".join(one.signatures for one in some), counts)

    @classmethod
    def joined(cls, several: Iterable[Pairs]) -> Pairs:
        """Put several together of which each begins after the one before has ended."""
        every = list(several)
        return cls(b"".join(one.signatures for one in every), b"".join(one.counts for one in every))

    @classmethod
    def unpacked(cls, packed: bytes) -> Pairs:
        """Give what was packed."""
        end = len(packed) // (SIGNATURE + COUNT) * SIGNATURE
        return cls(packed[:end], packed[end:])

    @property
    def packed(self) -> bytes:
        """Give all of it in one piece."""
        return self.signatures + self.counts

    @property
    def negative(self) -> Pairs:
        """Give it with each count below zero, and the other way round."""
        return Pairs(self.signatures, (-self.numbers()).astype("<i8").tobytes())

    def slice(self, begin: int, end: int) -> Pairs:
        """Give some of it, by place."""
        return Pairs(self.signatures[begin * SIGNATURE : end * SIGNATURE], self.counts[begin * COUNT : end * COUNT])

    def shards(self, bits: int) -> Sequence[tuple[int, Pairs]]:
        """Give it apart by the first bits of the signatures: (number, pairs), ascending, none that is empty."""
        import numpy as np

        if not self.signatures:
            return ()
        numbers = _halves(self.signatures)[0] >> np.uint64(64 - bits)
        found, begins = np.unique(numbers, return_index=True)
        ends = [*begins[1:].tolist(), len(self)]
        return [
            (number, self.slice(begin, end))
            for number, begin, end in zip(found.tolist(), begins.tolist(), ends, strict=True)
        ]

    def of_each(self, wanted: Pairs) -> npt.NDArray[np.int64]:
        """Give the count of each signature that is wanted, in that order; 0 for one that is not here."""
        import numpy as np

        found = np.zeros(len(wanted), dtype=np.int64)
        if not (len(self) and len(wanted)):
            return found
        (first, second), (asked, besides) = _halves(self.signatures), _halves(wanted.signatures)
        if (first[1:] == first[:-1]).any():  # one in 10^7 tables of two million classes
            mine = dict(self.items())
            return np.array([mine.get(signature, 0) for signature, _ in wanted.items()], dtype=np.int64)
        place = np.minimum(np.searchsorted(first, asked), len(first) - 1)
        alike = (first[place] == asked) & (second[place] == besides)
        found[alike] = self.numbers()[place[alike]]
        return found

    def __len__(self) -> int:
        """Count the signatures."""
        return len(self.signatures) // SIGNATURE

    def items(self) -> Iterable[tuple[bytes, int]]:
        """Give each signature with its count."""
        size = SIGNATURE
        starts = range(0, len(self.signatures), size)
        return zip((self.signatures[at : at + size] for at in starts), self.numbers().tolist(), strict=True)

    def sizes(self) -> list[tuple[int, int]]:
        """Give how many signatures have which count: (count, number)."""
        import numpy as np

        sizes, classes = np.unique(self.numbers(), return_counts=True)
        return list(zip(sizes.tolist(), classes.tolist(), strict=True))

    def numbers(self) -> npt.NDArray[np.int64]:
        """Give the counts, in the order of the signatures."""
        import numpy as np

        return np.frombuffer(self.counts, dtype="<i8")


def _halves(signatures: bytes | bytearray) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    import numpy as np

    both = np.frombuffer(signatures, dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return both[:, 0], both[:, 1]


@dataclass(frozen=True, slots=True)
class PartCounts:
    """The counts of a part, in place of what was kept of it; no pairs: it has gone.

    `name`: a signature. `fingerprint`: keyed, changes with every change of its rows that counts; empty where nobody
    can tell.
    """

    name: bytes
    rows: int
    fingerprint: bytes
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class KnownPart:
    """What is kept of a part beside its counts."""

    rows: int
    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class KnownCounts:
    """What a look must know of the counts that are kept.

    `state` and `version` say which counts these are. `digest`: of all that was asked. `token`: sealed, how far the look
    came. `rows`: of the table, as far as it came.
    """

    state: int
    version: int
    digest: bytes
    token: bytes
    rows: int
    parts: Mapping[bytes, KnownPart]


@dataclass(frozen=True, slots=True)
class ClassChange:
    """What a look found: differences to the counts in `base`, or all counts where that is None.

    `added` belongs to no part. The other fields as in `KnownCounts`, after the change. `why`: why all were counted.
    """

    base: KnownCounts | None
    digest: bytes
    mode: Mode
    token: bytes
    rows: int
    added: Pairs = Pairs()
    parts: Sequence[PartCounts] = ()
    why: Recount | None = None

    def totals(self) -> Pairs:
        """Give the counts of all parts together, where all were counted."""
        return Pairs.added(self.added, *(part.pairs for part in self.parts))

    def sizes(self) -> list[tuple[int, int]]:
        """Give how many classes there are of each size, (size, classes), where all were counted."""
        return self.totals().sizes()


@dataclass(frozen=True, slots=True)
class PersonPairs:
    """The classes of persons: a signature of the person and one of its class, 16 bytes each, per row.

    `digest`: by what persons are told apart. `unnamed`: rows without a person.
    """

    digest: bytes
    people: bytes
    classes: bytes
    unnamed: int

    @property
    def rows(self) -> int:
        """Count the rows that have a person."""
        return len(self.people) // SIGNATURE


KeptAnswer: TypeAlias = ClassChange | PersonPairs


@dataclass(frozen=True, slots=True)
class Release:
    """An earlier release of a table, as it is remembered: its name, when it was given away, and whom it held."""

    name: str
    released_at: datetime
    pairs: PersonPairs


class Unfit(StrEnum):
    """Why a change was not applied."""

    OVERTAKEN = "overtaken"
    """The counts it is a change of are no longer those that are kept: somebody else was faster."""
    BELOW_ZERO = "below-zero"
    """A class would have fewer than no rows: the changes are not those of this table. The counts are given up."""


class Applied(Protocol):
    """A change that is written and does not hold yet."""

    @property
    def sizes(self) -> Sequence[tuple[int, int]]:
        """How many classes there are of each size, with it: (size, classes)."""


class ClassCounts(Protocol):
    """What may be asked of class counts and releases that outlive a pass; the store keeps them.

    A change is applied in two steps, so that no writer is in anybody's way for long: `stage_counts` writes it, in as
    many short transactions as it takes, and then it holds from the moment at which it is settled, in the transaction
    that remembers the result. Until then, and after a crash, the old counts hold.
    """

    def known_counts(self, subjects: Iterable[str]) -> Mapping[str, KnownCounts]:
        """Give what is kept, by subject; a subject is the id of a check."""

    def stage_counts(self, changes: Mapping[str, ClassChange], *, now: datetime) -> Mapping[str, Applied | Unfit]:
        """Write changes, by subject."""

    def releases(self, subject: str) -> Sequence[Release]:
        """Give the earlier releases that are remembered under a subject, the oldest first."""
