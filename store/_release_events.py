"""What happened to releases: approved, put on hold, exported. Facts in the order of recording, never changed.

Beside them the last comparison of the remedies of a release.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Index, delete, insert, select

from store._columns import STRICT, Row, columns_of, key, line, one_of, time, word
from store._json import from_text, to_text
from store._repository import Repository
from store._values import ReleaseEvent, ReleaseEventKind, StoredComparison


class ReleaseEventRow(Row, table=True):
    """A fact about a release. Append-only: triggers refuse to change or remove it."""

    __tablename__ = "release_event"
    __table_args__ = (Index(None, "release", "id"), one_of("kind", ReleaseEventKind), STRICT)

    id: int = key()
    release: str = line()
    kind: ReleaseEventKind = word(ReleaseEventKind)
    actor: str = line()
    note: str = line()
    body: str = line()
    recorded_at: datetime = time("recorded_us", "recorded_at")


class ReleaseComparisonRow(Row, table=True):
    """The last comparison of the remedies of a release."""

    __tablename__ = "release_comparison"
    __table_args__ = (STRICT,)

    release: str = line(key=True)
    digest: str = line()
    body: str = line()
    compared_at: datetime = time("compared_us", "compared_at")


_EVENT: Final = ReleaseEventRow.__table__
_COMPARISON: Final = ReleaseComparisonRow.__table__


class ReleaseEventReader(Repository):
    """What can be asked about decisions and exports."""

    def matching(self, release: str | None = None, kind: ReleaseEventKind | None = None) -> Sequence[ReleaseEvent]:
        """Return the facts about a release, or about all, the oldest first."""
        values = select(*columns_of(ReleaseEventRow)).order_by(_EVENT.c.id)
        if release is not None:
            values = values.where(_EVENT.c.release == release)
        if kind is not None:
            values = values.where(_EVENT.c.kind == kind)
        rows = self._connection.execute(values).mappings()
        return [ReleaseEvent(**{**row, "body": from_text(row["body"])}) for row in rows]

    def comparison(self, release: str) -> StoredComparison | None:
        """Return how the remedies of a release compared last; None if nobody has compared them."""
        asked = select(*columns_of(ReleaseComparisonRow)).where(_COMPARISON.c.release == release)
        row = self._connection.execute(asked).mappings().first()
        return None if row is None else StoredComparison(**{**row, "body": from_text(row["body"])})


class ReleaseEventWriter(ReleaseEventReader):
    """What can be written of decisions and exports."""

    def add(self, event: ReleaseEvent) -> int:
        """Write a fact, and give its number."""
        row: dict[str, object] = {"release": event.release, "kind": event.kind, "recorded_at": event.recorded_at}
        row |= {"actor": event.actor, "note": event.note, "body": to_text(event.body)}
        return int(self._connection.scalars(insert(_EVENT).values(row).returning(_EVENT.c.id)).one())

    def put_comparison(self, comparison: StoredComparison) -> None:
        """Write how the remedies of a release compare, in place of what was known before."""
        self._connection.execute(delete(_COMPARISON).where(_COMPARISON.c.release == comparison.release))
        row = {"release": comparison.release, "digest": comparison.digest, "body": to_text(comparison.body)}
        self._connection.execute(insert(_COMPARISON).values(row | {"compared_at": comparison.compared_at}))
