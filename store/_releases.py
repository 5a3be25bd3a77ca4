"""Earlier releases of tables: their people and classes as signatures, and their events.

People and classes are signatures: no value of a watched table. Approvals, holds and exports are facts in the order of
recording, never changed.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Column, Index, UniqueConstraint, delete, insert, literal_column, select, update
from sqlmodel import Field

from checks.classes.counts import KnownRelease, PersonPairs
from checks.classes.pairs import CLASS_VALUE, COPIES, SIGNATURE
from store._columns import STRICT, WHOLE, Mapped, Row, blob, flag, flags, json, key, line, one_of, time, whole, word
from store._errors import StoreConflict
from store._repository import Repository
from store._values import ReleaseEvent, ReleaseEventKind, StoredComparison


def _release() -> Column[int]:
    return Column("release", WHOLE, primary_key=True, autoincrement=False)


class ReleaseRow(Row, table=True):
    """A table as it was given away once. `is_whole` once all its rows are written."""

    __tablename__ = "release"
    __table_args__ = (UniqueConstraint("subject", "name"), *flags("is_whole"), STRICT)

    id: int = key()
    subject: str = line()
    name: str = line()
    released_at: datetime = time("released_us", "released_at")
    rows: int = whole()
    unnamed: int = whole()
    digest: bytes = blob()
    is_whole: bool = flag()
    values_kept: int | None = whole(optional=True)
    """How many sensitive values of its classes are remembered; None where none were, by an earlier version."""


class ReleasedRowRow(Row, table=True):
    """The class that a person was in."""

    __tablename__ = "released_row"
    __table_args__ = ({**STRICT, "sqlite_with_rowid": False},)

    release: int = Field(default=None, sa_column=_release())
    person: bytes = blob(key=True)
    class_signature: bytes = blob(key=True)
    copies: int | None = whole(optional=True)
    """How many rows the person has in it; None where an earlier version kept no count."""


class ReleasedValueRow(Row, table=True):
    """That a class has a value in a column (`attribute`); all three are signatures."""

    __tablename__ = "released_value"
    __table_args__ = ({**STRICT, "sqlite_with_rowid": False},)

    release: int = Field(default=None, sa_column=_release())
    attribute: bytes = blob(key=True)
    class_signature: bytes = blob(key=True)
    value: bytes = blob(key=True)
    copies: int | None = whole(optional=True)
    """How many rows have it; None where an earlier version kept no count."""
    people: int | None = whole(optional=True)


_RELEASE: Final = ReleaseRow.__table__
_ROW: Final = ReleasedRowRow.__table__
_VALUE: Final = ReleasedValueRow.__table__
_TRIPLE: Final = ("attribute", "class_signature", "value")
_COUNTS: Final = ("copies", "people")


class ReleaseReader(Repository):
    """Queries about releases."""

    def subjects(self) -> Sequence[str]:
        """Return the subjects under which releases are remembered."""
        whole = select(_RELEASE.c.subject).where(_RELEASE.c.is_whole == literal_column("1")).distinct()
        return sorted(self._connection.scalars(whole))

    def of_subject(self, subject: str) -> Sequence[KnownRelease]:
        """Return the releases that are remembered under a subject, the oldest first."""
        whole = select(_RELEASE).where(_RELEASE.c.subject == subject, _RELEASE.c.is_whole == literal_column("1"))
        results = self._connection.execute(whole.order_by(_RELEASE.c.released_at, _RELEASE.c.id)).all()
        return [KnownRelease(row.name, row.released_at, self._pairs(row)) for row in results]

    def _pairs(self, release: Any) -> PersonPairs:
        rows = select(_ROW.c.person, _ROW.c.class_signature, _ROW.c.copies).where(_ROW.c.release == release.id)
        result = self._connection.execute(rows).all()
        people, classes = (b"".join(row[place] * (row.copies or 1) for row in result) for place in (0, 1))
        is_counted = release.rows == len(result) or all(row.copies for row in result)
        values = None
        if release.values_kept is not None:
            wanted = [_VALUE.c[name] for name in (*_TRIPLE, *_COUNTS)]
            rows_of = self._connection.execute(select(*wanted).where(_VALUE.c.release == release.id))
            values = b"".join(
                b"".join((*row[:3], *((many or 0).to_bytes(COPIES, "little") for many in row[3:]))) for row in rows_of
            )
        return PersonPairs(release.digest, people, classes, release.unnamed, values, is_counted=is_counted)


class ReleaseWriter(ReleaseReader):
    """Statements that write releases."""

    def begin(self, subject: str, release: KnownRelease) -> int:
        """Start to save a release; return its number.

        Raises:
            StoreConflict: one of that name is remembered already.
        """
        same = (_RELEASE.c.subject == subject, _RELEASE.c.name == release.name)
        stored = self._connection.execute(select(_RELEASE.c.id, _RELEASE.c.is_whole).where(*same)).first()
        if stored is not None and stored.is_whole:
            raise StoreConflict(f"a release named '{release.name}' is already recorded; use another name")
        if stored is not None:  # left half written by a process that ended
            self._forget(stored.id)
        pairs = release.pairs
        row = {"subject": subject, "name": release.name, "released_at": release.released_at, "digest": pairs.digest}
        row |= {"rows": pairs.rows, "unnamed": pairs.unnamed, "is_whole": False}
        row["values_kept"] = None if pairs.values is None else len(pairs.values) // CLASS_VALUE
        return int(self._connection.scalar(insert(_RELEASE).values(row).returning(_RELEASE.c.id)) or 0)

    def add_rows(self, release: int, rows: Sequence[tuple[bytes, bytes, int]]) -> None:
        """Write rows of a release: person, class, and how many these are. The same ones again change nothing."""
        names = ("release", "person", "class_signature", "copies")
        cells = [dict(zip(names, (release, *row), strict=True)) for row in rows]
        self._connection.execute(self._upsert(_ROW).on_conflict_do_nothing(), cells)

    def add_values(self, release: int, rows: Sequence[bytes]) -> None:
        """Write sensitive values of classes, as `PersonPairs.values` has them. The same ones again change nothing."""
        end, cells = len(_TRIPLE) * SIGNATURE, []
        for row in rows:
            parts = [row[at : at + SIGNATURE] for at in range(0, end, SIGNATURE)]
            counts = [int.from_bytes(row[at : at + COPIES], "little") or None for at in range(end, len(row), COPIES)]
            cells.append({"release": release, **dict(zip((*_TRIPLE, *_COUNTS), (*parts, *counts), strict=True))})
        self._connection.execute(self._upsert(_VALUE).on_conflict_do_nothing(), cells)

    def end(self, release: int) -> None:
        """Report that all rows of a release are written."""
        self._connection.execute(update(_RELEASE).where(_RELEASE.c.id == release).values(is_whole=True))

    def forget_all_but(self, subject: str, names: Sequence[str]) -> None:
        """Delete what is stored under a subject, half written or whole, under other names than these."""
        stored = self._connection.execute(select(_RELEASE.c.id, _RELEASE.c.name).where(_RELEASE.c.subject == subject))
        for result in stored.all():
            if result.name not in names:
                self._forget(result.id)

    def _forget(self, release: int) -> None:
        self._connection.execute(delete(_ROW).where(_ROW.c.release == release))
        self._connection.execute(delete(_VALUE).where(_VALUE.c.release == release))
        self._connection.execute(delete(_RELEASE).where(_RELEASE.c.id == release))


class ReleaseEventRow(Row, table=True):
    """A fact about a release. Append-only: triggers refuse to change or remove it."""

    __tablename__ = "release_event"
    __table_args__ = (Index(None, "release", "id"), one_of("kind", ReleaseEventKind), STRICT)

    id: int = key()
    release: str = line()
    kind: ReleaseEventKind = word(ReleaseEventKind)
    actor: str = line()
    note: str = line()
    body: Mapping[str, Any] = json()
    recorded_at: datetime = time("recorded_us", "recorded_at")


class ReleaseComparisonRow(Row, table=True):
    """The last comparison of the remedies of a release."""

    __tablename__ = "release_comparison"
    __table_args__ = (STRICT,)

    release: str = line(key=True)
    digest: str = line()
    body: Mapping[str, Any] = json()
    compared_at: datetime = time("compared_us", "compared_at")


_EVENT: Final = ReleaseEventRow.__table__
_COMPARISON: Final = ReleaseComparisonRow.__table__
_EVENTS: Final = Mapped(ReleaseEventRow, ReleaseEvent)
_COMPARISONS: Final = Mapped(ReleaseComparisonRow, StoredComparison)


class ReleaseEventReader(Repository):
    """Queries about decisions and exports."""

    def matching(self, release: str | None = None, kind: ReleaseEventKind | None = None) -> Sequence[ReleaseEvent]:
        """Return the facts about a release, or about all, the oldest first."""
        values = select(*_EVENTS.columns).order_by(_EVENT.c.id)
        if release is not None:
            values = values.where(_EVENT.c.release == release)
        if kind is not None:
            values = values.where(_EVENT.c.kind == kind)
        return _EVENTS.values(self._connection.execute(values))

    def comparison(self, release: str) -> StoredComparison | None:
        """Return how the remedies of a release compared last; None if they were never compared."""
        statement = select(*_COMPARISONS.columns).where(_COMPARISON.c.release == release)
        return _COMPARISONS.first(self._connection.execute(statement))


class ReleaseEventWriter(ReleaseEventReader):
    """Statements that write decisions and exports."""

    def add(self, event: ReleaseEvent) -> int:
        """Write a fact, and give its number."""
        row = _EVENTS.cells(event)
        del row["id"]
        return int(self._connection.scalars(insert(_EVENT).values(row).returning(_EVENT.c.id)).one())

    def put_comparison(self, comparison: StoredComparison) -> None:
        """Write how the remedies of a release compare, in place of what was known before."""
        self._connection.execute(delete(_COMPARISON).where(_COMPARISON.c.release == comparison.release))
        self._connection.execute(insert(_COMPARISON).values(_COMPARISONS.cells(comparison)))
