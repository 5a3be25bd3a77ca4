"""Write in the store, inside one transaction that nobody else writes in."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import bindparam, delete, func, insert, select, text

from incidents import Change, Gap, Incident, Opened, State, Watch
from store import _incidents
from store._class_counts import ClassCountBook
from store._columns import columns_of
from store._daemons import DaemonBook
from store._deliveries import DeliveryBook
from store._errors import StoreConflict, StoreError
from store._given import any_of, given
from store._histories import Folded, History, fold
from store._ledger_book import LedgerBook
from store._measurements import message_as_json
from store._outbox import OutboxBook
from store._past_rows import insert_past, past_rows
from store._releases import ReleaseBook
from store._retention import Pruned, prune
from store._rows import (
    CheckStateRow,
    EpisodeRow,
    GapRow,
    IncidentEventRow,
    IncidentRow,
    MeasurementRow,
    ProjectRow,
    RunRow,
)
from store._silences import SilenceBook
from store._slots import SlotBook
from store._values import Result, Run
from store._view import View

_PROJECT: Final = ProjectRow.__table__
_RUN: Final = RunRow.__table__
_MEASUREMENT: Final = MeasurementRow.__table__
_STATE: Final = CheckStateRow.__table__
_INCIDENT: Final = IncidentRow.__table__
_EPISODE: Final = EpisodeRow.__table__
_EVENT: Final = IncidentEventRow.__table__
_GAP: Final = GapRow.__table__

_PROLONG: Final = _GAP.update().where(_GAP.c.id == bindparam("gap")).values(ended_at=bindparam("until"))


class Book(SlotBook, DaemonBook, OutboxBook, DeliveryBook, SilenceBook, ClassCountBook, ReleaseBook, LedgerBook, View):
    """What can be written; everything that a view shows can be asked too, and shows what was written before."""

    def name_project(self, name: str) -> None:
        """Report whose store this is, in place of what was said before."""
        self._connection.execute(delete(_PROJECT))
        self._connection.execute(insert(_PROJECT).values(id=1, name=name))

    def add_runs(self, runs: Sequence[Run], results: Sequence[Result]) -> None:
        """Remember runs and what their checks found. Every result belongs to one of these runs.

        `observed` and `message` hold what a check put there, numbers and names: nothing of them is looked at here.

        Raises:
            StoreConflict: a run with this id is there already.
            RowRefused: a value that cannot be kept.
            StoreError: a result of none of these runs.
        """
        if strays := {result.run_id for result in results} - {run.id for run in runs}:
            raise StoreError(f"results of {len(strays)} runs came without their runs; give both together")
        first = (self._connection.scalar(select(func.max(_RUN.c.number))) or 0) + 1
        numbers = {run.id: number for number, run in enumerate(runs, start=first)}
        self._insert(_RUN, [_run_row(run, numbers[run.id]) for run in runs])
        self._insert(_MEASUREMENT, [_result_row(result, numbers[result.run_id]) for result in results])

    def save_watches(self, watches: Sequence[Watch]) -> None:
        """Remember what is known of checks between two runs, in place of what was known before."""
        if not watches:
            return
        statement = self._upsert(_STATE)
        new = {column.key: statement.excluded[column.key] for column in _STATE.c if not column.primary_key}
        rows = [{field.name: getattr(watch, field.name) for field in fields(watch)} for watch in watches]
        self._connection.execute(statement.on_conflict_do_update(index_elements=[_STATE.c.check_id], set_=new), rows)

    def forget_watches(self, check_ids: Iterable[str]) -> None:
        """Forget what is known of checks that are no longer run; their history stays."""
        self._connection.execute(
            delete(_STATE).where(_STATE.c.check_id.in_(any_of(self._connection, check_ids, "check_id")))
        )

    def open_incident(self, opened: Opened, *, recorded_at: datetime, actor: str) -> Incident:
        """Write down a new incident, and that somebody may have to hear of it; give it with its number.

        Raises:
            StoreConflict: an incident of this fingerprint is open already.
        """
        return self.add_histories([History([opened], recorded_at, actor)], announce=True)[0]

    def add_histories(self, histories: Sequence[History], *, announce: bool = False) -> list[Incident]:
        """Write down whole incidents at once, as an import does; much faster than one by one.

        Nobody hears of them unless they are to be announced.

        Raises:
            StoreConflict: two of them, or one and one that is there, are open with the same fingerprint.
            incidents.BrokenHistory: changes that do not begin with `Opened`.
        """
        first = self._next_incident_number(len(histories))
        return self._add_folded(list(enumerate(histories, start=first)), announce=announce)

    def add_past(self, histories: Sequence[History]) -> range:
        """Write whole incidents of the past, of which nobody hears, as `add_histories` writes them; return their ids.

        Much faster than that where an incident was only opened, or opened and resolved.

        Raises:
            StoreConflict, incidents.BrokenHistory: as `add_histories`.
        """
        first = self._next_incident_number(len(histories))
        numbered = list(enumerate(histories, start=first))
        pairs = [(past_rows(number, history), (number, history)) for number, history in numbered]
        rows = [row for row, _ in pairs if row is not None]
        self._refuse_open_fingerprints([row.fingerprint for row in rows if row.is_open])
        insert_past(self._connection, rows)
        self._add_folded([one for row, one in pairs if row is None], announce=False)
        return range(first, first + len(histories))

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
        """Write down what happened to an incident and give it as it stands then.

        Beside it stands what somebody may have to hear of, unless it is not to be announced: imports never are.

        Raises:
            NotRecorded: there is no such incident. StoreConflict: it is no longer as given (somebody else changed it),
            or opening it again would make two open ones. incidents.BrokenHistory: a change that cannot follow.
        """
        if not changes:
            return incident
        stored = self.incident(incident.id)
        if _incidents.row_of(stored) != _incidents.row_of(incident) or stored.episodes != incident.episodes:
            raise StoreConflict(f"incident #{incident.id} was changed by somebody else meanwhile; look at it again")
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

    def add_gaps(self, gaps: Sequence[Gap]) -> None:
        """Remember unobserved time. What touches the newest gap of the same check and reason makes that one longer."""
        entries = self._newest_gaps({gap.check_id for gap in gaps})
        new: list[dict[str, Any]] = []
        longer: dict[int, dict[str, Any]] = {}
        for gap in sorted(gaps, key=lambda gap: gap.start):
            row = entries.get(gap.check_id)
            if row is not None and row["reason"] == gap.reason and row["started_at"] <= gap.start <= row["ended_at"]:
                row["ended_at"] = max(row["ended_at"], gap.end)
                if "id" in row:
                    longer[row["id"]] = row
            else:
                row = {
                    "check_id": gap.check_id,
                    "table_name": gap.table,
                    "started_at": gap.start,
                    "ended_at": gap.end,
                    "reason": gap.reason,
                }
                entries[gap.check_id] = row
                new.append(row)
        if longer:
            self._connection.execute(
                _PROLONG, [{"gap": row["id"], "until": row["ended_at"]} for row in longer.values()]
            )
        self._insert(_GAP, new)

    def prune(self, *, keep_measurements: timedelta, keep_incidents: timedelta, now: datetime) -> Pruned:
        """Forget a batch of what is older than it has to be kept; see `Store.prune`."""
        measured, incidents = now - keep_measurements, now - keep_incidents
        return prune(self._connection, measured_before=measured, incidents_before=incidents, now=now)

    def _announce(self, folded: Folded) -> None:
        self._add_transitions(((folded.incident.id, change) for change in folded.news), folded.recorded_at)

    def _next_incident_number(self, count: int) -> int:
        """Return the first of as many free numbers; a number that was used once is never used again."""
        if self._on_sqlite:
            return (
                int(self._connection.scalar(text("SELECT max(seq) FROM sqlite_sequence WHERE name = 'incident'")) or 0)
                + 1
            )
        taken = text("SELECT min(nextval(pg_get_serial_sequence('incident', 'id'))) FROM generate_series(1, :count)")
        return int(self._connection.scalar(taken, {"count": count}) or 0)

    def _refuse_open_twice(self, incidents: Sequence[Incident]) -> None:
        """Look before the index has to: a statement that fails would end the transaction on PostgreSQL."""
        self._refuse_open_fingerprints(
            [incident.fingerprint for incident in incidents if incident.state is not State.RESOLVED]
        )

    def _refuse_open_fingerprints(self, fingerprints: Sequence[str]) -> None:
        is_open = (
            _INCIDENT.c.fingerprint.in_(any_of(self._connection, fingerprints, "fingerprint")),
            _INCIDENT.c.state != State.RESOLVED,
        )
        rival = self._connection.scalar(select(func.min(_INCIDENT.c.id)).where(*is_open)) if fingerprints else None
        if rival is not None:
            raise StoreConflict(f"incident #{rival} is open already for the same check; a second one cannot be")
        if len(set(fingerprints)) < len(fingerprints):
            raise StoreConflict("two of these incidents are open for the same check; only one can be")

    def _replace_episodes(self, old: Incident, new: Incident) -> None:
        before = _incidents.episode_rows(old)
        after = _incidents.episode_rows(new)
        for was, row in zip(before, after, strict=False):
            if was != row:
                this_one = (_EPISODE.c.incident_id == row["incident_id"], _EPISODE.c.number == row["number"])
                self._connection.execute(_EPISODE.update().where(*this_one), row)
        self._insert(_EPISODE, after[len(before) :])

    def _newest_gaps(self, check_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        wanted = given(self._connection, ((check_id,) for check_id in check_ids), ["check_id"])
        of_check = (
            select(_GAP.c.id)
            .where(_GAP.c.check_id == wanted.c.check_id)
            .order_by(_GAP.c.started_at.desc(), _GAP.c.id.desc())
        )
        newest = select(of_check.limit(1).correlate(wanted).scalar_subquery()).select_from(wanted)
        rows = self._connection.execute(select(*columns_of(GapRow)).where(_GAP.c.id.in_(newest)))
        return {row["check_id"]: dict(row) for row in rows.mappings()}


def _run_row(run: Run, number: int) -> dict[str, Any]:
    return {
        "number": number,
        "id": run.id,
        "table_name": run.table,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    }


def _result_row(result: Result, run: int) -> dict[str, Any]:
    return {
        "run": run,
        "check_id": result.check_id,
        "table_name": result.table,
        "measured_at": result.measured_at,
        "status": result.status,
        "reason": result.reason,
        "observed": result.observed,
        "message": message_as_json(result.message),
        "duration_us": round(result.duration_s * 1_000_000),
    }
