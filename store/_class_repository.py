"""Read and write class counts, inside a transaction; `store._counting` says in how many of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, delete, insert, literal_column, select, update

from checks.classes.counts import ClassChange, ClosedPart, KnownCounts, Recount, RejectedChange
from checks.classes.pairs import SignaturePairs
from store._class_rows import ClassCountRow, ClassPartRow, ClassSizeRow, ClassStateRow, ClosedPartRow
from store._repository import Repository, any_of

WHOLE_TABLE: Final = b""
_STATE: Final = ClassStateRow.__table__
_PART: Final = ClassPartRow.__table__
_SIZE: Final = ClassSizeRow.__table__
_COUNT: Final = ClassCountRow.__table__
_CLOSED: Final = ClosedPartRow.__table__
_OPTIONAL_TIMES: Final = ("before", "newest")
_IS_CURRENT: Final = _STATE.c.is_current == literal_column("1")  # as the condition of the index has it


@dataclass(frozen=True, slots=True)
class Draft:
    """A change that is being written: of which state, from which version of it, and the versions that never held."""

    state: int
    version: int
    number: int
    aborted: tuple[int, ...]

    @property
    def is_first(self) -> bool:
        """Check whether these are all counts, in a state of their own."""
        return self.version == 0

    def holds(self, number: int) -> bool:
        """Check whether an earlier draft holds."""
        return number <= self.version and number not in self.aborted


@dataclass(frozen=True, slots=True)
class Shard:
    """Counts that lie in one row: what is held, and what a draft adds to it."""

    part: bytes
    number: int
    held: SignaturePairs
    pending: SignaturePairs

    @property
    def counts(self) -> SignaturePairs:
        """Return the counts, where the draft holds."""
        return SignaturePairs.added(self.held, self.pending)


@dataclass(frozen=True, slots=True)
class Staged:
    """A change that is written, and holds once it is settled."""

    subject: str
    draft: Draft
    change: ClassChange
    sizes: Sequence[tuple[int, int]]
    is_folded: bool = False
    """Whether what earlier runs add is part of what it writes."""


class ClassCountReader(Repository):
    """Queries about class counts."""

    def known_counts(self, subjects: Iterable[str]) -> dict[str, KnownCounts]:
        """Return what a look must know of the counts that are kept, by subject."""
        batch = any_of(self._connection, subjects, "subject")
        states = select(_STATE).where(_IS_CURRENT, _STATE.c.subject.in_(batch))
        return {row.subject: self._counts_of(row) for row in self._connection.execute(states)}

    def subjects(self) -> set[str]:
        """Return the subjects whose counts are kept: checks, and tables with rows that are no longer read."""
        checks = self._connection.scalars(select(_STATE.c.subject).where(_IS_CURRENT))
        return {*checks, *self._connection.scalars(select(_CLOSED.c.name))}

    def closed_parts(self, tables: Iterable[str]) -> dict[str, ClosedPart]:
        """Return what is kept of the rows of tables that are no longer read, by table."""
        batch = any_of(self._connection, tables, "name")
        rows = self._connection.execute(select(_CLOSED).where(_CLOSED.c.name.in_(batch)))
        return {row.name: _closed_part(row) for row in rows}

    def sizes(self, state: int) -> dict[int, int]:
        """Return how many classes there are of each size, as it holds."""
        rows = self._connection.execute(select(_SIZE.c.size, _SIZE.c.classes).where(_SIZE.c.state == state))
        return {row.size: row.classes for row in rows}

    def _counts_of(self, row: Any) -> KnownCounts:
        results = self._connection.execute(select(_PART).where(_PART.c.state == row.id))
        parts = {part.name: part.rows for part in results}
        return KnownCounts(row.id, row.version, row.digest, row.token, row.rows, parts)


class ClassCountWriter(ClassCountReader):
    """Statements that write class counts."""

    def begin(self, subject: str, change: ClassChange, *, now: datetime) -> Draft | RejectedChange:
        """Start a draft: of the state that the change is based on, or of a new one."""
        base = change.base
        if base is None:
            row = {**_facts(change, now), "subject": subject, "mode": change.mode}
            row |= {"version": 0, "draft": 1, "aborted": "", "is_current": False}
            state = self._connection.scalar(insert(_STATE).values(row).returning(_STATE.c.id))
            return Draft(int(state or 0), 0, 1, ())
        version = (_STATE.c.id == base.state, _STATE.c.version == base.version, _IS_CURRENT)
        begun = self._connection.execute(
            update(_STATE).where(*version).values(draft=_STATE.c.draft + 1).returning(_STATE.c.draft, _STATE.c.aborted)
        ).first()
        if begun is None:
            return RejectedChange.OVERTAKEN
        return Draft(base.state, base.version, begun.draft, tuple(map(int, begun.aborted.split())))

    def is_overtaken(self, draft: Draft) -> bool:
        """Check whether another draft was begun since."""
        number = self._connection.scalar(select(_STATE.c.draft).where(_STATE.c.id == draft.state))
        return bool(number != draft.number)

    def shards_in(self, draft: Draft, part: bytes, numbers: Sequence[int]) -> list[Shard]:
        """Return some shards of a part as they hold, by number; none that is not there."""
        batch = any_of(self._connection, numbers, "shard_number")
        result = self._shards(draft.state).where(_COUNT.c.part == part, _COUNT.c.shard.in_(batch))
        rows = self._connection.execute(result.order_by(_COUNT.c.shard))
        return [
            Shard(
                part,
                row.shard,
                SignaturePairs.unpacked(row.held),
                SignaturePairs.unpacked(row.pending) if draft.holds(row.draft) else SignaturePairs(),
            )
            for row in rows
        ]

    def runs_of(self, draft: Draft) -> list[SignaturePairs]:
        """Return what drafts that hold have added in runs of their own."""
        result = self._shards(draft.state).where(_COUNT.c.part == WHOLE_TABLE, _COUNT.c.shard < 0)
        return [
            SignaturePairs.unpacked(row.pending) for row in self._connection.execute(result) if draft.holds(row.draft)
        ]

    @staticmethod
    def _shards(state: int) -> Select[Any]:
        columns = (_COUNT.c.shard, _COUNT.c.held, _COUNT.c.pending, _COUNT.c.draft)
        return select(*columns).where(_COUNT.c.state == state)

    def write_shards(self, draft: Draft, shards: Iterable[Shard]) -> None:
        """Write shards, in place of what was written of them."""
        rows = [
            {
                "state": draft.state,
                "part": shard.part,
                "shard": shard.number,
                "held": shard.held.packed,
                "pending": shard.pending.packed,
                "draft": draft.number,
            }
            for shard in shards
        ]
        self._merge(_COUNT, rows)

    def add_parts(self, draft: Draft, parts: Iterable[Mapping[str, Any]]) -> None:
        """Write what is known of parts: `name`, `rows`; in place of what was known."""
        rows = [{"state": draft.state, **part} for part in parts]
        self._merge(_PART, rows)

    def settle(self, staged: Iterable[Staged], *, now: datetime) -> None:
        """Publish drafts; those that were overtaken are never published."""
        for current_staged in staged:
            if self._hold(current_staged, now):
                self._replace_sizes(current_staged)

    def abandon(self, state: int) -> None:
        """Abandon counts; retention takes them, and the next look counts everything."""
        self._connection.execute(update(_STATE).where(_STATE.c.id == state).values(is_current=False))

    def keep_closed_parts(self, parts: Iterable[ClosedPart]) -> None:
        """Keep what looks found, but where another look kept something else since they began: that holds as well."""
        for part in parts:
            row = {"name": part.table, "version": part.version + 1, "digest": part.digest}
            row |= {"looked_at": part.looked_at, "body": _body(part)}
            if part.version:
                conditions = (_CLOSED.c.name == part.table, _CLOSED.c.version == part.version)
                self._connection.execute(update(_CLOSED).where(*conditions).values(row))
            else:
                self._connection.execute(self._upsert(_CLOSED).on_conflict_do_nothing(), [row])

    def keep_only(self, subjects: Iterable[str]) -> None:
        """Abandon the counts of all others."""
        texts = set(subjects)
        for name in self._connection.scalars(select(_CLOSED.c.name)).all():
            if name not in texts:
                self._connection.execute(delete(_CLOSED).where(_CLOSED.c.name == name))
        current = self._connection.execute(select(_STATE.c.id, _STATE.c.subject).where(_IS_CURRENT)).all()
        for state, subject in current:
            if subject not in texts:
                self.abandon(state)

    def _hold(self, staged: Staged, now: datetime) -> bool:
        draft = staged.draft
        conditions = [_STATE.c.id == draft.state, _STATE.c.draft == draft.number, _STATE.c.version == draft.version]
        if draft.is_first:
            current = (_STATE.c.subject == staged.subject, _IS_CURRENT)
            self._connection.execute(update(_STATE).where(*current).values(is_current=False))
        else:
            conditions.append(_IS_CURRENT)
        never = (*draft.aborted, *range(draft.version + 1, draft.number))
        new = {**_facts(staged.change, now), "is_current": True, "version": draft.number}
        new["aborted"] = " ".join(map(str, never))
        if self._connection.execute(update(_STATE).where(*conditions).values(new)).rowcount == 0:
            return False
        if not draft.is_first:
            empty = [part.name for part in staged.change.parts if not part.rows]
            for name in empty:
                self._connection.execute(delete(_PART).where(_PART.c.state == draft.state, _PART.c.name == name))
            self.add_parts(draft, part_rows(staged.change))
        if staged.is_folded:
            runs = (_COUNT.c.state == draft.state, _COUNT.c.part == WHOLE_TABLE, _COUNT.c.shard < 0)
            self._connection.execute(delete(_COUNT).where(*runs))
        return True

    def _replace_sizes(self, staged: Staged) -> None:
        self._connection.execute(delete(_SIZE).where(_SIZE.c.state == staged.draft.state))
        rows = [{"state": staged.draft.state, "size": size, "classes": classes} for size, classes in staged.sizes]
        self._insert(_SIZE, rows)


def part_rows(change: ClassChange) -> list[dict[str, Any]]:
    """Return what is known of the parts that a change replaces, but for those that have gone."""
    return [{"name": part.name, "rows": part.rows} for part in change.parts if part.rows]


def _facts(change: ClassChange, now: datetime) -> dict[str, Any]:
    return {"digest": change.digest, "token": change.token, "rows": change.rows, "updated_at": now}


def _body(part: ClosedPart) -> dict[str, Any]:
    times = {name: getattr(part, name) for name in _OPTIONAL_TIMES}
    return {
        **{name: None if time is None else time.isoformat() for name, time in times.items()},
        "full_at": part.full_at.isoformat(),
        "rows": part.rows,
        "read": part.read,
        "checks": list(part.checks),
        "why": part.why,
        "late": part.late,
        "figures": part.figures,
    }


def _closed_part(row: Any) -> ClosedPart:
    body = row.body
    times = {name: datetime.fromisoformat(body[name]) if body[name] else None for name in _OPTIONAL_TIMES}
    return ClosedPart(
        table=row.name,
        digest=row.digest,
        figures=body["figures"],
        looked_at=row.looked_at,
        full_at=datetime.fromisoformat(body["full_at"]),
        rows=body["rows"],
        read=body["read"],
        checks=tuple(body["checks"]),
        why=Recount(body["why"]) if body["why"] else None,
        late=body["late"],
        version=row.version,
        **times,
    )
