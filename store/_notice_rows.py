"""Rows about notifications: one class per table. Nothing outside this package sees a row."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, UniqueConstraint
from sqlmodel import Field

from checks import Kind, Severity
from store._columns import STRICT, WHOLE, Row, json, key, line, one_of, only_where, time, whole, word
from store._notices import Changed, DeliveryState, MessageSubject, Scope


def _incident(*, primary: bool = False, optional: bool = False) -> Any:
    column = Column(WHOLE, ForeignKey("incident.id"), primary_key=primary, autoincrement=False, nullable=optional)
    return Field(default=None, sa_column=column)


class WarningRow(Row, table=True):
    """A stretch of time in which a check warned without an incident: at most one of a series lasts."""

    __tablename__ = "warning"
    __table_args__ = (
        only_where("uq_warning_lasting", "check_id", "series", condition="ended_us IS NULL", unique=True),
        only_where("ix_warning_ended", "ended_at", condition="ended_us IS NOT NULL"),
        one_of("kind", Kind),
        one_of("severity", Severity),
        CheckConstraint("(passes = 0) = (passing_us IS NULL)", name="passes"),
        STRICT,
    )

    id: int = key()
    series: str = line()
    table_name: str = line()
    check_id: str = line()
    kind: Kind = word(Kind)
    severity: Severity = word(Severity)
    title: str = line()
    title_values: Mapping[str, Any] = json()
    began_at: datetime = time("began_us", "began_at")
    passing_since: datetime | None = time("passing_us", "passing_since", optional=True)
    passes: int = whole()
    ended_at: datetime | None = time("ended_us", "ended_at", optional=True)


class TransitionRow(Row, table=True):
    """A change of an incident, or of a warning, that may lead to notifications: the outbox.

    `not_before_at` is 1970 for one that may be decided on at once, so that an index alone gives what is due.
    """

    __tablename__ = "transition"
    __table_args__ = (
        only_where("ix_transition_waiting", "not_before_at", "id", condition="settled_us IS NULL"),
        only_where("ix_transition_settled", "settled_at", condition="settled_us IS NOT NULL"),
        Index(None, "incident_id"),
        only_where("ix_transition_warning", "warning_id", condition="warning_id IS NOT NULL"),
        Index(None, "recorded_at"),
        one_of("change", Changed),
        CheckConstraint("(incident_id IS NULL) <> (warning_id IS NULL)", name="of_one"),
        CheckConstraint("settled_us IS NULL OR decision IS NOT NULL", name="decided_if_settled"),
        STRICT,
    )

    id: int = key()
    incident_id: int | None = _incident(optional=True)
    warning_id: int | None = Field(default=None, sa_column=Column(WHOLE, ForeignKey("warning.id"), nullable=True))
    change: Changed = word(Changed)
    recorded_at: datetime = time("recorded_us", "recorded_at")
    not_before_at: datetime = time("not_before_us", "not_before_at")
    settled_at: datetime | None = time("settled_us", "settled_at", optional=True)
    decision: Mapping[str, Any] | None = json(optional=True)


class LastNotificationRow(Row, table=True):
    """The last notification of a channel about an incident."""

    __tablename__ = "told"
    __table_args__ = (one_of("severity", Severity), STRICT)

    incident_id: int = _incident(primary=True)
    channel: str = line(key=True)
    reason: str = line()
    severity: Severity = word(Severity)
    episodes: int = whole()
    told_at: datetime = time("told_us", "told_at")
    delivery_id: str = line()


class ExternalItemRow(Row, table=True):
    """An incident in an external service; see `ExternalItem`."""

    __tablename__ = "external_item"
    __table_args__ = (UniqueConstraint("label"), STRICT)

    incident_id: int = _incident(primary=True)
    channel: str = line(key=True)
    target: str = line()
    label: str = line()
    begun_at: datetime = time("begun_us", "begun_at")
    item: str | None = line(optional=True)
    status: str | None = line(optional=True)


class DeliveryRow(Row, table=True):
    """A message to a channel. `number` keeps the order in which messages were written."""

    __tablename__ = "delivery"
    __table_args__ = (
        UniqueConstraint("id"),
        only_where("ix_delivery_waiting", "next_try_at", "number", condition="state = 'waiting'"),
        only_where("ix_delivery_waiting_channel", "channel", "number", condition="state = 'waiting'"),
        only_where("ix_delivery_waiting_about", "channel", "about", "number", condition="state = 'waiting'"),
        Index(None, "channel", "created_at"),
        Index(None, "created_at"),
        only_where("ix_delivery_dead", "buried_at", condition="state = 'dead'"),
        one_of("subject", MessageSubject),
        one_of("state", DeliveryState),
        CheckConstraint("(state = 'sent') = (sent_us IS NOT NULL)", name="sent_iff_sent"),
        CheckConstraint("(state = 'dead') = (buried_us IS NOT NULL)", name="buried_iff_dead"),
        CheckConstraint("attempts >= 0", name="attempts"),
        STRICT,
    )

    number: int = key()
    id: str = line()
    channel: str = line()
    about: str | None = line(optional=True)
    subject: MessageSubject = word(MessageSubject)
    payload: Mapping[str, Any] = json()
    created_at: datetime = time("created_us", "created_at")
    state: DeliveryState = word(DeliveryState)
    attempts: int = whole()
    next_try_at: datetime = time("next_try_us", "next_try_at")
    sent_at: datetime | None = time("sent_us", "sent_at", optional=True)
    buried_at: datetime | None = time("buried_us", "buried_at", optional=True)
    error: str | None = line(optional=True)
    holder: str | None = line(optional=True)
    lease_until_at: datetime | None = time("lease_until_us", "lease_until_at", optional=True)


class SilenceRow(Row, table=True):
    """A silence: a time without notifications of its scope."""

    __tablename__ = "silence"
    __table_args__ = (
        one_of("scope", Scope),
        CheckConstraint("(scope = 'all') = (name IS NULL)", name="name_unless_all"),
        CheckConstraint("until_us > starts_us", name="ends"),
        {**STRICT, "sqlite_autoincrement": True},  # a number that people have quoted is never given again
    )

    id: int = key()
    scope: Scope = word(Scope)
    name: str | None = line(optional=True)
    starts_at: datetime = time("starts_us", "starts_at")
    until_at: datetime = time("until_us", "until_at")
    reason: str = line()
    actor: str = line()
    ended_at: datetime | None = time("ended_us", "ended_at", optional=True)


class DisabledChannelRow(Row, table=True):
    """A channel that is not used, because its other end said that it is gone."""

    __tablename__ = "disabled_channel"
    __table_args__ = (STRICT,)

    name: str = line(key=True)
    why: str = line()
    disabled_at: datetime = time("disabled_us", "disabled_at")
