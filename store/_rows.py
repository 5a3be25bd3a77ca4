"""Rows of runs, measurements, checks and incidents: one class per table.

Nothing outside this package sees a row.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, UniqueConstraint
from sqlmodel import Field

from checks import Kind, OccurrenceMethod, Severity, Status, UnknownReason
from incidents import FoundBy, Resolution, State
from store._columns import (
    STRICT,
    WHOLE,
    Row,
    flag,
    flags,
    json,
    key,
    line,
    one_of,
    only_where,
    seconds,
    time,
    whole,
    word,
)


class RunRow(Row, table=True):
    """One look at one table. `number` stands for the run's id where it is repeated."""

    __tablename__ = "run"
    __table_args__ = (UniqueConstraint("id"), Index(None, "started_at"), STRICT)

    number: int = key()
    id: str = line()
    table_name: str = line()
    started_at: datetime = time("started_us", "started_at")
    ended_at: datetime = time("ended_us", "ended_at")
    cost_us: int | None = whole(optional=True)
    rows_read: int | None = whole(optional=True)
    bytes_read: int | None = whole(optional=True)


class DailyCostRow(Row, table=True):
    """The total cost of the runs of one table on one day."""

    __tablename__ = "daily_cost"
    __table_args__ = (
        Index(None, "table_name", "day"),
        {**STRICT, "sqlite_with_rowid": False},
    )

    day: str = line(key=True)
    source: str = line(key=True)
    table_name: str = line(key=True)
    runs: int = whole()
    cost_us: int = whole()
    rows_read: int | None = whole(optional=True)
    bytes_read: int | None = whole(optional=True)


class SeriesRow(Row, table=True):
    """A check, or a segment of it, whose measurements follow one another; they repeat its number alone."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("check_id"), STRICT)

    id: int = key()
    check_id: str = line()
    table_name: str = line()


class MessageTextRow(Row, table=True):
    """The text of messages of measurements, with its forms that count; their values are theirs."""

    __tablename__ = "message_text"
    __table_args__ = (UniqueConstraint("body"), STRICT)

    id: int = key()
    body: str = line()


class MeasurementRow(Row, table=True):
    """A measurement of one check in one run: numbers and names, never rows of the watched table."""

    __tablename__ = "measurement"
    __table_args__ = (
        UniqueConstraint("run", "series"),
        Index(None, "series", "measured_at"),
        one_of("status", Status),
        CheckConstraint("(status = 'unknown') = (reason IS NOT NULL)", name="reason_iff_unknown"),
        STRICT,
    )

    id: int = key()
    run: int = Field(default=None, sa_column=Column(WHOLE, ForeignKey("run.number"), nullable=False))
    series: int = Field(default=None, sa_column=Column(WHOLE, ForeignKey("series.id"), nullable=False))
    measured_at: datetime = time("measured_us", "measured_at")
    status: Status = word(Status)
    reason: UnknownReason | None = word(UnknownReason, optional=True)
    observed: Mapping[str, Any] = json()
    text: int = Field(default=None, sa_column=Column(WHOLE, ForeignKey("message_text.id"), nullable=False))
    message_values: Mapping[str, Any] | None = json(optional=True)
    duration_s: float = seconds("duration_us", "duration_s")


class CheckStateRow(Row, table=True):
    """The state of a check between two runs: the Watch."""

    __tablename__ = "check_state"
    __table_args__ = (
        CheckConstraint("fail_streak >= 0 AND pass_streak >= 0", name="streaks"),
        *flags("flapping"),
        STRICT,
    )

    check_id: str = line(key=True)
    monitored_since: datetime = time("monitored_since_us", "monitored_since")
    last_run_at: datetime = time("last_run_us", "last_run_at")
    last_status: str = line()
    last_pass_ended_at: datetime | None = time("last_pass_ended_us", "last_pass_ended_at", optional=True)
    failing_since: datetime | None = time("failing_since_us", "failing_since", optional=True)
    fail_streak: int = whole()
    passing_since: datetime | None = time("passing_since_us", "passing_since", optional=True)
    pass_streak: int = whole()
    recent: str = line()
    flapping: bool = flag()
    place: str | None = line(optional=True)


class IncidentRow(Row, table=True):
    """The state of an incident: the fold of its events, stored so that a list needs no fold.

    `detected_at` is the first episode's, `ended_at` the last one's end (NULL while it lasts). `root` and `merged_into`
    are no foreign keys: retention may take the incident they name and must not rewrite this one.
    """

    __tablename__ = "incident"
    __table_args__ = (
        only_where("uq_incident_open_fingerprint", "fingerprint", condition="state <> 'resolved'", unique=True),
        only_where("ix_incident_root", "root", condition="root IS NOT NULL"),
        only_where("ix_incident_merged_into", "merged_into", condition="merged_into IS NOT NULL"),
        Index(None, "fingerprint"),
        only_where("ix_incident_check_id", "check_id", condition="check_id IS NOT NULL"),
        Index(None, "table_name", "detected_at"),
        Index(None, "detected_at"),
        one_of("kind", Kind),
        one_of("severity", Severity),
        one_of("found_by", FoundBy),
        one_of("state", State),
        one_of("resolution", Resolution),
        CheckConstraint("(state = 'resolved') = (resolution IS NOT NULL)", name="resolution_iff_resolved"),
        CheckConstraint("(state = 'resolved') = (ended_us IS NOT NULL)", name="ended_iff_resolved"),
        *flags("regressed", "flapping"),
        {
            **STRICT,
            "sqlite_autoincrement": True,
        },  # a number that people have quoted is never given to another incident
    )

    id: int = key()
    fingerprint: str = line()
    table_name: str = line()
    check_id: str | None = line(optional=True)
    kind: Kind = word(Kind)
    severity: Severity = word(Severity)
    title: str = line()
    title_values: Mapping[str, Any] = json()
    found_by: FoundBy = word(FoundBy)
    state: State = word(State)
    resolution: Resolution | None = word(Resolution, optional=True)
    cause: str | None = line(optional=True)
    detected_at: datetime = time("detected_us", "detected_at")
    ended_at: datetime | None = time("ended_us", "ended_at", optional=True)
    assignee: str | None = line(optional=True)
    snoozed_until: datetime | None = time("snoozed_until_us", "snoozed_until", optional=True)
    regressed: bool = flag()
    flapping: bool = flag()
    root: int | None = whole(optional=True)
    merged_into: int | None = whole(optional=True)
    answered: bool = flag(added=True)


class EpisodeRow(Row, table=True):
    """One stretch of bad data. Narrow, and kept in the order of incidents: reports read a million of them."""

    __tablename__ = "episode"
    __table_args__ = (
        Index(None, "resolved_at", "earliest_at", "occurred_at"),
        one_of("method", OccurrenceMethod),
        {**STRICT, "sqlite_with_rowid": False},
    )

    incident_id: int = Field(
        default=None, sa_column=Column(WHOLE, ForeignKey("incident.id"), primary_key=True, autoincrement=False)
    )
    number: int = Field(default=None, sa_column=Column(WHOLE, primary_key=True, autoincrement=False))
    occurred_at: datetime = time("occurred_us", "occurred_at")
    earliest_at: datetime = time("earliest_us", "earliest_at")
    latest_at: datetime = time("latest_us", "latest_at")
    method: OccurrenceMethod = word(OccurrenceMethod)
    first_failed_at: datetime | None = time("first_failed_us", "first_failed_at", optional=True)
    detected_at: datetime = time("detected_us", "detected_at")
    resolved_at: datetime | None = time("resolved_us", "resolved_at", optional=True)
    acknowledged_at: datetime | None = time("acknowledged_us", "acknowledged_at", optional=True)


class IncidentEventRow(Row, table=True):
    """One change of an incident. Append-only: triggers refuse to change it, or to remove it before its incident.

    The foreign key is looked at when the transaction ends, so that retention can remove an incident first and its
    events then. `checksum` is of all other columns but `id`; every event has one, the column allows NULL only because
    it was added later.
    """

    __tablename__ = "incident_event"
    __table_args__ = (UniqueConstraint("incident_id", "number"), STRICT)

    id: int = key()
    incident_id: int = Field(
        default=None,
        sa_column=Column(WHOLE, ForeignKey("incident.id", deferrable=True, initially="DEFERRED"), nullable=False),
    )
    number: int = whole()
    recorded_at: datetime = time("recorded_us", "recorded_at")
    actor: str = line()
    kind: str = line()
    body: Mapping[str, Any] = json()
    checksum: str | None = line(optional=True)


class GapRow(Row, table=True):
    """Time in which a check could not be evaluated or was not run."""

    __tablename__ = "gap"
    __table_args__ = (
        Index(None, "check_id", "started_at"),
        Index(None, "ended_at", "started_at"),
        STRICT,
    )

    id: int = key()
    check_id: str = line()
    table_name: str = line()
    started_at: datetime = time("started_us", "started_at")
    ended_at: datetime = time("ended_us", "ended_at")
    reason: str = line()


class ProjectRow(Row, table=True):
    """The project of the store: one row."""

    __tablename__ = "project"
    __table_args__ = (CheckConstraint("id = 1", name="one"), STRICT)

    id: int = key()
    name: str = line()
