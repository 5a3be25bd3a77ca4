"""Remember when tables are due, and who looks at which slot: claims by compare-and-set, leases with a fencing token.

A writer has the store for itself on both databases, so that what it compared is still true when it sets. Every
statement here reads as many rows as it is asked for, however many tables there are: an index leads to them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Label,
    delete,
    exists,
    insert,
    literal,
    literal_column,
    or_,
    select,
    text,
    update,
)

from incidents import to_us
from store._columns import columns_of
from store._connected import Connected
from store._errors import StoreError
from store._given import any_of, given
from store._types import UtcTime, Whole
from store._work import Claim, Lease, Scheduled, Skip, Slot, SlotState
from store._work_rows import ClockRow, ScheduleRow, SkipRow, SlotRow

BACKWARDS: Final = timedelta(seconds=2)
"""A clock that goes back by no more than this was only put right; further back is a step."""

_SCHEDULE: Final = ScheduleRow.__table__
_SLOT: Final = SlotRow.__table__
_SKIP: Final = SkipRow.__table__
_CLOCK: Final = ClockRow.__table__

_IS_RUNNING: Final = _SLOT.c.state == literal_column("'running'")  # in the text, so that the partial indexes are used
_RUNS: Final = exists().where(_SLOT.c.table_name == _SCHEDULE.c.table_name, _IS_RUNNING)
_LEASE: Final[Sequence[Label[Any]]] = tuple(
    _SLOT.c[name].label(name) for name in ("id", "table_name", "slot_at", "attempt", "epoch")
)


class TimetableView(Connected):
    """What can be asked about schedule and slots."""

    def clock(self, now: datetime) -> datetime:
        """Give the time that slots and leases go by: the server's on PostgreSQL, `now` on SQLite."""
        if self._on_sqlite:
            return now
        told: datetime = self._connection.scalars(text("SELECT clock_timestamp()")).one()
        return told.astimezone(now.tzinfo)

    def epoch(self) -> int:
        """Give how often the clock went back."""
        return self._connection.scalar(select(_CLOCK.c.epoch)) or 0

    def schedule(self) -> list[Scheduled]:
        """Give when each table is due next, by table."""
        rows = self._connection.execute(select(*columns_of(ScheduleRow)).order_by(_SCHEDULE.c.table_name))
        return [Scheduled(*row) for row in rows]

    def due(self, now: datetime, limit: int) -> list[Scheduled]:
        """Give tables that are due and not being looked at, the one that waits longest first."""
        waiting = select(*columns_of(ScheduleRow)).where(_SCHEDULE.c.due_at <= now, ~_RUNS)
        rows = self._connection.execute(waiting.order_by(_SCHEDULE.c.due_at, _SCHEDULE.c.table_name).limit(limit))
        return [Scheduled(*row) for row in rows]

    def next_due(self) -> datetime | None:
        """Give when the next table is due that is not being looked at; this may be past. None without one."""
        waiting = select(_SCHEDULE.c.due_at).where(~_RUNS)
        return self._connection.scalar(waiting.order_by(_SCHEDULE.c.due_at, _SCHEDULE.c.table_name).limit(1))

    def lag(self, now: datetime) -> datetime | None:
        """Give since when the table that waits longest has been due; None when nobody is late."""
        first = self.next_due()
        return first if first is not None and first <= now else None

    def slots(self, since: datetime, limit: int) -> list[Slot]:
        """Give slots that were claimed since a moment, newest first."""
        rows = self._connection.execute(
            select(*columns_of(SlotRow))
            .where(_SLOT.c.started_at >= since)
            .order_by(_SLOT.c.started_at.desc(), _SLOT.c.id.desc())
            .limit(limit)
        )
        return [Slot(*row) for row in rows]

    def running(self) -> list[Slot]:
        """Give the slots that somebody holds, or held when he died; by table."""
        rows = self._connection.execute(select(*columns_of(SlotRow)).where(_IS_RUNNING).order_by(_SLOT.c.table_name))
        return [Slot(*row) for row in rows]

    def skips(self, since: datetime, limit: int) -> list[Skip]:
        """Give what was left out since a moment, newest first."""
        rows = self._connection.execute(
            select(*columns_of(SkipRow)[1:])
            .where(_SKIP.c.last_at >= since)
            .order_by(_SKIP.c.last_at.desc(), _SKIP.c.id.desc())
            .limit(limit)
        )
        return [Skip(*row) for row in rows]


class TimetableBook(TimetableView):
    """What can be written about schedule and slots."""

    def keep_time(self, now: datetime) -> int:
        """Remember the latest time that was seen, and give the clock's epoch.

        A new epoch begins when `now` is more than 2 s before that: the clock went back, and slots come a second time.
        """
        known = self._connection.execute(select(_CLOCK.c.epoch, _CLOCK.c.latest_at.label("latest_at"))).first()
        if known is None:
            self._connection.execute(insert(_CLOCK).values(id=1, epoch=0, latest_at=now))
            return 0
        went_back = now < known.latest_at - BACKWARDS
        epoch: int = known.epoch + went_back
        if went_back or now > known.latest_at:
            self._connection.execute(update(_CLOCK).values(epoch=epoch, latest_at=now))
        return epoch

    def set_schedule(self, rows: Sequence[Scheduled], skips: Sequence[Skip] = ()) -> None:
        """Make the schedule what is given, and remember what is left out by that.

        A table whose `schedule` and `zone` are as they were keeps its times; a table that is not given is forgotten
        (a slot of it that runs may still be finished).
        """
        tables = any_of(self._connection, (row.table for row in rows), "table_name")
        self._connection.execute(delete(_SCHEDULE).where(_SCHEDULE.c.table_name.not_in(tables)))
        self._put(rows, only_changed=True)
        self.add_skips(skips)

    def reschedule(self, rows: Sequence[Scheduled], skips: Sequence[Skip] = ()) -> None:
        """Set when these tables are due, whatever was known, and remember what is left out by that."""
        self._put(rows, only_changed=False)
        self.add_skips(skips)

    def add_skips(self, skips: Sequence[Skip]) -> None:
        """Remember slots that are not run."""
        self._insert(_SKIP, [_skip_row(skip) for skip in skips])

    def claim(self, claims: Sequence[Claim], *, holder: str, now: datetime, lease_until: datetime) -> list[Lease]:
        """Take what is due: move each table on to its next slot, begin the slot to run, remember what is left out.

        A claim counts only if its table is in the schedule as it was seen and, when a slot is to run, nobody runs
        another one of it; else nothing of it is written. A slot that ran before in this epoch is not run again. Gives
        the slots to run, in the order of the claims.

        Raises:
            StoreError: two claims are for one table.
        """
        if len({claim.due.table for claim in claims}) < len(claims):
            raise StoreError("two claims at once are for the same table; give one for each table")
        won = self._move_on(claims)
        self.add_skips([claim.skip for claim in claims if claim.skip is not None and claim.due.table in won])
        to_run = {claim.due.table: claim.slot for claim in claims if claim.slot is not None and claim.due.table in won}
        begun = {lease.table: lease for lease in self._begin(to_run, holder=holder, now=now, lease_until=lease_until)}
        return [begun[table] for table in to_run if table in begun]

    def take_over(
        self, now: datetime, *, holder: str, lease_until: datetime, limit: int, anyone: bool = False
    ) -> list[Lease]:
        """Take slots whose lease is over, the one that is over longest first; each under a new attempt.

        A lease has an end from its first moment on, so that one that was never renewed ends too. `anyone` takes those
        of every other holder as well: for a daemon that knows that there is no other one.
        """
        is_over = _SLOT.c.lease_until_at <= now
        left = select(_SLOT.c.id).where(_IS_RUNNING, or_(is_over, _SLOT.c.holder != holder) if anyone else is_over)
        taken = update(_SLOT).where(
            _SLOT.c.id.in_(left.order_by(_SLOT.c.lease_until_at, _SLOT.c.id).limit(limit).scalar_subquery())
        )
        new = {"attempt": _SLOT.c.attempt + 1, "holder": holder, "heartbeat_at": now, "lease_until_at": lease_until}
        rows = self._connection.execute(taken.values(new).returning(*_LEASE))
        return sorted((Lease(*row) for row in rows), key=lambda lease: (lease.slot, lease.table))

    def renew(self, leases: Iterable[Lease], *, now: datetime, lease_until: datetime) -> set[int]:
        """Prolong leases; gives the ids of those that were still held."""
        return self._set_held(leases, {"heartbeat_at": now, "lease_until_at": lease_until})

    def give_back(self, leases: Iterable[Lease], now: datetime) -> set[int]:
        """End leases now, so that anyone may take the slots over at once; gives the ids of those that were held."""
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

    def _put(self, rows: Sequence[Scheduled], *, only_changed: bool) -> None:
        if not rows:
            return
        statement = self._upsert(_SCHEDULE)
        new = statement.excluded
        changed = or_(_SCHEDULE.c.schedule != new["schedule"], _SCHEDULE.c.zone != new["zone"])
        self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=[_SCHEDULE.c.table_name],
                set_={column.key: new[column.key] for column in _SCHEDULE.c if not column.primary_key},
                where=changed if only_changed else None,
            ),
            [_schedule_row(row) for row in rows],
        )

    def _move_on(self, claims: Sequence[Claim]) -> set[str]:
        """Move tables on to their next slot, where the claim still holds; gives their names."""
        seen = given(
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
            _SCHEDULE.c.table_name == seen.c.table_name,
            _SCHEDULE.c.schedule == seen.c.schedule,
            _SCHEDULE.c.zone == seen.c.zone,
            _SCHEDULE.c.next_slot_at == seen.c.seen_us,
            or_(seen.c.runs_number == 0, ~_RUNS),
        )
        new = {"next_slot_at": seen.c.next_us, "due_at": seen.c.due_us}
        return set(self._connection.scalars(moved.values(new).returning(_SCHEDULE.c.table_name)))

    def _begin(
        self, slots: Mapping[str, datetime], *, holder: str, now: datetime, lease_until: datetime
    ) -> Iterable[Lease]:
        """Write down slots as running, but not those that are there already."""
        if not slots:
            return ()
        wanted = given(
            self._connection, ((table, to_us(slot)) for table, slot in slots.items()), ["table_name", "slot_us"]
        )
        same_for_all: Mapping[str, ColumnElement[Any]] = {
            "epoch": literal(self.epoch(), Whole()),
            "state": literal_column("'running'"),
            "attempt": literal_column("1"),
            "holder": literal(holder, _SLOT.c.holder.type),
            "started_at": literal(now, UtcTime()),
            "lease_until_at": literal(lease_until, UtcTime()),
        }
        rows = select(wanted.c.table_name, wanted.c.slot_us, *same_for_all.values())
        rows = rows.where(wanted.c.slot_us.is_not(None))  # SQLite needs a condition before ON CONFLICT
        begun = self._upsert(_SLOT).from_select(["table_name", "slot_at", *same_for_all], rows)
        fresh = begun.on_conflict_do_nothing(index_elements=[_SLOT.c.table_name, _SLOT.c.slot_at, _SLOT.c.epoch])
        return [Lease(*row) for row in self._connection.execute(fresh.returning(*_LEASE))]

    def _set_held(
        self, leases: Iterable[Lease], new: Mapping[str, Any], run_ids: Mapping[int, str] | None = None
    ) -> set[int]:
        """Change slots that these leases still hold; gives their ids."""
        rows = [(lease.id, lease.attempt, (run_ids or {}).get(lease.id)) for lease in leases]
        if not rows:
            return set()
        held = given(self._connection, rows, ["slot_number", "attempt_number", "run_id"])
        changed = update(_SLOT).where(
            _SLOT.c.id == held.c.slot_number, _SLOT.c.attempt == held.c.attempt_number, _IS_RUNNING
        )
        run = {} if run_ids is None else {"run_id": held.c.run_id}
        return set(self._connection.scalars(changed.values({**new, **run}).returning(_SLOT.c.id)))


def _schedule_row(row: Scheduled) -> Mapping[str, Any]:
    return {
        "table_name": row.table,
        "schedule": row.schedule,
        "zone": row.zone,
        "next_slot_at": row.next_slot,
        "due_at": row.due_at,
    }


def _skip_row(skip: Skip) -> Mapping[str, Any]:
    return {
        "table_name": skip.table,
        "first_at": skip.first,
        "last_at": skip.last,
        "count": skip.count,
        "reason": skip.reason,
    }
