"""Store transitions of incidents and warnings, the decisions to notify on them, and the last notifications.

The warnings themselves, of checks that open no incident, are stored here too, since each change is a transition.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import Select, func, insert, literal, literal_column, select, true, tuple_, update

from incidents import WarningSpell, from_us
from store._columns import WHOLE, Mapped, UtcTime
from store._notice_rows import LastNotificationRow, TransitionRow, WarningRow
from store._notices import Changed, LastingIncident, LastNotification, Transition
from store._repository import Repository, any_of
from store._rows import EpisodeRow, IncidentRow

AT_ONCE: Final = from_us(0)
"""The moment of what may be decided on at once."""
_TRANSITION: Final = TransitionRow.__table__
_NOTIFIED: Final = LastNotificationRow.__table__
_INCIDENT: Final = IncidentRow.__table__
_WARNING: Final = WarningRow.__table__
_EPISODE: Final = EpisodeRow.__table__
_CHANGES: Final = Mapped(TransitionRow, Transition)
_LAST: Final = Mapped(LastNotificationRow, LastNotification)
_SPELLS: Final = Mapped(WarningRow, WarningSpell)

# a statement takes longer to build than to run; each message asks a few dozen
_TRANSITIONS: Final = (
    select(*_CHANGES.columns, func.coalesce(_INCIDENT.c.table_name, _WARNING.c.table_name).label("of_table"))
    .outerjoin(_INCIDENT, _INCIDENT.c.id == _TRANSITION.c.incident_id)
    .outerjoin(_WARNING, _WARNING.c.id == _TRANSITION.c.warning_id)
)
_WAITING: Final = _TRANSITIONS.where(_TRANSITION.c.settled_at.is_(None)).order_by(
    _TRANSITION.c.not_before_at, _TRANSITION.c.id
)
_NOTIFICATIONS: Final = select(*_LAST.columns).order_by(_NOTIFIED.c.incident_id, _NOTIFIED.c.channel)
_LASTS: Final = _INCIDENT.c.state != literal_column("'resolved'")  # has an index
_NOTIFICATIONS_OF_OPEN: Final = _NOTIFICATIONS.where(_NOTIFIED.c.incident_id.in_(select(_INCIDENT.c.id).where(_LASTS)))
_OPEN_INCIDENTS: Final = (
    select(
        *(_INCIDENT.c.id, _INCIDENT.c.table_name, _INCIDENT.c.severity, _INCIDENT.c.kind),
        *(_EPISODE.c.number + 1, _EPISODE.c.detected_at, _EPISODE.c.acknowledged_at, _INCIDENT.c.flapping),
        _INCIDENT.c.assignee,
    )
    .join(_EPISODE, _EPISODE.c.incident_id == _INCIDENT.c.id)
    .where(_LASTS, _EPISODE.c.resolved_at.is_(None))
)


class OutboxReader(Repository):
    """Queries about transitions and notifications."""

    def due(self, now: datetime, limit: int) -> list[Transition]:
        """Return transitions on which a decision is due, in the order in which they were written.

        Those that were postponed until a moment come after those that were not, the earliest moment first.
        """
        return self._ordered(_WAITING.where(_TRANSITION.c.not_before_at <= now).limit(limit))

    def waiting(self, limit: int) -> list[Transition]:
        """Return transitions that are not settled, also those that were postponed."""
        return self._ordered(_WAITING.limit(limit))

    def decided_since(
        self, since: datetime, limit: int, *, older_than: tuple[datetime, int] | None = None
    ) -> list[Transition]:
        """Return transitions of changes recorded since a moment that were decided on or postponed, newest first.

        `older_than`: only those before this one, by when it was recorded and its id.
        """
        decided = _TRANSITIONS.where(_TRANSITION.c.recorded_at >= since, _TRANSITION.c.decision.is_not(None))
        if older_than is not None:
            at, number = literal(older_than[0], UtcTime()), literal(older_than[1], WHOLE)
            decided = decided.where(tuple_(_TRANSITION.c.recorded_at, _TRANSITION.c.id) < tuple_(at, number))
        return self._ordered(decided.order_by(_TRANSITION.c.recorded_at.desc(), _TRANSITION.c.id.desc()).limit(limit))

    def of_incident(self, incident_id: int, limit: int) -> list[Transition]:
        """Return the newest transitions of an incident, settled or not, newest first."""
        statement = _TRANSITIONS.where(_TRANSITION.c.incident_id == incident_id)
        return self._ordered(statement.order_by(_TRANSITION.c.id.desc()).limit(limit))

    def of_incidents(self, incident_ids: Iterable[int]) -> Mapping[int, list[Transition]]:
        """Return all transitions of each of these incidents, settled or not, in the order of writing."""
        results: dict[int, list[Transition]] = {number: [] for number in incident_ids}
        batch = any_of(self._connection, results, "incident_number")
        statement = _TRANSITIONS.where(_TRANSITION.c.incident_id.in_(batch)).order_by(_TRANSITION.c.id)
        for transition in self._ordered(statement):
            if transition.incident_id is not None:
                results[transition.incident_id].append(transition)
        return results

    def of_warnings(self, warning_ids: Iterable[int]) -> list[Transition]:
        """Return the transitions of these warnings, settled or not, in the order in which they were written."""
        batch = any_of(self._connection, warning_ids, "warning_number")
        return sorted(self._ordered(_TRANSITIONS.where(_TRANSITION.c.warning_id.in_(batch))), key=attrgetter("id"))

    def latest(self, incident_ids: Iterable[int]) -> Mapping[int, Transition]:
        """Return the newest transition of each of these incidents, settled or not; imported ones have none."""
        batch = any_of(self._connection, incident_ids, "incident_number")
        newest = select(func.max(_TRANSITION.c.id)).where(_TRANSITION.c.incident_id.in_(batch))
        statement = _TRANSITIONS.where(_TRANSITION.c.id.in_(newest.group_by(_TRANSITION.c.incident_id)))
        return {item.incident_id: item for item in self._ordered(statement) if item.incident_id is not None}

    def open_incidents(self) -> list[LastingIncident]:
        """Return of open incidents the fields that decide on their recipients, by number; much less than all."""
        rows = self._connection.execute(_OPEN_INCIDENTS)
        return sorted((LastingIncident(*row) for row in rows), key=attrgetter("incident_id"))

    def last_notifications(self, incident_ids: Iterable[int]) -> list[LastNotification]:
        """Return the last notification of each channel about these incidents, by incident and channel."""
        batch = any_of(self._connection, incident_ids, "incident_number")
        return self._last_notifications(_NOTIFICATIONS.where(_NOTIFIED.c.incident_id.in_(batch)))

    def last_notifications_of_open(self) -> list[LastNotification]:
        """Return the last notification of each channel about incidents that last, by incident and channel."""
        return self._last_notifications(_NOTIFICATIONS_OF_OPEN)

    def _last_notifications(self, statement: Select[Any]) -> list[LastNotification]:
        return _LAST.values(self._connection.execute(statement))

    def _ordered(self, statement: Select[Any]) -> list[Transition]:
        rows = (_CHANGES.value(row, table=row.of_table) for row in self._connection.execute(statement))
        return [replace(item, not_before=None) if item.not_before == AT_ONCE else item for item in rows]


class OutboxWriter(OutboxReader):
    """Statements that write transitions and notifications."""

    def settle(self, ids: Iterable[int], at: datetime, decision: Mapping[str, Any]) -> set[int]:
        """Settle transitions with the decision; return the ids of those that still waited.

        Of two processes that decide on one transition only one gets it, so it is notified once.
        """
        return self._set_waiting(ids, {"settled_at": at, "decision": decision})

    def postpone(self, ids: Iterable[int], until: datetime, decision: Mapping[str, Any] | None = None) -> set[int]:
        """Postpone transitions, with the decision so far; return the ids of those that still waited."""
        decided = {} if decision is None else {"decision": decision}
        return self._set_waiting(ids, {"not_before_at": until, **decided})

    def set_back(self, now: datetime) -> None:
        """Set the times of changes and of last notifications that lie in the future to the present.

        Transitions that are postponed into the future are due now.
        """
        for time, condition in (("recorded_at", true()), ("not_before_at", _TRANSITION.c.settled_at.is_(None))):
            later = update(_TRANSITION).where(_TRANSITION.c[time] > now, condition)
            self._connection.execute(later.values({time: now}))
        self._connection.execute(update(_NOTIFIED).where(_NOTIFIED.c.told_at > now).values(told_at=now))

    def requeue(self, ids: Iterable[int], now: datetime) -> int:
        """Requeue settled transitions with their earlier decisions; return how many."""
        batch = any_of(self._connection, ids, "transition_number")
        settled = update(_TRANSITION).where(_TRANSITION.c.id.in_(batch), _TRANSITION.c.settled_at.is_not(None))
        return self._connection.execute(settled.values(settled_at=None, not_before_at=now)).rowcount

    def save_notifications(self, rows: Sequence[LastNotification]) -> None:
        """Save notifications of channels, in place of earlier ones about the same incidents.

        Raises:
            StoreError: there is no such incident.
        """
        self._merge(_NOTIFIED, [_LAST.cells(row) for row in rows])

    def add_transitions(self, results: Iterable[tuple[int, Changed]], recorded_at: datetime) -> None:
        """Write down what was changed, beside the change itself."""
        self._insert(
            _TRANSITION,
            [
                {"incident_id": number, "change": change, "recorded_at": recorded_at, "not_before_at": AT_ONCE}
                for number, change in results
            ],
        )

    def _set_waiting(self, ids: Iterable[int], new: Mapping[str, Any]) -> set[int]:
        batch = any_of(self._connection, ids, "transition_number")
        changed = update(_TRANSITION).where(_TRANSITION.c.id.in_(batch), _TRANSITION.c.settled_at.is_(None))
        return set(self._connection.scalars(changed.values(new).returning(_TRANSITION.c.id)))


class WarningReader(Repository):
    """Queries about warnings."""

    def lasting(self, check_ids: Iterable[str] | None = None) -> Mapping[str, WarningSpell]:
        """Return the warnings that last, all or those of some checks and their segments, by series."""
        lasting = _warnings().where(_WARNING.c.ended_at.is_(None))
        if check_ids is not None:
            lasting = lasting.where(_WARNING.c.check_id.in_(any_of(self._connection, check_ids, "check_id")))
        return {spell.series: spell for spell in self._read(lasting)}

    def get_many(self, ids: Iterable[int]) -> Mapping[int, WarningSpell]:
        """Return warnings by id; those that are gone are left out."""
        statement = _warnings().where(_WARNING.c.id.in_(any_of(self._connection, ids, "warning_number")))
        return {spell.id: spell for spell in self._read(statement)}

    def _read(self, statement: Select[Any]) -> list[WarningSpell]:
        return _SPELLS.values(self._connection.execute(statement))


class WarningWriter(WarningReader):
    """Statements that write warnings."""

    def save(self, spell: WarningSpell, recorded_at: datetime) -> WarningSpell:
        """Start, continue or end a warning, and return it; a start and an end are written into the outbox.

        Raises:
            StoreError: its series has a warning already that lasts.
        """
        cells = _SPELLS.cells(spell)
        del cells["id"]
        if spell.id == 0:
            number = self._connection.execute(insert(_WARNING).values(cells).returning(_WARNING.c.id)).scalar_one()
            self._announce(number, Changed.OPENED, recorded_at)
            return replace(spell, id=number)
        lasting = update(_WARNING).where(_WARNING.c.id == spell.id, _WARNING.c.ended_at.is_(None))
        is_changed = self._connection.execute(lasting.values(cells)).rowcount
        if is_changed and spell.ended_at is not None:
            self._announce(spell.id, Changed.RESOLVED, recorded_at)
        return spell

    def set_back(self, now: datetime) -> None:
        """Set the ends of warnings that lie in the future to the present, since the clock was set back.

        `began_at` stays: with the series it identifies a warning in the messages about it.
        """
        for time in ("passing_since", "ended_at"):
            self._connection.execute(update(_WARNING).where(_WARNING.c[time] > now).values({time: now}))

    def _announce(self, number: int, change: Changed, recorded_at: datetime) -> None:
        row = {"warning_id": number, "change": change, "recorded_at": recorded_at, "not_before_at": AT_ONCE}
        self._insert(_TRANSITION, [row])


def _warnings() -> Select[Any]:
    return select(*_SPELLS.columns)
