"""What is on disk: one class per table. Nothing outside this room sees a row.

A column whose SQL name ends in `_us` holds integer microseconds; if it is a moment (since 1970 UTC), its Python name
ends in `_at` or `_since` and takes and gives aware times. Every constraint has a name, because SQLite forgets unnamed
ones when a table is rebuilt. `table=True` models do not validate: the column types do (`store._types`), and so do the
values that rows are made from.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Final

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Label, MetaData, Table, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from checks import Kind, OccurrenceMethod, Severity, Status, UnknownReason
from incidents import FoundBy, Resolution, State
from store._types import WHOLE, Flag, Json, Line, UtcTime, Whole, Word

_STRICT: Final = {"sqlite_strict": True}
_NAMES: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


def _in(column: str, words: Iterable[str]) -> CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def _flags(*columns: str) -> Iterable[CheckConstraint]:
    return (CheckConstraint(f"{column} IN (0, 1)", name=column) for column in columns)


def _only_where(name: str, column: str, condition: str, *, unique: bool = False) -> Index:
    """Index the rows that meet a condition; both databases have that, each under its own option."""
    return Index(name, column, unique=unique, sqlite_where=text(condition), postgresql_where=text(condition))


def _key() -> Any:
    """Number rows from 1 on."""
    return Field(default=None, sa_column=Column(WHOLE, primary_key=True))


def _line(*, optional: bool = False, key: bool = False) -> Any:
    return Field(default=None, sa_column=Column(Line(), nullable=optional, primary_key=key))


def _word(words: type[StrEnum], *, optional: bool = False) -> Any:
    return Field(default=None, sa_column=Column(Word(words), nullable=optional))


def _time(column: str, name: str, *, optional: bool = False) -> Any:
    return Field(default=None, sa_column=Column(column, UtcTime(), key=name, nullable=optional))


def _whole(*, optional: bool = False) -> Any:
    return Field(default=None, sa_column=Column(Whole(), nullable=optional))


def _flag() -> Any:
    return Field(default=None, sa_column=Column(Flag(), nullable=False))


def _json() -> Any:
    return Field(default=None, sa_column=Column(Json(), nullable=False))


class Row(SQLModel):
    """What all tables share: one catalogue of them, with names for every constraint."""

    metadata: ClassVar[MetaData] = MetaData(naming_convention=_NAMES)
    __table__: ClassVar[Table]


class RunRow(Row, table=True):
    """One look at one table. `number` stands for the run's id where it is repeated."""

    __tablename__ = "run"
    __table_args__ = (UniqueConstraint("id"), Index(None, "started_at"), _STRICT)

    number: int = _key()
    id: str = _line()
    table_name: str = _line()
    started_at: datetime = _time("started_us", "started_at")
    ended_at: datetime = _time("ended_us", "ended_at")


class MeasurementRow(Row, table=True):
    """What one check found in one run: numbers and names, never rows of the watched table."""

    __tablename__ = "measurement"
    __table_args__ = (
        UniqueConstraint("run", "check_id"),
        Index(None, "check_id", "measured_at"),
        _in("status", Status),
        CheckConstraint("(status = 'unknown') = (reason IS NOT NULL)", name="reason_iff_unknown"),
        _STRICT,
    )

    id: int = _key()
    run: int = Field(default=None, sa_column=Column(WHOLE, ForeignKey("run.number"), nullable=False))
    check_id: str = _line()
    table_name: str = _line()
    measured_at: datetime = _time("measured_us", "measured_at")
    status: Status = _word(Status)
    reason: UnknownReason | None = _word(UnknownReason, optional=True)
    observed: Mapping[str, Any] = _json()
    message: Mapping[str, Any] = _json()
    duration_us: int = _whole()


class CheckStateRow(Row, table=True):
    """What is known of a check between two runs: the Watch."""

    __tablename__ = "check_state"
    __table_args__ = (
        CheckConstraint("fail_streak >= 0 AND pass_streak >= 0", name="streaks"),
        *_flags("flapping"),
        _STRICT,
    )

    check_id: str = _line(key=True)
    monitored_since: datetime = _time("monitored_since_us", "monitored_since")
    last_run_at: datetime = _time("last_run_us", "last_run_at")
    last_status: str = _line()
    last_pass_ended_at: datetime | None = _time("last_pass_ended_us", "last_pass_ended_at", optional=True)
    failing_since: datetime | None = _time("failing_since_us", "failing_since", optional=True)
    fail_streak: int = _whole()
    passing_since: datetime | None = _time("passing_since_us", "passing_since", optional=True)
    pass_streak: int = _whole()
    recent: str = _line()
    flapping: bool = _flag()


class IncidentRow(Row, table=True):
    """Where an incident stands: the fold of its events, kept so that a list needs no fold.

    `detected_at` is the first episode's, `ended_at` the last one's end (NULL while it lasts). `root` and `merged_into`
    are no foreign keys: retention may take the incident they name and must not rewrite this one.
    """

    __tablename__ = "incident"
    __table_args__ = (
        _only_where("uq_incident_open_fingerprint", "fingerprint", "state <> 'resolved'", unique=True),
        _only_where("ix_incident_root", "root", "root IS NOT NULL"),
        _only_where("ix_incident_merged_into", "merged_into", "merged_into IS NOT NULL"),
        Index(None, "fingerprint"),
        Index(None, "check_id"),
        Index(None, "table_name"),
        Index(None, "detected_at"),
        _in("kind", Kind),
        _in("severity", Severity),
        _in("found_by", FoundBy),
        _in("state", State),
        _in("resolution", Resolution),
        CheckConstraint("(state = 'resolved') = (resolution IS NOT NULL)", name="resolution_iff_resolved"),
        CheckConstraint("(state = 'resolved') = (ended_us IS NOT NULL)", name="ended_iff_resolved"),
        *_flags("regressed", "flapping"),
        {
            **_STRICT,
            "sqlite_autoincrement": True,
        },  # a number that people have quoted is never given to another incident
    )

    id: int = _key()
    fingerprint: str = _line()
    table_name: str = _line()
    check_id: str | None = _line(optional=True)
    kind: Kind = _word(Kind)
    severity: Severity = _word(Severity)
    title: str = _line()
    title_values: Mapping[str, Any] = _json()
    found_by: FoundBy = _word(FoundBy)
    state: State = _word(State)
    resolution: Resolution | None = _word(Resolution, optional=True)
    cause: str | None = _line(optional=True)
    detected_at: datetime = _time("detected_us", "detected_at")
    ended_at: datetime | None = _time("ended_us", "ended_at", optional=True)
    acknowledged_at: datetime | None = _time("acknowledged_us", "acknowledged_at", optional=True)
    assignee: str | None = _line(optional=True)
    snoozed_until: datetime | None = _time("snoozed_until_us", "snoozed_until", optional=True)
    regressed: bool = _flag()
    flapping: bool = _flag()
    root: int | None = _whole(optional=True)
    merged_into: int | None = _whole(optional=True)


class EpisodeRow(Row, table=True):
    """One stretch of bad data. Narrow, and kept in the order of incidents: reports read a million of them."""

    __tablename__ = "episode"
    __table_args__ = (
        Index(None, "resolved_at", "earliest_at", "occurred_at"),
        _in("method", OccurrenceMethod),
        {**_STRICT, "sqlite_with_rowid": False},
    )

    incident_id: int = Field(
        default=None, sa_column=Column(WHOLE, ForeignKey("incident.id"), primary_key=True, autoincrement=False)
    )
    number: int = Field(default=None, sa_column=Column(WHOLE, primary_key=True, autoincrement=False))
    occurred_at: datetime = _time("occurred_us", "occurred_at")
    earliest_at: datetime = _time("earliest_us", "earliest_at")
    latest_at: datetime = _time("latest_us", "latest_at")
    method: OccurrenceMethod = _word(OccurrenceMethod)
    first_failed_at: datetime | None = _time("first_failed_us", "first_failed_at", optional=True)
    detected_at: datetime = _time("detected_us", "detected_at")
    resolved_at: datetime | None = _time("resolved_us", "resolved_at", optional=True)


class IncidentEventRow(Row, table=True):
    """One change of an incident. Append-only: triggers refuse to change it, or to remove it before its incident.

    The foreign key is looked at when the transaction ends, so that retention can remove an incident first and its
    events then.
    """

    __tablename__ = "incident_event"
    __table_args__ = (UniqueConstraint("incident_id", "number"), _STRICT)

    id: int = _key()
    incident_id: int = Field(
        default=None,
        sa_column=Column(WHOLE, ForeignKey("incident.id", deferrable=True, initially="DEFERRED"), nullable=False),
    )
    number: int = _whole()
    recorded_at: datetime = _time("recorded_us", "recorded_at")
    actor: str = _line()
    kind: str = _line()
    body: Mapping[str, Any] = _json()


class GapRow(Row, table=True):
    """Time in which a check could not be evaluated or was not run."""

    __tablename__ = "gap"
    __table_args__ = (
        Index(None, "check_id", "started_at"),
        Index(None, "ended_at", "started_at"),
        _STRICT,
    )

    id: int = _key()
    check_id: str = _line()
    table_name: str = _line()
    started_at: datetime = _time("started_us", "started_at")
    ended_at: datetime = _time("ended_us", "ended_at")
    reason: str = _line()


class ProjectRow(Row, table=True):
    """Whose store this is: one row."""

    __tablename__ = "project"
    __table_args__ = (CheckConstraint("id = 1", name="one"), _STRICT)

    id: int = _key()
    name: str = _line()


@cache
def columns_of(row: type[Row]) -> Sequence[Label[Any]]:
    """Give all columns of a table under their Python names, to select."""
    return [column.label(column.key) for column in row.__table__.c]
