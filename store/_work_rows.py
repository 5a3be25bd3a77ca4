"""Rows about the work of daemons: one class per table. Nothing outside this package sees a row."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, UniqueConstraint

from store._columns import STRICT, Row, blob, flag, flags, key, line, one_of, only_where, time, whole, word
from store._work import SkipReason, SlotState


class ScheduleRow(Row, table=True):
    """The next time a table is due."""

    __tablename__ = "schedule"
    __table_args__ = (
        Index(None, "due_at", "table_name"),
        only_where("ix_schedule_delayed", "table_name", condition="delayed_us IS NOT NULL"),
        STRICT,
    )

    table_name: str = line(key=True)
    schedule: str = line()
    zone: str = line()
    next_slot_at: datetime = time("next_slot_us", "next_slot_at")
    due_at: datetime = time("due_us", "due_at")
    delayed_since: datetime | None = time("delayed_us", "delayed_since", optional=True)


class SlotRow(Row, table=True):
    """A slot that was claimed. Of a table at most one runs, and each slot of one epoch of the clock is there once."""

    __tablename__ = "slot"
    __table_args__ = (
        UniqueConstraint("table_name", "slot_at", "epoch"),
        only_where("uq_slot_running_table", "table_name", condition="state = 'running'", unique=True),
        only_where("ix_slot_running_lease", "lease_until_at", condition="state = 'running'"),
        Index(None, "started_at"),
        one_of("state", SlotState),
        CheckConstraint("(state = 'running') = (ended_us IS NULL)", name="ended_iff_not_running"),
        CheckConstraint("attempt >= 1", name="attempt"),
        STRICT,
    )

    id: int = key()
    table_name: str = line()
    slot_at: datetime = time("slot_us", "slot_at")
    epoch: int = whole()
    state: SlotState = word(SlotState)
    attempt: int = whole()
    holder: str = line()
    started_at: datetime = time("started_us", "started_at")
    heartbeat_at: datetime | None = time("heartbeat_us", "heartbeat_at", optional=True)
    lease_until_at: datetime = time("lease_until_us", "lease_until_at")
    ended_at: datetime | None = time("ended_us", "ended_at", optional=True)
    run_id: str | None = line(optional=True)


class SkipRow(Row, table=True):
    """Slots of a table that were not run."""

    __tablename__ = "skip"
    __table_args__ = (
        Index(None, "last_at"),
        one_of("reason", SkipReason),
        CheckConstraint("count >= 1 AND last_us >= first_us", name="some"),
        STRICT,
    )

    id: int = key()
    table_name: str = line()
    first_at: datetime = time("first_us", "first_at")
    last_at: datetime = time("last_us", "last_at")
    count: int = whole()
    reason: SkipReason = word(SkipReason)


class DaemonRow(Row, table=True):
    """A process that runs checks, or ran them lately."""

    __tablename__ = "daemon"
    __table_args__ = (*flags("leads"), STRICT)

    id: str = line(key=True)
    host: str = line()
    pid: int = whole()
    version: str = line()
    started_at: datetime = time("started_us", "started_at")
    heartbeat_at: datetime = time("heartbeat_us", "heartbeat_at")
    stopped_at: datetime | None = time("stopped_us", "stopped_at", optional=True)
    config_loaded_at: datetime = time("config_loaded_us", "config_loaded_at")
    config_error: str | None = line(optional=True)
    leads: bool = flag()


class DaemonConfigRow(Row, table=True):
    """The configuration that a daemon uses, without secrets: packed JSON."""

    __tablename__ = "daemon_config"
    __table_args__ = (STRICT,)

    daemon_id: str = line(key=True)
    digest: str = line()
    packed: bytes = blob()


class QuarantineRow(Row, table=True):
    """The number of workers that a check has killed."""

    __tablename__ = "quarantine"
    __table_args__ = (CheckConstraint("crashes >= 1", name="crashes"), STRICT)

    check_id: str = line(key=True)
    crashes: int = whole()
    until_at: datetime | None = time("until_us", "until_at", optional=True)
    last_crash_at: datetime = time("last_crash_us", "last_crash_at")
