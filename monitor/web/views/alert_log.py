"""The log of alerts: who was notified of what, who was not and why, and how each channel is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, Self

from pydantic import Field

from monitor.alerts.decision_record import UNDECIDED
from monitor.config.project import Project
from monitor.summaries.shapes import Moment, Shape
from monitor.summaries.silence import SilenceLine
from monitor.verbs.verb import Number, Query
from monitor.web.views.shapes import IncidentCursor, IncidentCursorText, Size
from store import Delivery, DeliveryState, IncidentPlace, ReadTransaction, Transition

SHOWN_SINCE: Final = timedelta(days=30)
"""The default length of the log without an incident."""


class AlertLogQuery(Query):
    """Which part of the log: of one incident, or of all in the last 30 days."""

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
    until: Moment | None
    owed: bool
    delivery: str | None
    sent: str | None


class AlertDecision(Shape):
    """The decision about a change of an incident or a warning; `why` where no channel is concerned, or none yet."""

    incident: int | None
    warning: int | None
    table: str
    change: str
    at: Moment
    settled_at: Moment | None
    why: str | None
    channels: tuple[ChannelDecision, ...]

    @classmethod
    def of(cls, transition: Transition, states: Mapping[str, DeliveryState], undecided: str | None) -> Self:
        """Return a change with the decisions about it, each message with its state; `undecided`: why it has none."""
        decision = transition.decision or {"why": undecided, "channels": {}}
        return cls(
            incident=transition.incident_id,
            warning=transition.warning_id,
            table=transition.table,
            change=transition.change.value,
            at=transition.recorded_at,
            settled_at=transition.settled_at,
            why=decision["why"],
            channels=tuple(
                ChannelDecision(channel=name, sent=states.get(record["delivery"]), **record)
                for name, record in decision["channels"].items()
            ),
        )


class DeliveryLine(Shape):
    """A message to a channel."""

    id: str
    channel: str
    subject: str
    title: str | None
    at: Moment
    state: str
    attempts: int
    next_try_at: Moment | None
    sent_at: Moment | None
    error: str | None

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        """Return a message with its delivery state."""
        names = ("id", "channel", "attempts", "sent_at", "error")
        return cls(
            **{name: getattr(delivery, name) for name in names},
            subject=delivery.subject.value,
            title=delivery.payload.get("title"),
            at=delivery.created_at,
            state=delivery.state.value,
            next_try_at=delivery.next_try_at if delivery.state is DeliveryState.WAITING else None,
        )


class ChannelHealth(Shape):
    """The state of a channel: `ok`, `waiting` (messages are retried), `failing` (some were given up) or `disabled`."""

    channel: str
    state: str
    why: str | None
    waiting: int
    given_up: int
    last: DeliveryLine | None


class DisabledChannel(Shape):
    """A channel that is not used any more, since when and why."""

    channel: str
    why: str
    at: Moment


class AlertLogPage(Shape):
    """`tablewatch.alert-log/1`: decisions and messages, newest first; `older` is the cursor of the next page.

    `silences`: those that hold now. `more`: whether there are older decisions or messages since the same time.
    """

    schema_: Literal["tablewatch.alert-log/1"] = Field("tablewatch.alert-log/1", alias="schema")
    as_of: Moment
    since: Moment
    decisions: tuple[AlertDecision, ...]
    deliveries: tuple[DeliveryLine, ...]
    channels: tuple[ChannelHealth, ...]
    disabled: tuple[DisabledChannel, ...]
    silences: tuple[SilenceLine, ...]
    more: bool
    older: str | None

    @classmethod
    def of(
        cls, project: Project, tx: ReadTransaction, entries: "LogEntries", *, since: datetime, now: datetime
    ) -> "AlertLogPage":
        """Return entries that were read in this transaction."""
        return cls(
            as_of=now,
            since=since,
            decisions=decisions_of(project, tx, entries.transitions, now),
            deliveries=tuple(DeliveryLine.of(item) for item in entries.deliveries),
            channels=tuple(_channels(project, tx)),
            disabled=tuple(
                DisabledChannel(channel=name, why=item.why, at=item.at)
                for name, item in tx.silences.disabled_channels().items()
            ),
            silences=tuple(SilenceLine.of(silence, now) for silence in tx.silences.all(now)),
            more=entries.more,
            older=None if entries.older is None else str(IncidentCursor(entries.older, newer=False)),
        )


@dataclass(frozen=True, slots=True)
class LogEntries:
    """Changes of incidents, those that wait for their decision first, and messages, the newest first.

    `more`: there are older ones, or more that wait; `older`: the place after the last decided one, where there are.
    """

    transitions: Sequence[Transition]
    deliveries: Sequence[Delivery]
    more: bool
    older: IncidentPlace | None

    @classmethod
    def read(
        cls, tx: ReadTransaction, *, since: datetime, size: int, older_than: IncidentPlace | None = None
    ) -> "LogEntries":
        """Read the entries since a moment: at most `size` that wait, that are decided, and that were sent."""
        waiting = [] if older_than else [item for item in tx.outbox.waiting(size + 1) if item.decision is None]
        decided = tx.outbox.decided_since(since, size + 1, older_than=older_than)
        deliveries = tx.deliveries.since(since, size + 1)
        older = IncidentPlace(decided[size - 1].recorded_at, decided[size - 1].id) if len(decided) > size else None
        more = max(len(waiting), len(decided), len(deliveries)) > size
        return cls([*reversed(waiting[:size]), *decided[:size]], deliveries[:size], more, older)


def list_alerts(project: Project, tx: ReadTransaction, query: AlertLogQuery, now: datetime) -> AlertLogPage:
    """Return a page of the log."""
    since = now - SHOWN_SINCE
    if query.incident is not None:
        entries = LogEntries(tx.outbox.of_incident(query.incident, query.size), [], more=False, older=None)
    else:
        place = None if query.cursor is None else IncidentCursor.parse(query.cursor).place
        entries = LogEntries.read(tx, since=since, size=query.size, older_than=place)
    return AlertLogPage.of(project, tx, entries, since=since, now=now)


def decisions_of(
    project: Project, tx: ReadTransaction, transitions: Sequence[Transition], now: datetime
) -> tuple[AlertDecision, ...]:
    """Return the decisions about changes, each message with its state, and why others have no decision yet."""
    channels = (record for item in transitions if item.decision for record in item.decision["channels"].values())
    ids = {record["delivery"] for record in channels if record["delivery"]}
    states = tx.deliveries.states(ids) if ids else {}
    beats = [daemon.heartbeat_at for daemon in tx.daemons.records()]
    no_channel, no_daemon, grouped, due = (str(reason) for reason in UNDECIDED)

    def undecided(change: Transition) -> str:
        alerts = project.config.alerts if project.is_whole() else None  # with errors in it, neither rule is known
        if alerts is not None and not alerts.channels:
            return no_channel
        if not beats or max(beats) < change.recorded_at:
            return no_daemon
        return grouped if alerts is not None and now - change.recorded_at < alerts.group_wait else due

    return tuple(
        AlertDecision.of(item, states, undecided(item) if item.decision is None else None) for item in transitions
    )


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
                last=None if last is None else DeliveryLine.of(last),
            )
        )
    return results
