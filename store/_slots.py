"""Store which daemon runs which slot: claims by compare-and-set, leases with a fencing token.

A writer has the store for itself on both databases, so that what it compared is still true when it sets.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, literal, literal_column, or_, select, update

from incidents import to_us
from store._columns import Mapped, UtcTime, Whole
from store._errors import StoreError
from store._repository import Repository, any_of, given
from store._schedule import IS_LOOKED_AT, IS_RUNNING, ScheduleWriter
from store._work import Lease, Slot, SlotDecision, SlotState
from store._work_rows import ScheduleRow, SlotRow

_SCHEDULE: Final = ScheduleRow.__table__
_SLOT: Final = SlotRow.__table__
_SLOTS: Final = Mapped(SlotRow, Slot)
_LEASES: Final = Mapped(SlotRow, Lease)


class SlotReader(Repository):
    """Queries about slots."""

    def since(self, since: datetime, limit: int) -> list[Slot]:
        """Return slots that were claimed since a moment, newest first."""
        rows = self._connection.execute(
            select(*_SLOTS.columns)
            .where(_SLOT.c.started_at >= since)
            .order_by(_SLOT.c.started_at.desc(), _SLOT.c.id.desc())
            .limit(limit)
        )
        return _SLOTS.values(rows)

    def running(self) -> list[Slot]:
        """Return the slots that are held, or were by a process that died; by table."""
        rows = self._connection.execute(select(*_SLOTS.columns).where(IS_RUNNING).order_by(_SLOT.c.table_name))
        return _SLOTS.values(rows)

    def tables_over(self, now: datetime, limit: int) -> Sequence[str]:
        """Return tables with a running slot whose lease is over, the longest over first."""
        over = select(_SLOT.c.table_name).where(IS_RUNNING, _SLOT.c.lease_until_at <= now)
        return self._connection.scalars(over.order_by(_SLOT.c.lease_until_at).limit(limit)).all()

    def last_ended(self, table: str) -> Slot | None:
        """Return the slot of a table that was begun last of those that have ended."""
        ended = select(*_SLOTS.columns).where(_SLOT.c.table_name == table, ~IS_RUNNING)
        return _SLOTS.first(
            self._connection.execute(ended.order_by(_SLOT.c.started_at.desc(), _SLOT.c.id.desc()).limit(1))
        )


class SlotWriter(SlotReader):
    """Statements that write slots."""

    def claim(
        self, claims: Sequence[SlotDecision], *, holder: str, now: datetime, lease_until: datetime
    ) -> list[Lease]:
        """Claim what is due: move each table on to its next slot, start the slot to run, save what is left out.

        A claim counts only if its table is in the schedule as it was seen and, when a slot is to run, no process runs
        another one of it; else nothing of it is written. A slot that ran before in this epoch is not run again. Gives
        the slots to run, in the order of the claims.

        Raises:
            StoreError: two claims are for one table.
        """
        if len({claim.due.table for claim in claims}) < len(claims):
            raise StoreError("two claims at once are for the same table; give one for each table")
        won = self._move_on(claims)
        ScheduleWriter(self._connection).add_skips(
            [claim.skip for claim in claims if claim.skip is not None and claim.due.table in won]
        )
        to_run = {claim.due.table: claim.slot for claim in claims if claim.slot is not None and claim.due.table in won}
        begun = {lease.table: lease for lease in self._begin(to_run, holder=holder, now=now, lease_until=lease_until)}
        return [begun[table] for table in to_run if table in begun]

    def take_over(
        self,
        now: datetime,
        *,
        holder: str,
        lease_until: datetime,
        limit: int,
        anyone: bool = False,
        among: Iterable[str] | None = None,
    ) -> list[Lease]:
        """Claim slots whose lease has expired, the longest expired first; each under a new attempt.

        A lease has an end from its first moment on, so that one that was never renewed ends too. `anyone` takes those
        of every other holder as well: for a daemon that knows it is the only one. `among`: only these tables'.
        """
        is_over = _SLOT.c.lease_until_at <= now
        left = select(_SLOT.c.id).where(IS_RUNNING, or_(is_over, _SLOT.c.holder != holder) if anyone else is_over)
        if among is not None:
            left = left.where(_SLOT.c.table_name.in_(any_of(self._connection, among, "among_name")))
        statement = update(_SLOT).where(
            _SLOT.c.id.in_(left.order_by(_SLOT.c.lease_until_at, _SLOT.c.id).limit(limit).scalar_subquery())
        )
        new = {"attempt": _SLOT.c.attempt + 1, "holder": holder, "heartbeat_at": now, "lease_until_at": lease_until}
        rows = self._connection.execute(statement.values(new).returning(*_LEASES.columns))
        return sorted(_LEASES.values(rows), key=lambda lease: (lease.slot, lease.table))

    def renew(self, leases: Iterable[Lease], *, now: datetime, lease_until: datetime) -> set[int]:
        """Prolong leases; gives the ids of those that were still held."""
        return self._set_held(leases, {"heartbeat_at": now, "lease_until_at": lease_until})

    def give_up_leases(self, leases: Iterable[Lease], now: datetime) -> set[int]:
        """End leases now, so that any process may take the slots over at once; return the ids that were held."""
        return self._set_held(leases, {"lease_until_at": now})

    def finish(
        self,
        leases: Iterable[Lease],
        *,
        now: datetime,
        run_ids: Mapping[int, str] | None = None,
        state: SlotState = SlotState.DONE,
    ) -> set[int]:
        """End slots, with the id of the run that came of each; gives the ids of those that were still held.

        What was found for any other slot must be thrown away: a later attempt has taken it over, and tells.

        Raises:
            StoreError: running is no end.
        """
        if state is SlotState.RUNNING:
            raise StoreError("a slot is finished as done or given-up, not as running")
        return self._set_held(leases, {"state": state, "ended_at": now}, run_ids or {})

    def _move_on(self, claims: Sequence[SlotDecision]) -> set[str]:
        """Move tables on to their next slot, where the claim still holds; gives their names."""
        claimed = given(
            self._connection,
            (
                (
                    claim.due.table,
                    claim.due.schedule,
                    claim.due.zone,
                    to_us(claim.due.next_slot),
                    to_us(claim.next_slot),
                    to_us(claim.due_at),
                    int(claim.slot is not None),
                )
                for claim in claims
            ),
            ["table_name", "schedule", "zone", "seen_us", "next_us", "due_us", "runs_number"],
        )
        moved = update(_SCHEDULE).where(
            _SCHEDULE.c.table_name == claimed.c.table_name,
            _SCHEDULE.c.schedule == claimed.c.schedule,
            _SCHEDULE.c.zone == claimed.c.zone,
            _SCHEDULE.c.next_slot_at == claimed.c.seen_us,
            or_(claimed.c.runs_number == 0, ~IS_LOOKED_AT),
        )
        new = {"next_slot_at": claimed.c.next_us, "due_at": claimed.c.due_us, "delayed_since": None}
        return set(self._connection.scalars(moved.values(new).returning(_SCHEDULE.c.table_name)))

    def _begin(
        self, slots: Mapping[str, datetime], *, holder: str, now: datetime, lease_until: datetime
    ) -> Iterable[Lease]:
        """Write down slots as running, but not those that are there already."""
        if not slots:
            return ()
        started = given(
            self._connection, ((table, to_us(slot)) for table, slot in slots.items()), ["table_name", "slot_us"]
        )
        same_for_all: Mapping[str, ColumnElement[Any]] = {
            "epoch": literal(ScheduleWriter(self._connection).epoch(), Whole()),
            "state": literal_column("'running'"),
            "attempt": literal_column("1"),
            "holder": literal(holder, _SLOT.c.holder.type),
            "started_at": literal(now, UtcTime()),
            "lease_until_at": literal(lease_until, UtcTime()),
        }
        rows = select(started.c.table_name, started.c.slot_us, *same_for_all.values())
        rows = rows.where(started.c.slot_us.is_not(None))  # SQLite needs a condition before ON CONFLICT
        begun = self._upsert(_SLOT).from_select(["table_name", "slot_at", *same_for_all], rows)
        fresh = begun.on_conflict_do_nothing(index_elements=[_SLOT.c.table_name, _SLOT.c.slot_at, _SLOT.c.epoch])
        return _LEASES.values(self._connection.execute(fresh.returning(*_LEASES.columns)))

    def _set_held(
        self, leases: Iterable[Lease], new: Mapping[str, Any], run_ids: Mapping[int, str] | None = None
    ) -> set[int]:
        """Change slots that these leases still hold; gives their ids."""
        rows = [(lease.id, lease.attempt, (run_ids or {}).get(lease.id)) for lease in leases]
        if not rows:
            return set()
        held = given(self._connection, rows, ["slot_number", "attempt_number", "run_id"])
        changed = update(_SLOT).where(
            _SLOT.c.id == held.c.slot_number, _SLOT.c.attempt == held.c.attempt_number, IS_RUNNING
        )
        run = {} if run_ids is None else {"run_id": held.c.run_id}
        return set(self._connection.scalars(changed.values({**new, **run}).returning(_SLOT.c.id)))
