"""Read and write runs with their results, the state of checks between runs, and unobserved time."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Column, and_, bindparam, delete, func, not_, select, type_coerce

from checks import Earlier, PastMeasurement, Status
from incidents import Gap, Watch
from store import _measurements, _samples
from store._columns import WHOLE, Mapped
from store._errors import StoreError
from store._measurements import RESULTS
from store._repository import Repository, any_of, given
from store._rows import CheckStateRow, DailyCostRow, GapRow, MeasurementRow, MessageTextRow, RunRow, SeriesRow
from store._values import BACKFILL, CheckRunTime, Result, Run, RunCost, Sample

if TYPE_CHECKING:
    from incidents import ResultTrack, SegmentedRun

_RUN: Final = RunRow.__table__
_MEASUREMENT: Final = MeasurementRow.__table__
_SERIES: Final = SeriesRow.__table__
_TEXT: Final = MessageTextRow.__table__
_STATE: Final = CheckStateRow.__table__
_GAP: Final = GapRow.__table__
_DAILY_COST: Final = DailyCostRow.__table__
_RUNS: Final = Mapped(RunRow, Run)
_WATCHES: Final = Mapped(CheckStateRow, Watch)
_GAPS: Final = Mapped(GapRow, Gap, start="started_at", end="ended_at")

_PROLONG: Final = _GAP.update().where(_GAP.c.id == bindparam("gap")).values(ended_at=bindparam("until"))


class ResultReader(Repository):
    """Queries about measurements, run by run, and about unobserved time."""

    def watches(self, check_ids: Iterable[str] | None = None) -> dict[str, Watch]:
        """Return what is known of checks that ran, by check id; None asks for all of them.

        Segments that are judged for themselves are given only where their series are named.
        """
        condition = (
            _measurements.of_checks(_STATE.c.check_id)
            if check_ids is None
            else _STATE.c.check_id.in_(any_of(self._connection, check_ids, "check_id"))
        )
        rows = self._connection.execute(select(*_WATCHES.columns).where(condition))
        return {watch.check_id: watch for watch in _WATCHES.values(rows)}

    def watches_after(self, moment: datetime) -> Sequence[Watch]:
        """Return what is known of checks, and segments that are judged for themselves, that ran after a moment."""
        statement = select(*_WATCHES.columns).where(_STATE.c.last_run_at > moment)
        return _WATCHES.values(self._connection.execute(statement))

    def latest(self, check_ids: Iterable[str] | None = None) -> dict[str, Result]:
        """Return the newest measurement of each check; None asks for every check that has one."""
        return _measurements.latest_results(self._connection, check_ids)

    def segments_of(self, check_id: str, at: datetime | None = None) -> Sequence[Result]:
        """Return what a run of a check measured in each segment that it follows; their ids are the series.

        The run is the newest, or the last that measured at a moment or before.
        """
        return _samples.segments_of(self._connection, check_id, at)

    def earlier(self, check_id: str, at: datetime, current_earlier: Earlier) -> Sequence[PastMeasurement]:
        """Return the earlier measurements that a check, measured at a time, wants to see; see `earlier_many`."""
        return self.earlier_many({check_id: (at, current_earlier)})[check_id]

    def earlier_many(self, queries: Mapping[str, tuple[datetime, Earlier]]) -> dict[str, Sequence[PastMeasurement]]:
        """Return for each check, measured at a time, the earlier measurements it wants to see.

        For each age the evaluated measurement (pass, warn or fail) nearest to that age, if one is near enough, with
        `age` set. If it asks for the accepted one: the newest that passed or warned, or was the first look at columns,
        or was then resolved as expected. If it asks for a span: all of that span, one an hour, with `in_span` set.
        """
        return _measurements.earlier_many(self._connection, queries)

    def pooled(self, since: datetime, until: datetime, *, most: int) -> dict[str, Sequence[PastMeasurement]]:
        """Return the measurements in `[since, until)` of the checks that learn together, at most so many of the newest.

        Those inside incidents are passed over or marked as `earlier_many` does.
        """
        counts = _measurements.pooled_counts(self._connection, since, until)
        share = min(1.0, most / max(1, sum(counts.values())))
        earlier = Earlier(span=(until - since) * share)
        return self.earlier_many(dict.fromkeys(counts, (until, earlier)))

    def last_statuses(self, check_ids: Iterable[str] | None = None) -> list[tuple[str, str, int]]:
        """Return of checks that ran the id, the last status (as `Watch` has it) and when they ran (microseconds)."""
        columns = (_STATE.c.check_id, _STATE.c.last_status, type_coerce(_STATE.c.last_run_at, WHOLE))
        statement = select(*columns)
        if check_ids is not None:
            statement = statement.where(_STATE.c.check_id.in_(any_of(self._connection, check_ids, "check_id")))
        return [tuple(row) for row in self._connection.execute(statement)]

    def sampled(self, check_id: str, since: datetime, until: datetime, *, points: int) -> list[Sample]:
        """Return what a check found in `[since, until)`, oldest first, in at most so many points; see `Sample`."""
        return _samples.sampled(self._connection, check_id, since, until, points=points)

    def around(self, check_id: str, at: datetime, *, before: int, after: int) -> list[Result]:
        """Return the last results of a check before a moment and the first from it on, at most so many, in order."""
        return _samples.around(self._connection, check_id, at, before=before, after=after)

    def paces(self, check_ids: Iterable[str], *, last: int) -> dict[str, CheckRunTime]:
        """Return how long the last runs of checks took, by check id; those that never ran are left out."""
        return _samples.paces(self._connection, check_ids, last=last)

    def moments(
        self, check_ids: Iterable[str], since: datetime, until: datetime
    ) -> dict[str, list[tuple[datetime, bool]]]:
        """Return when checks were measured in `[since, until)`, oldest first, and whether a backfill did."""
        statement = (
            select(_SERIES.c.check_id, _MEASUREMENT.c.measured_at, _RUN.c.id)
            .join_from(_SERIES, _MEASUREMENT, _MEASUREMENT.c.series == _SERIES.c.id)
            .join(_RUN, _RUN.c.number == _MEASUREMENT.c.run)
            .where(
                _SERIES.c.check_id.in_(any_of(self._connection, check_ids, "check_id")),
                _MEASUREMENT.c.measured_at >= since,
                _MEASUREMENT.c.measured_at < until,
            )
            .order_by(_MEASUREMENT.c.measured_at)
        )
        moments: dict[str, list[tuple[datetime, bool]]] = {}
        for check_id, measured_at, run_id in self._connection.execute(statement):
            moments.setdefault(check_id, []).append((measured_at, run_id.startswith(BACKFILL)))
        return moments

    def track(self, check_id: str, until: datetime) -> "ResultTrack":
        """Return what the runs of a check before a moment came to; those of backfills are left out."""
        from store import _tracks  # only for replays

        return _tracks.track(self._connection, check_id, until)

    def observations(self, check_id: str, until: datetime) -> Mapping[int, Mapping[str, Any]]:
        """Return what the runs of a check before a moment observed, by their times in microseconds."""
        from store import _tracks  # only for replays

        return _tracks.observations(self._connection, check_id, until)

    def segmented_runs(self, check_id: str, until: datetime) -> "Sequence[SegmentedRun]":
        """Return what the runs of a check came to whose segments are judged one by one; those of backfills are not."""
        from store import _tracks  # only for replays

        return _tracks.segmented_runs(self._connection, check_id, until)

    def gaps(self, since: datetime, until: datetime, check_ids: Iterable[str] | None = None) -> list[Gap]:
        """Return the unobserved times that touch `[since, until)`, unclipped, by check and start; all, or of some."""
        statement = select(*_GAPS.columns).where(_GAP.c.ended_at > since, _GAP.c.started_at < until)
        if check_ids is not None:
            statement = statement.where(_GAP.c.check_id.in_(any_of(self._connection, check_ids, "check_id")))
        rows = self._connection.execute(statement.order_by(_GAP.c.check_id, _GAP.c.started_at))
        return _GAPS.values(rows)

    def runs_between(self, since: datetime, until: datetime, *, most: int) -> list[tuple[Run, list[Result]]]:
        """Return the runs that ended in `[since, until)`, at most so many of the newest, oldest first, with results."""
        runs = (
            select(*_RUNS.columns, _RUN.c.number)
            .where(_RUN.c.ended_at >= since, _RUN.c.ended_at < until)
            .order_by(_RUN.c.ended_at.desc(), _RUN.c.number.desc())
            .limit(most)
        )
        rows = list(reversed(self._connection.execute(runs).all()))
        results = _measurements.results_of_runs(self._connection, [row.number for row in rows])
        return [(_RUNS.value(row), results.get(row.number, [])) for row in rows]

    def known_runs(self, run_ids: Iterable[str]) -> set[str]:
        """Return which of some runs are remembered, by their ids."""
        statement = select(_RUN.c.id).where(_RUN.c.id.in_(any_of(self._connection, run_ids, "id")))
        return set(self._connection.scalars(statement))

    def count_by_status(
        self, since: datetime, until: datetime, tables: Iterable[str] | None = None
    ) -> dict[Status, int]:
        """Count what checks found in the runs that began in `[since, until)`, by status; none that is 0.

        `tables`: in the runs of these alone.
        """
        # asked for those that are of checks, SQLite would begin with all results of each
        of_checks = not_(_measurements.in_any_series(_measurements.of_segments))
        statement = (
            select(_MEASUREMENT.c.status, func.count())
            .join_from(_RUN, _MEASUREMENT, _MEASUREMENT.c.run == _RUN.c.number)
            .where(self._began(since, until, tables), of_checks)
            .group_by(_MEASUREMENT.c.status)
        )
        return {Status(status): number for status, number in self._connection.execute(statement)}

    def any_evaluated(self, since: datetime, until: datetime, tables: Iterable[str] | None = None) -> bool:
        """Check whether any check could be evaluated in a run that began in `[since, until)`, or in one of `tables`."""
        statement = (
            select(_MEASUREMENT.c.id)
            .join_from(_RUN, _MEASUREMENT, _MEASUREMENT.c.run == _RUN.c.number)
            .where(self._began(since, until, tables), _MEASUREMENT.c.status != Status.UNKNOWN)
            .limit(1)
        )
        return self._connection.scalar(statement) is not None

    def _began(self, since: datetime, until: datetime, tables: Iterable[str] | None) -> Any:
        """Return the condition on the runs that began in a time, of some tables or all."""
        in_time = and_(_RUN.c.started_at >= since, _RUN.c.started_at < until)
        if tables is None:
            return in_time
        return and_(in_time, _RUN.c.table_name.in_(any_of(self._connection, tables, "table_name")))


class ResultWriter(ResultReader):
    """Runs are added; what is known of checks between two runs is replaced."""

    def add_runs(self, runs: Sequence[Run], results: Sequence[Result]) -> None:
        """Save runs and the measurements of their checks. Every result belongs to one of these runs.

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
        self._insert(_RUN, [_RUNS.cells(run, number=numbers[run.id], **_cost_cells(run.cost)) for run in runs])
        costs = [_cost_row(run.table, run.cost) for run in runs if run.cost is not None]
        self._merge(_DAILY_COST, costs, added=("runs", *_COST))
        series = self._numbers(_SERIES.c.check_id, {item.check_id: {"table_name": item.table} for item in results})
        messages = [_measurements.kept_message(result.message) for result in results]
        texts = self._numbers(_TEXT.c.body, {body: {} for body, _ in messages})
        rows = [
            RESULTS.cells(
                result,
                run=numbers[result.run_id],
                series=series[result.check_id],
                text=texts[body],
                message_values=values,
            )
            for result, (body, values) in zip(results, messages, strict=True)
        ]
        self._insert(_MEASUREMENT, rows)

    def _numbers(self, name: Column[str], rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, int]:
        """Return the number of each row of a table by its name; one that is not there is added."""
        if not rows:
            return {}
        numbered = select(name, name.table.c.id).where(name.in_(any_of(self._connection, rows, "name")))
        known = {row[0]: row[1] for row in self._connection.execute(numbered)}
        if new := rows.keys() - known.keys():
            statement = self._upsert(name.table).on_conflict_do_nothing(index_elements=[name])
            self._connection.execute(statement, [{name.key: text, **rows[text]} for text in sorted(new)])
            known = {row[0]: row[1] for row in self._connection.execute(numbered)}
        return known

    def save_watches(self, watches: Sequence[Watch]) -> None:
        """Save the state of checks between two runs, in place of the earlier one."""
        self._merge(_STATE, [_WATCHES.cells(watch) for watch in watches])

    def forget_checks(self, check_ids: Iterable[str]) -> None:
        """Delete the state of checks, or segments, between two runs; their measurements stay.

        A check that is configured again starts without state: how its table was in between is unknown.
        """
        self._connection.execute(
            delete(_STATE).where(_STATE.c.check_id.in_(any_of(self._connection, check_ids, "check_id")))
        )

    def add_gaps(self, gaps: Sequence[Gap]) -> None:
        """Save unobserved time. A gap that touches the newest one of the same check and reason extends it."""
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
                entries[gap.check_id] = row = _GAPS.cells(gap)
                new.append(row)
        if longer:
            self._connection.execute(
                _PROLONG, [{"gap": row["id"], "until": row["ended_at"]} for row in longer.values()]
            )
        self._insert(_GAP, new)

    def _newest_gaps(self, check_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        keys = given(self._connection, ((check_id,) for check_id in check_ids), ["check_id"])
        of_check = (
            select(_GAP.c.id)
            .where(_GAP.c.check_id == keys.c.check_id)
            .order_by(_GAP.c.started_at.desc(), _GAP.c.id.desc())
        )
        newest = select(of_check.limit(1).correlate(keys).scalar_subquery()).select_from(keys)
        rows = self._connection.execute(select(*_GAPS.columns, _GAP.c.id).where(_GAP.c.id.in_(newest)))
        return {row.check_id: _GAPS.cells(_GAPS.value(row), id=row.id) for row in rows}


def _cost_row(table: str, cost: RunCost) -> dict[str, Any]:
    return {
        "day": cost.day.isoformat(),
        "source": cost.source,
        "table_name": table,
        "runs": 1,
        **_cost_cells(cost),
    }


def _cost_cells(cost: RunCost | None) -> dict[str, Any]:
    if cost is None:
        return dict.fromkeys(_COST)
    return dict(zip(_COST, (round(cost.seconds * 1_000_000), cost.volume.rows, cost.volume.bytes), strict=True))


_COST: Final = ("cost_us", "rows_read", "bytes_read")
