"""Delete rows past their retention, a batch at a time, while the clock is trusted (`_trusted_time`)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final, Self

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    delete,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
    union,
)

from checks import Status
from store._accounts import LoginLinkRow, WebSessionRow
from store._answered_requests import REQUEST_LIFE, AnsweredRequestRow
from store._class_rows import ClassCountRow, ClassPartRow, ClassSizeRow, ClassStateRow
from store._logged_events import LoggedEventRow
from store._measurements import accepted, newest, of_checks, of_segments
from store._notice_rows import DeliveryRow, ExternalItemRow, LastNotificationRow, SilenceRow, TransitionRow, WarningRow
from store._notices import DeliveryState
from store._releases import ReleasedRowRow, ReleaseRow
from store._repository import any_of, given
from store._rows import (
    CheckStateRow,
    DailyCostRow,
    EpisodeRow,
    GapRow,
    IncidentEventRow,
    IncidentRow,
    MeasurementRow,
    RunRow,
    SeriesRow,
)
from store._work_rows import DaemonConfigRow, DaemonRow, SkipRow, SlotRow

_CLASS_BATCH: Final = 10_000
_PACKED: Final = 200
"""Rows that hold many counts each are larger."""
_UNFINISHED: Final = timedelta(days=1)
"""A state or a release that is not finished by then was left by a process that ended."""
SILENT: Final = timedelta(days=7)
"""Daemons that were not heard of for so long are forgotten."""

_STATE: Final = ClassStateRow.__table__
_COUNT: Final = ClassCountRow.__table__
_RELEASE: Final = ReleaseRow.__table__
_RELEASED: Final = ReleasedRowRow.__table__


def prune_counts(connection: Connection, *, now: datetime) -> int:
    """Delete a batch; return how many rows, 0 when nothing is left to delete."""
    before = now - _UNFINISHED
    return _prune_left(connection, before) or _prune_releases(connection, before)


def _prune_left(connection: Connection, before: datetime) -> int:
    was_current = _STATE.c.version > 0
    left = and_(_STATE.c.is_current == literal_column("0"), or_(was_current, _STATE.c.updated_at < before))
    state = connection.scalar(select(_STATE.c.id).where(left).limit(1))
    if state is None:
        return 0
    if count := _prune_first(connection, _COUNT.c.state, state, (_COUNT.c.part, _COUNT.c.shard), _PACKED):
        return count
    for table in (ClassPartRow.__table__, ClassSizeRow.__table__):
        connection.execute(delete(table).where(table.c.state == state))
    return connection.execute(delete(_STATE).where(_STATE.c.id == state)).rowcount


def _prune_releases(connection: Connection, before: datetime) -> int:
    half = select(_RELEASE.c.id).where(_RELEASE.c.is_whole == literal_column("0"), _RELEASE.c.released_at < before)
    release = connection.scalar(half.limit(1))
    if release is None:
        return 0
    key = (_RELEASED.c.person, _RELEASED.c.class_signature)
    return (
        _prune_first(connection, _RELEASED.c.release, release, key, _CLASS_BATCH)
        or connection.execute(delete(_RELEASE).where(_RELEASE.c.id == release)).rowcount
    )


def _prune_first(connection: Connection, owner: Column[int], number: int, key: Sequence[Column[Any]], most: int) -> int:
    """Delete the first rows of an owner, in storage order."""
    ordered = select(*key).where(owner == number).order_by(*key)
    end = connection.execute(ordered.offset(most - 1).limit(1)).first()
    condition = [owner == number]
    if end is not None:
        condition.append(
            tuple_(*key) <= tuple_(*(literal(value, column.type) for column, value in zip(key, end, strict=True)))
        )
    return connection.execute(delete(owner.table).where(*condition)).rowcount


_BATCH: Final = 500
_READ_ON: Final = 8
"""How many times as many runs are read where all the oldest are retained."""

_RUN: Final = RunRow.__table__
_MEASUREMENT: Final = MeasurementRow.__table__
_SERIES: Final = SeriesRow.__table__
_WATCH: Final = CheckStateRow.__table__
_INCIDENT: Final = IncidentRow.__table__
_EPISODE: Final = EpisodeRow.__table__
_EVENT: Final = IncidentEventRow.__table__
_GAP: Final = GapRow.__table__
_DAILY_COST: Final = DailyCostRow.__table__
_SLOT: Final = SlotRow.__table__
_SKIP: Final = SkipRow.__table__
_TRANSITION: Final = TransitionRow.__table__
_WARNING: Final = WarningRow.__table__
_NOTIFIED: Final = LastNotificationRow.__table__
_EXTERNAL_ITEM: Final = ExternalItemRow.__table__
_DELIVERY: Final = DeliveryRow.__table__
_SILENCE: Final = SilenceRow.__table__
_LOGGED: Final = LoggedEventRow.__table__
_DAEMON: Final = DaemonRow.__table__
_CONFIG: Final = DaemonConfigRow.__table__
_SESSION: Final = WebSessionRow.__table__
_LINK: Final = LoginLinkRow.__table__
_REQUEST: Final = AnsweredRequestRow.__table__


@dataclass(frozen=True, slots=True)
class Pruned:
    """The number of deleted rows; with an incident go its episodes, events and notifications."""

    runs: int = 0
    measurements: int = 0
    incidents: int = 0
    gaps: int = 0
    slots: int = 0
    skips: int = 0
    transitions: int = 0
    warnings: int = 0
    deliveries: int = 0
    silences: int = 0
    logged_events: int = 0
    daily_costs: int = 0
    class_counts: int = 0
    daemons: int = 0
    sessions: int = 0
    login_links: int = 0
    answered_requests: int = 0

    @property
    def text(self) -> str:
        """List what was deleted, as `12 runs, 40 measurements`; empty when nothing was."""
        counts = ((getattr(self, field.name), field.name.replace("_", " ")) for field in fields(self))
        return ", ".join(f"{number} {what}" for number, what in counts if number)

    def __add__(self, other: Self) -> "Pruned":
        """Add two steps."""
        names = (field.name for field in fields(self))
        return Pruned(**{name: getattr(self, name) + getattr(other, name) for name in names})


def prune(connection: Connection, *, measured_before: datetime, incidents_before: datetime, now: datetime) -> Pruned:
    """Delete one batch of each kind; all zero when nothing is left to delete."""
    runs, measurements = _prune_runs(connection, measured_before)
    return Pruned(
        runs=runs,
        measurements=measurements,
        incidents=_prune_incidents(connection, incidents_before),
        gaps=_prune_batch(connection, _GAP, _GAP.c.ended_at < incidents_before),
        slots=_prune_batch(connection, _SLOT, _SLOT.c.started_at < measured_before, _SLOT.c.ended_at < measured_before),
        skips=_prune_batch(connection, _SKIP, _SKIP.c.last_at < measured_before),
        transitions=_prune_batch(
            connection,
            _TRANSITION,
            _TRANSITION.c.settled_at < measured_before,
            _TRANSITION.c.id.not_in(_still_news()),
            _TRANSITION.c.warning_id.is_(None),  # they say who knows of the warning, and go with it
        ),
        warnings=_prune_warnings(connection, measured_before),
        deliveries=_prune_batch(
            connection,
            _DELIVERY,
            _DELIVERY.c.created_at < measured_before,
            _DELIVERY.c.state != DeliveryState.WAITING,
        ),
        silences=_prune_batch(connection, _SILENCE, _SILENCE.c.until_at < incidents_before),
        logged_events=_prune_batch(
            connection,
            _LOGGED,
            _LOGGED.c.happened_at < incidents_before,
            or_(_LOGGED.c.removes.is_(None), _LOGGED.c.removes.not_in(select(_LOGGED.alias("removed").c.id))),
        ),
        daily_costs=_prune_costs(connection, measured_before),
        class_counts=prune_counts(connection, now=now),
        daemons=_prune_daemons(connection, now - SILENT),
        sessions=_prune_batch(connection, _SESSION, _SESSION.c.expires_at <= now),
        login_links=_prune_batch(connection, _LINK, _LINK.c.expires_at <= now),
        answered_requests=_prune_batch(connection, _REQUEST, _REQUEST.c.begun_at <= now - REQUEST_LIFE),
    )


def _prune_runs(connection: Connection, before: datetime) -> tuple[int, int]:
    """Delete the oldest runs. What that costs depends on them, and not on how many checks there are."""
    old = select(_RUN.c.number).where(_RUN.c.ended_at < before, _RUN.c.started_at < before).order_by(_RUN.c.started_at)
    most, numbers, is_all = _BATCH, list[int](), False
    while not numbers and not is_all:
        oldest = connection.scalars(old.limit(most)).all()
        retained = _retained(connection, oldest, before)
        numbers = [number for number in oldest if number not in retained][:_BATCH]
        is_all, most = len(oldest) < most, most * _READ_ON
    if not numbers:
        return 0, 0
    batch = any_of(connection, numbers, "run_number")
    measurements = connection.execute(delete(_MEASUREMENT).where(_MEASUREMENT.c.run.in_(batch))).rowcount
    if measurements and len(numbers) < _BATCH:  # the last: segments come and go, and no configuration lists them
        _prune_series(connection)
        left = (of_segments(_WATCH.c.check_id), _WATCH.c.last_run_at < before)
        connection.execute(delete(_WATCH).where(*left))
    return connection.execute(delete(_RUN).where(_RUN.c.number.in_(batch))).rowcount, measurements


def _retained(connection: Connection, runs: Sequence[int], before: datetime) -> set[int]:
    """Return which of these runs have the newest or the accepted result of a check that has not passed since."""
    batch, passed = any_of(connection, runs, "run_number"), _MEASUREMENT.alias("passed")
    passed_since = exists().where(
        passed.c.series == _SERIES.c.id, passed.c.measured_at >= before, passed.c.status == Status.PASS
    )
    of_runs = select(_MEASUREMENT.c.series).where(_MEASUREMENT.c.run.in_(batch))
    checks = select(_SERIES.c.check_id).where(of_checks(_SERIES.c.check_id), _SERIES.c.id.in_(of_runs), ~passed_since)
    names = given(connection, ((name,) for name in connection.scalars(checks)), ["check_id"])
    wanted = union(select(newest(names)).select_from(names), accepted(names)).subquery()
    return set(connection.scalars(select(_MEASUREMENT.c.run).where(_MEASUREMENT.c.id.in_(select(wanted)))))


def _prune_series(connection: Connection) -> None:
    """Delete the numbers of checks and segments that no measurement repeats."""
    unused = ~exists().where(_MEASUREMENT.c.series == _SERIES.c.id)
    numbers = select(_SERIES.c.id).where(unused).limit(_CLASS_BATCH)
    batch = any_of(connection, connection.scalars(numbers).all(), "series_number")
    connection.execute(delete(_SERIES).where(_SERIES.c.id.in_(batch), unused))


def _prune_costs(connection: Connection, before: datetime) -> int:
    """Delete the oldest days; in a zone ahead of UTC a day begins earlier, so one more is kept."""
    key = tuple(_DAILY_COST.primary_key)
    old = select(*key).where(_DAILY_COST.c.day < (before - timedelta(days=1)).date().isoformat()).limit(_BATCH)
    return connection.execute(delete(_DAILY_COST).where(tuple_(*key).in_(old))).rowcount


def _still_news() -> Select[Any]:
    """Return the newest transition of each incident that lasts: a channel that is added may have to hear of it."""
    lasting = select(_INCIDENT.c.id).where(_INCIDENT.c.state != literal_column("'resolved'"))  # has an index
    newest = select(func.max(_TRANSITION.c.id)).where(_TRANSITION.c.incident_id.in_(lasting))
    return newest.group_by(_TRANSITION.c.incident_id)


def _prune_incidents(connection: Connection, before: datetime) -> int:
    other = _INCIDENT.alias("other")
    named = exists().where(or_(other.c.root == _INCIDENT.c.id, other.c.merged_into == _INCIDENT.c.id))
    touched_since = exists().where(_EVENT.c.incident_id == _INCIDENT.c.id, _EVENT.c.recorded_at >= before)
    old = select(_INCIDENT.c.id).where(
        _INCIDENT.c.detected_at < before,  # an index knows this one
        _INCIDENT.c.ended_at < before,
        ~touched_since,
        ~named,
    )
    ids = connection.scalars(old.order_by(_INCIDENT.c.detected_at).limit(_BATCH)).all()
    if not ids:
        return 0
    batch = any_of(connection, ids, "incident_number")
    for table in (_EPISODE, _TRANSITION, _NOTIFIED, _EXTERNAL_ITEM):
        connection.execute(delete(table).where(table.c.incident_id.in_(batch)))
    connection.execute(
        delete(_INCIDENT).where(_INCIDENT.c.id.in_(batch))
    )  # before its events: the triggers let only orphans go
    connection.execute(delete(_EVENT).where(_EVENT.c.incident_id.in_(batch)))
    return len(ids)


def _prune_warnings(connection: Connection, before: datetime) -> int:
    """Delete warnings that ended, each with its transitions, unless one of these still waits."""
    waits = exists().where(_TRANSITION.c.warning_id == _WARNING.c.id, _TRANSITION.c.settled_at.is_(None))
    old = select(_WARNING.c.id).where(_WARNING.c.ended_at < before, ~waits).limit(_BATCH)
    batch = any_of(connection, connection.scalars(old).all(), "warning_number")
    connection.execute(delete(_TRANSITION).where(_TRANSITION.c.warning_id.in_(batch)))
    return connection.execute(delete(_WARNING).where(_WARNING.c.id.in_(batch))).rowcount


def _prune_daemons(connection: Connection, before: datetime) -> int:
    """Delete daemons that were not heard of, each with its configuration."""
    deleted = _prune_batch(connection, _DAEMON, _DAEMON.c.heartbeat_at < before)
    if deleted:
        connection.execute(delete(_CONFIG).where(_CONFIG.c.daemon_id.not_in(select(_DAEMON.c.id))))
    return deleted


def _prune_batch(connection: Connection, table: Table, *conditions: ColumnElement[bool]) -> int:
    """Delete rows that meet the conditions: those of large tables are found by an index."""
    (key,) = table.primary_key
    old = select(key).where(*conditions).limit(_BATCH)
    return connection.execute(delete(table).where(key.in_(old))).rowcount
