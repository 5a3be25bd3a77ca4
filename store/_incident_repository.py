"""Read incidents and write what happens to them, inside a transaction."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import bindparam, func, literal_column, select, text

from checks.classes.arrays import np
from incidents import Change, Event, Incident, Opened, ReportedIncident, Spans, State, replay, to_us
from store import _incidents
from store._errors import StoreConflict
from store._incident_pages import IncidentPlace, IncidentSlice, read_slice
from store._incidents import Folded, History, fold
from store._outbox import OutboxWriter
from store._past_rows import insert_past, past_rows
from store._repository import Repository, any_of
from store._rows import EpisodeRow, IncidentEventRow, IncidentRow
from store._spans import read_spans, read_spans_of, shared_spans
from store._values import IncidentChange, IncidentFilter

_INCIDENT: Final = IncidentRow.__table__
_EPISODE: Final = EpisodeRow.__table__
_EVENT: Final = IncidentEventRow.__table__


class IncidentReader(Repository):
    """Incidents with their episodes and events; core values, never rows."""

    def latest(self, fingerprints: Iterable[str]) -> dict[str, Incident]:
        """Return of each fingerprint the incident that is open, else the one that ended last, in three statements."""
        return _incidents.latest(self._connection, fingerprints)

    def get(self, incident_id: int) -> Incident:
        """Return one incident.

        Raises:
            NotRecorded: there is none of that number.
        """
        return _incidents.load_one(self._connection, incident_id)

    def get_many(self, incident_ids: Iterable[int]) -> dict[int, Incident]:
        """Return many incidents by their numbers, in that order; those that are not there are left out."""
        return _incidents.load(self._connection, incident_ids)

    def matching(self, incident_filter: IncidentFilter = IncidentFilter()) -> list[Incident]:  # noqa: B008 - a frozen value
        """Return the incidents that a filter asks for, newest detection first."""
        return _incidents.matching(self._connection, incident_filter)

    def of_table(self, table: str, *, since: datetime, until: datetime, most: int) -> list[Incident]:
        """Return the newest incidents of a table that were detected in `[since, until)`, newest detection first."""
        detected = _INCIDENT.c.detected_at
        statement = select(_INCIDENT.c.id).where(_INCIDENT.c.table_name == table, detected >= since, detected < until)
        ids = self._connection.scalars(statement.order_by(detected.desc()).limit(most)).all()
        result = _incidents.load(self._connection, ids)
        return [result[number] for number in ids]

    def page(
        self,
        incident_filter: IncidentFilter,
        *,
        size: int,
        older_than: IncidentPlace | None = None,
        newer_than: IncidentPlace | None = None,
    ) -> IncidentSlice:
        """Return at most `size` incidents next to a place, the newest first; without a place the newest of all.

        A page of a filter that few incidents meet may be shorter and still go on; see `store._incident_pages`.
        """
        return read_slice(self._connection, incident_filter, size=size, older_than=older_than, newer_than=newer_than)

    def events(self, incident_id: int) -> list[Event]:
        """Return what happened to an incident, in the order of recording; empty when there is none of that number."""
        return _incidents.events(self._connection, incident_id)

    def version(self, incident_id: int) -> int:
        """Return how many events an incident has: what every change of it makes larger."""
        statement = select(func.count()).select_from(_EVENT).where(_EVENT.c.incident_id == incident_id)
        return self._connection.scalar(statement) or 0

    def last_change(self) -> int:
        """Return the number of the last change of any incident, 0 before the first."""
        return self._connection.scalar(select(func.max(_EVENT.c.id))) or 0

    def changes(self, *, after: int, limit: int) -> list[IncidentChange]:
        """Return the changes of incidents after a number, at most the last `limit` of them, in order."""
        last = (
            select(_EVENT.c.id, _EVENT.c.incident_id, _INCIDENT.c.table_name, _EVENT.c.kind)
            .join(_INCIDENT, _INCIDENT.c.id == _EVENT.c.incident_id)
            .where(_EVENT.c.id > after)
            .order_by(_EVENT.c.id.desc())
            .limit(limit)
        )
        return [IncidentChange(*row) for row in reversed(self._connection.execute(last).all())]

    def count_open(self) -> dict[tuple[str, str, str], int]:
        """Count the incidents that are not resolved, by state, severity and kind."""
        columns = (_INCIDENT.c.state, _INCIDENT.c.severity, _INCIDENT.c.kind)
        lasting = select(*columns, func.count()).where(
            _INCIDENT.c.state != literal_column("'resolved'")
        )  # has an index
        rows = self._connection.execute(lasting.group_by(*columns))
        return {(state.value, severity.value, kind.value): number for state, severity, kind, number in rows}

    def histories(self, incident_ids: Iterable[int]) -> dict[int, list[Event]]:
        """Return what happened to each of many incidents, in the order of recording, in one statement."""
        return _incidents.histories(self._connection, incident_ids)

    def spans(self, since_us: int, until_us: int) -> Spans:
        """Return all episodes, in columns, of every incident of which one touches a window.

        The bounds are microseconds since 1970 UTC. Made for a million of them. Episodes outside are given too, because
        occurrence and repair belong to a whole incident; clipped to the window they are nothing.
        """
        return read_spans(self._connection, since_us, until_us)

    def shared_spans(self, since_us: int) -> Spans:
        """Return all episodes of every incident that was not over before a moment, or some hours more; see `spans`.

        They are kept in memory until an incident changes, for pages that are read again and again.
        """
        return shared_spans(self._connection, since_us)

    def known_at(self, spans: Spans, moment: datetime) -> Spans:
        """Return the episodes of the same incidents as they were recorded up to a moment: what was known then.

        An incident that was recorded later is not included; one that was corrected, resolved or merged later is as it
        was before. Costs a replay of each incident that was recorded before and has changed since.
        """
        ids = np.unique(spans.incident)
        batch = any_of(self._connection, ids.tolist(), "incident_number")
        later = select(_EVENT.c.incident_id).where(_EVENT.c.incident_id.in_(batch), _EVENT.c.recorded_at > moment)
        changed = set(self._connection.scalars(later.distinct()))
        if not changed:
            return spans
        histories = _incidents.histories(self._connection, changed, until=moment)
        past = [replay(events) for _, events in sorted(histories.items())]
        roots = self.get_many({incident.root for incident in past if incident.root is not None})
        unchanged = spans.take(np.flatnonzero(~np.isin(spans.incident, sorted(changed))))
        return unchanged.joined(Spans.of(past, roots=roots))

    def spans_of(self, tables: Iterable[str], since_us: int) -> Spans:
        """Return all episodes, in columns, of the incidents of some tables that were not over before a moment.

        It reads the incidents of these tables only; what a window does not touch is nothing once it is clipped.
        """
        return read_spans_of(self._connection, tuple(tables), since_us)


class IncidentWriter(IncidentReader):
    """Incidents are opened and changed; each change that people may have to be notified of goes to the outbox."""

    def open(self, opened: Opened, *, recorded_at: datetime, actor: str) -> Incident:
        """Write a new incident and its transition; return it with its number.

        Raises:
            StoreConflict: an incident of this fingerprint is open already.
        """
        return self.add_histories([History([opened], recorded_at, actor)], announce=True)[0]

    def add_histories(self, histories: Sequence[History], *, announce: bool = False) -> list[Incident]:
        """Write down whole incidents at once, as an import does; much faster than one by one.

        No notification follows unless they are to be announced.

        Raises:
            StoreConflict: two of them, or one and one that is there, are open with the same fingerprint.
            incidents.BrokenHistory: changes that do not begin with `Opened`.
        """
        first = self._next_incident_number(len(histories))
        return self._add_folded(list(enumerate(histories, start=first)), announce=announce)

    def add_past(self, reported: Sequence[ReportedIncident], *, recorded_at: datetime, actor: str) -> range:
        """Write incidents of the past without notifications, as `add_histories` writes them; return their ids.

        Much faster than that: their rows are written without making and folding their changes. Their times must be in
        order (`ReportedIncident.check_order`).

        Raises:
            StoreConflict: as `add_histories`.
        """
        first, recorded_us = self._next_incident_number(len(reported)), to_us(recorded_at)
        pairs = [
            (past_rows(n, item, recorded_us=recorded_us, actor=actor), n, item)
            for n, item in enumerate(reported, first)
        ]
        rows = [row for row, _, _ in pairs if row is not None]
        self._refuse_open_fingerprints([row.fingerprint for row in rows if row.is_open])
        insert_past(self._connection, rows)
        others = [
            (number, History(item.changes(recorded_at), recorded_at, actor))
            for row, number, item in pairs
            if row is None
        ]
        self._add_folded(others, announce=False)
        return range(first, first + len(reported))

    def _add_folded(self, numbered: Sequence[tuple[int, History]], *, announce: bool) -> list[Incident]:
        folded = [fold(None, incident_id, history, first_number=0) for incident_id, history in numbered]
        incidents = [current_folded.incident for current_folded in folded]
        self._refuse_open_twice(incidents)
        self._insert(_INCIDENT, [_incidents.row_of(incident) for incident in incidents])
        self._insert(_EPISODE, [row for incident in incidents for row in _incidents.episode_rows(incident)])
        self._insert(_EVENT, [row for current_folded in folded for row in current_folded.rows])
        if announce:
            for current_folded in folded:
                self._announce(current_folded)
        return incidents

    def append(
        self,
        incident: Incident,
        changes: Sequence[Change],
        *,
        recorded_at: datetime,
        actor: str,
        announce: bool = True,
    ) -> Incident:
        """Write changes of an incident and return it with them.

        Its transitions are written too, unless it is not to be announced: imports never are.

        Raises:
            NotRecorded: there is no such incident. StoreConflict: it is no longer as given (changed meanwhile),
            or opening it again would make two open ones. incidents.BrokenHistory: a change that cannot follow.
        """
        if not changes:
            return incident
        stored = self.get(incident.id)
        if _incidents.row_of(stored) != _incidents.row_of(incident) or stored.episodes != incident.episodes:
            raise StoreConflict(f"incident #{incident.id} was changed concurrently; reload it")
        number = self._connection.scalar(select(func.max(_EVENT.c.number)).where(_EVENT.c.incident_id == incident.id))
        folded = fold(
            stored,
            incident.id,
            History(changes, recorded_at, actor),
            first_number=(-1 if number is None else number) + 1,
        )
        changed = folded.incident
        if stored.state is State.RESOLVED:
            self._refuse_open_twice([changed])
        self._connection.execute(_INCIDENT.update().where(_INCIDENT.c.id == incident.id), _incidents.row_of(changed))
        self._replace_episodes(stored, changed)
        self._insert(_EVENT, folded.rows)
        if announce:
            self._announce(folded)
        return changed

    def append_each(self, changes: Mapping[int, Change], *, recorded_at: datetime, actor: str) -> None:
        """Write one change of each of many incidents, which changes no episode and is not announced.

        Raises:
            StoreConflict: two would be open for the same check.
        """
        stored = self.get_many(changes)
        counts = select(_EVENT.c.incident_id, func.max(_EVENT.c.number)).group_by(_EVENT.c.incident_id)
        batch = any_of(self._connection, stored, "incident_number")
        rows = self._connection.execute(counts.where(_EVENT.c.incident_id.in_(batch)))
        last = {row[0]: row[1] for row in rows}
        folded = [
            fold(incident, number, History([changes[number]], recorded_at, actor), first_number=last[number] + 1)
            for number, incident in stored.items()
        ]
        self._refuse_open_twice([item.incident for item in folded])
        cells = [{**_incidents.row_of(item.incident), "changed_id": item.incident.id} for item in folded]
        if cells:
            self._connection.execute(_INCIDENT.update().where(_INCIDENT.c.id == bindparam("changed_id")), cells)
        self._insert(_EVENT, [row for item in folded for row in item.rows])

    def _announce(self, folded: Folded) -> None:
        OutboxWriter(self._connection).add_transitions(
            ((folded.incident.id, change) for change in folded.news), folded.recorded_at
        )

    def _next_incident_number(self, count: int) -> int:
        """Return the first of as many free numbers; a number that was used once is never used again."""
        if self._on_sqlite:
            return (
                int(self._connection.scalar(text("SELECT max(seq) FROM sqlite_sequence WHERE name = 'incident'")) or 0)
                + 1
            )
        query = text("SELECT min(nextval(pg_get_serial_sequence('incident', 'id'))) FROM generate_series(1, :count)")
        return int(self._connection.scalar(query, {"count": count}) or 0)

    def _refuse_open_twice(self, incidents: Sequence[Incident]) -> None:
        """Check before the index does: a statement that fails would end the transaction on PostgreSQL."""
        self._refuse_open_fingerprints(
            [incident.fingerprint for incident in incidents if incident.state is not State.RESOLVED]
        )

    def _refuse_open_fingerprints(self, fingerprints: Sequence[str]) -> None:
        is_open = (
            _INCIDENT.c.fingerprint.in_(any_of(self._connection, fingerprints, "fingerprint")),
            _INCIDENT.c.state != State.RESOLVED,
        )
        other = self._connection.scalar(select(func.min(_INCIDENT.c.id)).where(*is_open)) if fingerprints else None
        if other is not None:
            raise StoreConflict(f"incident #{other} is open already for the same check; a second one cannot be")
        if len(set(fingerprints)) < len(fingerprints):
            raise StoreConflict("two of these incidents are open for the same check; only one can be")

    def _replace_episodes(self, old: Incident, new: Incident) -> None:
        before = _incidents.episode_rows(old)
        after = _incidents.episode_rows(new)
        for was, row in zip(before, after, strict=False):
            if was != row:
                conditions = (_EPISODE.c.incident_id == row["incident_id"], _EPISODE.c.number == row["number"])
                self._connection.execute(_EPISODE.update().where(*conditions), row)
        self._insert(_EPISODE, after[len(before) :])
