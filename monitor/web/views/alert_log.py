"""The log of alerts: who was notified of what, who was not and why, and how each channel is."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from monitor.alerts.decision_record import decision_as_json, delivery_as_json
from monitor.config.project import Project
from monitor.web.views.shapes import IncidentCursor, IncidentCursorText, Number, Shape, Size
from store import DeliveryState, IncidentPlace, ReadTransaction, Transition

SHOWN_SINCE: Final = timedelta(days=30)
"""The default length of the log without an incident."""


class AlertLogQuery(BaseModel):
    """Which part of the log: of one incident, or of all in the last 30 days."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    incident: Number | None = None
    cursor: IncidentCursorText | None = None
    size: Size = 50


class ChannelDecision(Shape):
    """The decision for one channel; `sent` is the state of its message, null without one."""

    channel: str
    action: str
    reason: str
    why: str
    by: tuple[str, ...]
    held_by: str | None
    hold: str | None
    until: datetime | None
    owed: bool
    delivery: str | None
    sent: str | None


class AlertDecision(Shape):
    """The decision about a change of an incident or a warning; `why` where no channel is concerned."""

    incident: int | None
    warning: int | None
    table: str
    change: str
    at: datetime
    settled_at: datetime | None
    why: str | None
    channels: tuple[ChannelDecision, ...]


class DeliveryLine(Shape):
    """A message to a channel."""

    id: str
    channel: str
    subject: str
    title: str | None
    at: datetime
    state: str
    attempts: int
    next_try_at: datetime | None
    sent_at: datetime | None
    error: str | None


class ChannelHealth(Shape):
    """The state of a channel: `ok`, `waiting` (messages are retried), `failing` (some were given up) or `disabled`."""

    channel: str
    state: str
    why: str | None
    waiting: int
    given_up: int
    last: DeliveryLine | None


class AlertLogPage(Shape):
    """`tablewatch.alert-log/1`: decisions and messages, newest first; `older` is the cursor of the next page."""

    schema_: Literal["tablewatch.alert-log/1"] = Field("tablewatch.alert-log/1", alias="schema")
    as_of: datetime
    since: datetime
    decisions: tuple[AlertDecision, ...]
    deliveries: tuple[DeliveryLine, ...]
    channels: tuple[ChannelHealth, ...]
    older: str | None


def list_alerts(project: Project, tx: ReadTransaction, query: AlertLogQuery, now: datetime) -> AlertLogPage:
    """Return a page of the log."""
    since = now - SHOWN_SINCE
    if query.incident is not None:
        transitions = tx.outbox.of_incident(query.incident, query.size)
        more = False
    else:
        place = None if query.cursor is None else IncidentCursor.parse(query.cursor).place
        waiting = [item for item in tx.outbox.waiting(query.size) if item.decision is None] if place is None else []
        waiting.reverse()
        decided = tx.outbox.decided_since(since, query.size + 1, older_than=place)
        more = len(decided) > query.size
        decided = decided[: query.size]
        transitions = [*waiting, *decided]
    last = transitions[-1] if more else None
    return AlertLogPage(
        as_of=now,
        since=since,
        decisions=decisions_of(tx, transitions),
        deliveries=tuple(
            DeliveryLine.model_validate(delivery_as_json(delivery))
            for delivery in (tx.deliveries.since(since, query.size) if query.incident is None else ())
        ),
        channels=tuple(_channels(project, tx)),
        older=None if last is None else str(IncidentCursor(IncidentPlace(last.recorded_at, last.id), newer=False)),
    )


def decisions_of(tx: ReadTransaction, transitions: Sequence[Transition]) -> tuple[AlertDecision, ...]:
    """Return what was decided about changes, each message with how far it is."""
    plain = [decision_as_json(transition) for transition in transitions]
    ids = {channel["delivery"] for item in plain for channel in item["channels"] if channel["delivery"]}
    states = tx.deliveries.states(ids) if ids else {}
    return tuple(_decision(item, states) for item in plain)


def _decision(plain: Mapping[str, object], states: Mapping[str, DeliveryState]) -> AlertDecision:
    channels = plain["channels"]
    if not isinstance(channels, list):
        raise TypeError("the channels of a decision are a list")
    marked = [
        {**channel, "sent": states[channel["delivery"]].value if channel["delivery"] in states else None}
        for channel in channels
    ]
    return AlertDecision.model_validate({**plain, "channels": marked})


def _channels(project: Project, tx: ReadTransaction) -> Sequence[ChannelHealth]:
    """Return how the channels of the configuration are."""
    unsent, disabled = tx.deliveries.unsent_by_channel(), tx.silences.disabled_channels()
    results = []
    for name in project.config.alerts.channels:
        waiting = unsent.get((name, DeliveryState.WAITING), 0)
        given_up = unsent.get((name, DeliveryState.DEAD), 0)
        last = tx.deliveries.newest(name)
        state = "failing" if given_up else "waiting" if waiting else "ok"
        results.append(
            ChannelHealth(
                channel=name,
                state="disabled" if name in disabled else state,
                why=disabled[name].why if name in disabled else None,
                waiting=waiting,
                given_up=given_up,
                last=None if last is None else DeliveryLine.model_validate(delivery_as_json(last)),
            )
        )
    return results
