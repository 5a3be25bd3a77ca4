"""Read what all runs of a check came to, for a replay: as columns, a million in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from itertools import chain
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, bindparam, case, select, type_coerce

from checks.classes.arrays import np
from incidents import ResultTrack, SegmentedRun
from incidents.result_tracks import STATUS_CODES
from store._columns import WHOLE
from store._measurements import CHECK_ID, in_any_series, in_series
from store._repository import any_of, batches
from store._rows import CheckStateRow, MeasurementRow, RunRow
from store._values import BACKFILL

_M: Final = MeasurementRow.__table__.c
_STATE: Final = CheckStateRow.__table__.c
_RUN: Final = RunRow.__table__.c
_AT: Final = type_coerce(_M.measured_at, WHOLE)
_NO_ROWS: Final = {"rows": 0}
"""What a check observes whose table has no rows, and so no segments."""
_CODE: Final = case({status: code for code, status in enumerate(STATUS_CODES)}, value=_M.status)


def track(connection: Connection, check_id: str, until: datetime) -> ResultTrack:
    """Return what the runs of a check before a moment came to, in the order in which they were decided on."""
    rows = connection.execute(_track(), {"check_id": check_id, "until": until})
    numbers = (np.fromiter(chain.from_iterable(part), dtype=np.int64) for part in batches(rows))
    columns = np.concatenate([np.empty(0, dtype=np.int64), *numbers]).reshape(-1, 3)
    places, at, ended = columns[np.argsort(columns[:, 0])].T
    return ResultTrack.of(at=at, ended=ended, status=places % len(STATUS_CODES))


@cache
def _track() -> Select[Any]:
    """Return the statement of `track`, which thousands of checks ask."""
    place = _M.id * len(STATUS_CODES) + _CODE  # a column less to read
    ended = type_coerce(_RUN.ended_at, WHOLE)
    return _decided(bindparam("check_id"), bindparam("until"), place, _AT, ended)


def observations(connection: Connection, check_id: str, until: datetime) -> Mapping[int, Mapping[str, Any]]:
    """Return what the runs of a check before a moment observed, by their times in microseconds."""
    return {row[0]: row[1] for row in connection.execute(_decided(check_id, until, _AT, _M.observed))}


def _decided(check_id: Any, until: Any, *columns: ColumnElement[Any]) -> Select[Any]:
    """Return a SELECT of the results on which it was decided: those of backfills are not among them."""
    runs = MeasurementRow.__table__.join(RunRow.__table__, _RUN.number == _M.run)
    conditions = (in_series(check_id), _M.measured_at < until, _RUN.id.not_like(f"{BACKFILL}%"))
    return select(*columns).select_from(runs).where(*conditions)


def segmented_runs(connection: Connection, check_id: str, until: datetime) -> list[SegmentedRun]:
    """Return what the runs of a check before a moment came to whose segments are judged one by one, in order."""
    series = connection.scalars(
        select(_STATE.check_id).where(_STATE.check_id.startswith(f"{check_id}[", autoescape=True))
    )
    names = any_of(connection, series.all(), "check_id")
    conditions = (in_any_series(lambda segment: segment.in_(names)), _M.measured_at < until)
    of_segments = select(_M.run, CHECK_ID, _CODE).where(*conditions)
    followed: dict[int, dict[str, int]] = {}
    for run, series, code in connection.execute(of_segments):
        followed.setdefault(run, {})[series] = code
    columns = (_M.id, _M.run, _AT, type_coerce(_RUN.ended_at, WHOLE), _CODE, _M.observed)
    rows = sorted(connection.execute(_decided(check_id, until, *columns)), key=lambda row: row[0])
    return [
        SegmentedRun(
            at,
            ended,
            code,
            segments=0 if observed == _NO_ROWS else observed.get("segments"),
            failing=observed.get("failing", 0),
            unknown=observed.get("unknown", 0),
            followed=followed.get(run, {}),
        )
        for _, run, at, ended, code, observed in rows
    ]
