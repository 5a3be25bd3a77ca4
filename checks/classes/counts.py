"""Counts of equivalence classes that outlive a pass: what a check asks for, what a look finds, what a store must offer.

    check ──wants──> KeptClasses ──look (knows KnownCounts)──> ClassChange ──store applies──> sizes ──> judge

A look groups and hashes what changed since the counts were made, and hands on signatures with counts. Nothing here
holds a value of a table: parts of counts and classes are named by signatures, and how far a look came is sealed.

Counts lie in parts. The counts of a part can be replaced; what belongs to no part can only be added to:

    append      a part of the rows that have the newest value of the watermark, since more of these may come
    changes     no part: differences are added

Of a table with `incremental`, the figures of the rows that are no longer read are kept in the same way: `ClosedPart`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from checks.classes.pairs import SIGNATURE, SignaturePairs

MOST_CLASSES: Final = 4_000_000
"""A table with more counts than this is counted as a whole each time, by its own engine."""


_NONE: Final = SignaturePairs()


class Mode(StrEnum):
    """By what a look knows what changed."""

    APPEND = "append"
    CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class Keeping:
    """How counts are kept: by `column` (the watermark, or the sequence of the table of changes)."""

    mode: Mode
    column: str
    table: str | None = None
    """The table of changes."""


@dataclass(frozen=True, slots=True)
class ClassCountRequest:
    """A wish: the sizes of the classes of these quasi-identifiers, from counts that are kept."""

    quasi_identifiers: tuple[str, ...]
    keeping: Keeping


@dataclass(frozen=True, slots=True)
class PersonRequest:
    """A wish: how the class of each person compares with its classes in earlier releases of the table."""

    quasi_identifiers: tuple[str, ...]
    person: tuple[str, ...]
    sensitive: tuple[str, ...] = ()


CountRequest: TypeAlias = ClassCountRequest | PersonRequest


class Recount(StrEnum):
    """Why all of a table was counted, though counts are kept."""

    FIRST = "first"
    """Nothing was kept: it is the first time, or the last counts were given up."""
    ASKED_OTHERWISE = "asked-otherwise"
    """Columns, their types, the filter, the way of keeping or the key are others."""
    ROWS_DIFFER = "rows-differ"
    """Rows went, or came where none can come: the count of rows is not the one that was kept."""
    NULL_WATERMARK = "null-watermark"
    """Rows without a watermark: when they came is unknown."""
    MANY_CLASSES = "many-classes"
    """There are more classes than are kept."""
    DUE = "due"
    """A full look was due: it finds late changes."""


@dataclass(frozen=True, slots=True)
class PartCounts:
    """The counts of a part, in place of what was kept of it; no pairs: it has gone.

    `name`: a signature.
    """

    name: bytes
    rows: int
    pairs: SignaturePairs


@dataclass(frozen=True, slots=True)
class KnownCounts:
    """The part of stored counts that the next run needs.

    `state` and `version` say which counts these are. `digest`: of all that was asked. `token`: sealed, how far the look
    came. `rows`: of the table, as far as it came. `parts`: rows by the name of the part.
    """

    state: int
    version: int
    digest: bytes
    token: bytes
    rows: int
    parts: Mapping[bytes, int]


@dataclass(frozen=True, slots=True)
class ClassChange:
    """The result of a run: differences to the counts in `base`, or all counts where that is None.

    `added` belongs to no part. The other fields as in `KnownCounts`, after the change. `why`: why all were counted.
    """

    base: KnownCounts | None
    digest: bytes
    mode: Mode
    token: bytes
    rows: int
    added: SignaturePairs = _NONE
    parts: Sequence[PartCounts] = ()
    why: Recount | None = None

    def totals(self) -> SignaturePairs:
        """Return the counts of all parts together, where all were counted."""
        return SignaturePairs.added(self.added, *(part.pairs for part in self.parts))

    def sizes(self) -> list[tuple[int, int]]:
        """Return how many classes there are of each size, (size, classes), where all were counted."""
        return self.totals().sizes()


@dataclass(frozen=True, slots=True)
class PersonPairs:
    """The classes of people: a signature of the person and one of its class, 16 bytes each, per row.

    `digest`: the digest of what distinguishes people. `unnamed`: rows without a person. `values`: which values each
    class has, `CLASS_VALUE` bytes for each: sensitive ones, and the combinations of quasi-identifiers that it was made
    of; None where none were kept. `is_counted`: whether all rows are here; an earlier version kept each pair once.
    """

    digest: bytes
    people: bytes
    classes: bytes
    unnamed: int
    values: bytes | None = None
    is_counted: bool = True

    @property
    def rows(self) -> int:
        """Count the rows that have a person."""
        return len(self.people) // SIGNATURE

    def counts(self) -> Mapping[tuple[bytes, bytes], int]:
        """Return how many rows each pair of a person and a class has."""
        places = range(0, len(self.people), SIGNATURE)
        return Counter((self.people[at : at + SIGNATURE], self.classes[at : at + SIGNATURE]) for at in places)


@dataclass(frozen=True, slots=True)
class ClosedPart:
    """The stored counts of rows of a table that are no longer read: those whose column lies `before` a time.

    `digest`: of all that was asked. `before`: None where nothing is closed. `newest`: the newest value of the column,
    not after the time of the look. Both are as in UTC, wall clocks and dates too. `figures`: counts, sums and times by
    label. `rows`: of the whole table, of which `read` were read. `checks`: which read no more than that. `why`: why all
    rows were read. `late`: what the last full look found changed among the rows that were closed: `figures`, and how
    many `rows` more; None where it had nothing to compare with. `version`: of what was kept before; 0 for nothing.
    """

    table: str
    digest: bytes
    before: datetime | None
    newest: datetime | None
    figures: Mapping[str, int | str | None]
    looked_at: datetime
    full_at: datetime
    rows: int
    read: int
    checks: tuple[str, ...]
    why: Recount | None = None
    late: Mapping[str, int] | None = None
    version: int = 0

    @property
    def found_late(self) -> Mapping[str, int] | None:
        """Return what changed among closed rows, where this is the full look that found it."""
        return self.late if self.why is Recount.DUE and self.late and any(self.late.values()) else None


class PersonRows(Protocol):
    """The rows of a table as keyed signatures, each of a person (`checks.risk.compared_releases.ReleasedRows`)."""

    def pairs(self) -> PersonPairs:
        """Return what is remembered of them."""


KeptAnswer: TypeAlias = "ClassChange | PersonRows | ClosedPart"


@dataclass(frozen=True, slots=True)
class KnownRelease:
    """A remembered earlier release of a table: its name, time and people."""

    name: str
    released_at: datetime
    pairs: PersonPairs


class RejectedChange(StrEnum):
    """Why a change was not applied."""

    OVERTAKEN = "overtaken"
    """The stored counts are no longer those that it changes: another process was faster."""
    BELOW_ZERO = "below-zero"
    """A class would have fewer than no rows: the changes are not those of this table. The counts are given up."""


class Applied(Protocol):
    """A change that is written and does not hold yet."""

    @property
    def sizes(self) -> Sequence[tuple[int, int]]:
        """Return the number of classes of each size, with it: (size, classes)."""


class ClassCounts(Protocol):
    """Queries about class counts and releases that outlive a run; they are in the store.

    A change is applied in two steps, so that no writer blocks others for long: `stage_counts` writes it, in as
    many short transactions as it takes, and then it holds from the moment at which it is settled, in the transaction
    that remembers the result. Until then, and after a crash, the old counts hold.
    """

    def known_counts(self, subjects: Iterable[str]) -> Mapping[str, KnownCounts]:
        """Return what is kept, by subject; a subject is the id of a check."""

    def stage_counts(
        self, changes: Mapping[str, ClassChange], *, now: datetime
    ) -> Mapping[str, Applied | RejectedChange]:
        """Write changes, by subject."""

    def releases(self, subject: str) -> Sequence[KnownRelease]:
        """Return the earlier releases that are remembered under a subject, the oldest first."""


NAME: Final = "release"
SIZE: Final = "size"
PERSONS: Final = "persons"
KIND: Final = "kind"
COLUMN: Final = "column"
COUNT: Final = "count"


class DisclosureKind(StrEnum):
    """What a release and earlier ones tell together, beside the classes that they have in common."""

    LEFT_OVER = "left-over"
    """People of one release only, singled out by the difference."""
    DIFFERENCE = "difference"
    """Groups of the difference that break a limit: on a column, or without one on k."""
    UNCOUNTED = "uncounted"
    """Nothing can be subtracted: an earlier version kept no counts."""
    TOGETHER = "together"
    """People in small groups by all releases."""
    VALUES = "values"
    """Rows of people whose values of a column break l or t by all releases."""
    FEW_VALUES = "few-values"
    """People with fewer than l possible values by the classes of all releases together."""
