"""Count what changed since the classes of a table were counted last, and hash it: the part of the process that looks.

    bounds ──> what is known still fits? ──yes──> groups of what changed ──> signatures and counts
                                        └──no───> groups of all rows ─────> signatures and counts

Values of the table are in memory while they are hashed, and go nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from math import isnan
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from checks import Context, Misconfigured
from checks.classes import changes as ask
from checks.classes.counts import (
    MOST_CLASSES,
    ClassChange,
    ClassCountRequest,
    KeptAnswer,
    KnownCounts,
    Mode,
    PartCounts,
    PersonRequest,
    Recount,
)
from checks.classes.pairs import SIGNATURE, SignaturePairs
from checks.classes.spellings import normal_form
from checks.classes.tables import ClassTables, sizes_of
from checks.risk.class_signatures import SCHEME, ClassSigner
from checks.risk.compared_releases import COMBINATIONS, PUBLISHED, SUPPRESSED, WRITTEN, ReleasedRows, column_of
from checks.risk.signatures import LEAST_KEY, NotSignable, Signer
from sources import Column, Source
from sources.expressions import ir

_FORM: Final = f"2, {SCHEME}"
"""Changes whenever signatures, or what is counted, are made or kept otherwise: then everything is counted again."""
_PERSONS_FORM: Final = 1
"""The same of the signatures that releases are remembered by."""


class SqlRunner:
    """Asks the source, one statement at a time."""

    def __init__(self, source: Source, say: Callable[[ir.Table], str]) -> None:
        self._source, self._say = source, say

    def rows(self, expression: ir.Table) -> Sequence[Mapping[str, Any]]:
        """Return rows by column name."""
        return self._source.fetch(self._say(expression))

    def row(self, expression: ir.Table) -> Mapping[str, Any]:
        """Return the only row."""
        return self.rows(expression)[0]

    def tuples(self, expression: ir.Table) -> Iterator[Sequence[tuple[Any, ...]]]:
        """Return rows as tuples, in the order of the columns, a piece at a time."""
        return self._source.pieces(self._say(expression))

    def columns(self, expression: ir.Table) -> Iterator[Sequence[Column]]:
        """Return rows column by column, a piece at a time."""
        return self._source.columns(self._say(expression))


@dataclass(frozen=True, slots=True)
class CountResult:
    """The counts: an answer for the store, or the sizes themselves where nothing is stored."""

    kept: KeptAnswer | None
    rows: int
    sizes: Sequence[Mapping[str, int]] | None = None
    why: Recount | None = None

    @property
    def how(self) -> str:
        """Return whether all rows were counted, or what changed."""
        return "changes" if isinstance(self.kept, ClassChange) and self.kept.base is not None else "all"


def count_classes(
    class_count_request: ClassCountRequest,
    context: Context,
    asking: SqlRunner,
    *,
    key: bytes,
    known: KnownCounts | None,
    about: Sequence[str],
) -> CountResult:
    """Count the classes of a table as far as they changed. `about`: what else the counts depend on.

    Raises:
        Misconfigured: a column is missing or of a type that does not fit. SourceError: as the source.
    """
    try:
        return _Count(class_count_request, context, asking, key, known, tuple(about)).count()
    except NotSignable as error:
        raise Misconfigured(f"{error}; remove its column from the quasi-identifiers") from None


def sizes_at_once(
    class_count_request: ClassCountRequest, context: Context, asking: SqlRunner, why: Recount | None = None
) -> CountResult:
    """Count the classes in the engine that holds the table; nothing is kept."""
    sizes = asking.rows(sizes_of(ClassTables(context.filtered, class_count_request.quasi_identifiers)))
    return CountResult(None, sum(row["size"] * row["classes"] for row in sizes), sizes, why)


def sign_persons(person_request: PersonRequest, context: Context, asking: SqlRunner, *, key: bytes) -> ReleasedRows:
    """Return the class and the sensitive values of the rows of each person, as signatures.

    Raises:
        Misconfigured: a column is missing, or there are too many rows. SourceError: as the source.
    """
    grouped, sensitive = sorted(person_request.quasi_identifiers), person_request.sensitive
    columns = [context.column(name) for name in (*person_request.person, *grouped, *sensitive)]
    rows = context.filtered.select(**{f"c{place}": column for place, column in enumerate(columns)})
    person, end = range(len(person_request.person)), len(person_request.person) + len(grouped)
    people_signer, class_signer, signer = Signer(key, "person"), Signer(key, "class"), Signer(key, "released value")
    written = [f"{name}{WRITTEN}" for name in sensitive]
    people, classes, unnamed = bytearray(), bytearray(), 0
    values, table = ({name: bytearray() for name in (*sensitive, *written)} for _ in range(2))
    for piece in asking.tuples(rows):
        named = [row for row in piece if None not in row[: len(person)]]
        unnamed += len(piece) - len(named)
        people += b"".join(people_signer.signatures(named, person))
        classes += b"".join(class_signer.signatures(named, range(len(person), end)))
        if len(people) > MOST_CLASSES * SIGNATURE:
            raise Misconfigured(f"more than {MOST_CLASSES:,} rows; releases above this size are not compared")
        for signed, of in ((values, named), (table, piece)):
            for place, name in enumerate(sensitive, end):
                texts = [_known(row[place]) for row in of]
                signed[f"{name}{WRITTEN}"] += b"".join(signer.signatures(((name, text) for text in texts), range(2)))
                spelled = ((name, normal_form(text) if isinstance(text, str) else text) for text in texts)
                signed[name] += b"".join(signer.signatures(spelled, range(2)))
    return ReleasedRows(
        digest=Signer(key, "persons").signature((_PERSONS_FORM, *person_request.person)),
        people=bytes(people),
        named=range(len(people) // SIGNATURE),
        classes=bytes(classes),
        made_of=bytes(classes),
        values={name: bytes(signed) for name, signed in values.items()},
        table={name: bytes(signed) for name, signed in table.items()},
        columns={name: signer.signature((name,)) for name in (*values, COMBINATIONS, SUPPRESSED, PUBLISHED)},
        missing={name: signer.signature((column_of(name), None)) for name in values},
        unnamed=unnamed,
    )


def _known(value: Any) -> Any:
    """Return a value; None for what counts as missing: NaN, and text of white space alone."""
    if isinstance(value, str):
        return value if value.strip() else None
    return None if isinstance(value, float) and isnan(value) else value


def usable(key: bytes) -> bool:
    """Check whether this can be a key."""
    return len(key) >= LEAST_KEY


class _TooMany(Exception):
    """There are more classes than are kept."""


@dataclass
class _Count:
    wanted: ClassCountRequest
    context: Context
    asking: SqlRunner
    key: bytes
    known: KnownCounts | None
    about: tuple[str, ...]

    def __post_init__(self) -> None:
        self.names = self.wanted.quasi_identifiers
        self.column, self.mode = self.wanted.keeping.column, self.wanted.keeping.mode
        self.sealer = Signer(self.key, "sealed")
        self.digest = self._digest()
        self.why = Recount.FIRST if self.known is None else None
        if self.known is not None and self.known.digest != self.digest:
            self.known, self.why = None, Recount.ASKED_OTHERWISE
        elif self.known is not None and self.known.rows == 0:  # it was given up when the table was empty
            self.known, self.why = None, Recount.FIRST
        self.found = 0

    def count(self) -> CountResult:
        try:
            return self._append() if self.mode is Mode.APPEND else self._changes()
        except _TooMany:
            return sizes_at_once(self.wanted, self.context, self.asking, Recount.MANY_CLASSES)

    def _digest(self) -> bytes:
        """Return a signature of everything that the counts depend on, but for the rows."""
        names = [self.column, *sorted(self.names)] if self.mode is not Mode.CHANGES else sorted(self.names)
        kinds = [f"{name} {self.context.column(name).type()}" for name in names]
        table = self.wanted.keeping.table
        return Signer(self.key, "digest").signature([_FORM, self.mode.value, table, self.column, *kinds, *self.about])

    # --- append -------------------------------------------------------------------------------------------------------

    def _append(self) -> CountResult:
        last = self._last()
        seen = self.asking.row(ask.bounds(self.context, self.column, last))
        if last is not None and seen[ask.NEWEST] is None:
            self._recount(Recount.ROWS_DIFFER)
            last, seen = None, self.asking.row(ask.bounds(self.context, self.column, None))
        newest = seen[ask.NEWEST]
        if newest is None and not seen[ask.NULLS] and self.why is Recount.ROWS_DIFFER:
            return self._change(None, 0)  # what comes after this may look like what was kept
        if newest is None or seen[ask.NULLS]:
            why = Recount.NULL_WATERMARK if seen[ask.NULLS] else None
            return sizes_at_once(self.wanted, self.context, self.asking, why)
        settled = 0
        if self.known is not None:
            settled = self.known.rows - sum(self.known.parts.values())
            if seen[ask.BELOW] != settled or newest < last:
                self._recount(Recount.ROWS_DIFFER)
                last, settled = None, 0
        rows = ask.arrived(self.context, self.names, self.column, last=last, newest=newest)
        before, tail = SignatureCounts(), SignatureCounts()
        for signed, columns in self._signed(rows, first=1):
            is_newest = columns[0].numbers() != 0
            before.add(signed.of(~is_newest))
            tail.add(signed.of(is_newest))
        name = Signer(self.key, "part").signature(("newest",))
        parts = [PartCounts(name, tail.rows, tail.pairs())]
        return self._change(newest, settled + before.rows + tail.rows, added=before.pairs(), parts=parts)

    # --- changes ------------------------------------------------------------------------------------------------------

    def _changes(self) -> CountResult:
        text = self.wanted.keeping.table or ""
        changes = ask.change_table(self.context, self.names, table=text, sequence=self.column)
        last = self._last()
        seen = self.asking.row(ask.change_bounds(self.context, changes, self.column, last))
        if seen[ask.NULLS]:
            operations = ", ".join(ask.OPERATIONS)
            raise Misconfigured(f"{text} has rows without a sequence or whose 'op' is none of {operations}")
        newest = seen[ask.NEWEST]
        if self.known is not None:
            expected = self.known.rows + seen[ask.ADDED] - seen[ask.REMOVED]
            if seen[ask.ROWS] != expected or (newest is not None and last is not None and newest < last):
                self._recount(Recount.ROWS_DIFFER)
        if self.known is None:
            return self._all_with_sequence(changes)
        if newest is None or newest == last:
            return self._change(last, self.known.rows)
        tally = SignatureCounts()
        rows = ask.differences(changes, self.names, self.column, last=last, newest=newest)
        for signed, columns in self._signed(rows, first=1):
            tally.add(signed.times(2 * columns[0].numbers() - 1))
        return self._change(newest, self.known.rows + tally.rows, added=tally.pairs())

    def _all_with_sequence(self, changes: ir.Table) -> CountResult:
        tally, newest = SignatureCounts(), None
        rows = ask.groups_with_sequence(self.context, self.names, changes, self.column)
        for signed, columns in self._signed(rows, first=0):
            tally.add(signed)
            newest = columns[-1].coded()[0][0]
        if not tally.rows and self.why is not Recount.ROWS_DIFFER:
            return CountResult(None, 0, (), self.why)
        return self._change(newest, tally.rows, added=tally.pairs())

    # --- all of them --------------------------------------------------------------------------------------------------

    def _recount(self, why: Recount) -> None:
        self.known, self.why = None, why

    def _last(self) -> Any:
        return None if self.known is None else _from_text(self.sealer.unseal(self.known.token))

    def _signed(self, rows: ir.Table, *, first: int) -> Iterator[tuple[SignedRows, Sequence[Column]]]:
        """Yield rows with the signatures of their quasi-identifiers, which begin at the column `first`, and `rows`."""
        signer = ClassSigner(self.key, len(self.names))
        at = rows.columns.index(ask.ROWS)
        for columns in self.asking.columns(rows):
            self.found += len(columns[0])
            if self.found > MOST_CLASSES:
                raise _TooMany
            signatures = signer.sign([column.coded() for column in columns[first : first + len(self.names)]])
            yield SignedRows(*signatures, columns[at].numbers()), columns

    def _change(
        self,
        token: Any,
        rows: int,
        *,
        added: SignaturePairs = SignaturePairs(),  # noqa: B008 - a frozen value
        parts: Iterable[PartCounts] = (),
    ) -> CountResult:
        change = ClassChange(
            base=self.known,
            digest=self.digest,
            mode=self.mode,
            token=self.sealer.seal(_to_text(token)),
            rows=rows,
            added=added,
            parts=tuple(parts),
            why=self.why,
        )
        return CountResult(change, rows, why=self.why)


def _to_text(value: Any) -> str:
    """Write a watermark so that it is read as the same value, of the same type."""
    if isinstance(value, datetime | date):
        return f"{type(value).__name__} {value.isoformat()}"
    return "none" if value is None else f"{type(value).__name__} {value}"


def _from_text(text: str) -> Any:
    kind, _, rest = text.partition(" ")
    read: Mapping[str, Callable[[str], Any]] = {
        "none": lambda _: None,
        "str": str,
        "int": int,
        "Decimal": Decimal,
        "datetime": datetime.fromisoformat,
        "date": date.fromisoformat,
    }
    return read[kind](rest)


@dataclass(frozen=True, slots=True)
class SignedRows:
    """Signatures, as their first and second halves, with a count each."""

    first: npt.NDArray[np.uint64]
    second: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.int64]

    def of(self, places: npt.NDArray[Any] | slice) -> SignedRows:
        """Return some of them."""
        return SignedRows(self.first[places], self.second[places], self.counts[places])

    def times(self, factors: npt.NDArray[np.int64]) -> SignedRows:
        """Return them with other counts."""
        return SignedRows(self.first, self.second, self.counts * factors)


@dataclass
class SignatureCounts:
    """Signatures with counts, as they come."""

    rows: int = 0
    signed: list[SignedRows] = field(default_factory=list)

    def add(self, signed: SignedRows) -> None:
        """Take more."""
        self.signed.append(signed)
        self.rows += int(signed.counts.sum())

    def pairs(self) -> SignaturePairs:
        """Return the counts, each signature once."""
        if not self.signed:
            return SignaturePairs()
        return SignaturePairs.summed(
            np.concatenate([signed_rows.first for signed_rows in self.signed]),
            np.concatenate([signed_rows.second for signed_rows in self.signed]),
            np.concatenate([signed_rows.counts for signed_rows in self.signed]),
        )
