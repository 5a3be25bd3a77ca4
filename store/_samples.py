"""Read the measurements of a check for a page: bounded, however often the check runs."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, case, func, select, type_coerce

from checks import Status
from incidents import from_us, to_us
from store._columns import WHOLE
from store._measurements import in_series, result_of, with_run_ids
from store._repository import given
from store._rows import MeasurementRow, SeriesRow
from store._values import CheckRunTime, Result, Sample

_M: Final = MeasurementRow.__table__.c
_S: Final = SeriesRow.__table__.c
_AT: Final = type_coerce(_M.measured_at, WHOLE)
_WORST_FIRST: Final = (Status.FAIL, Status.WARN, Status.UNKNOWN)


def sampled(connection: Connection, check_id: str, since: datetime, until: datetime, *, points: int) -> list[Sample]:
    """Return what a check found in `[since, until)`, oldest first: one sample for each of so many equal times."""
    start, length = to_us(since), to_us(until) - to_us(since)
    part = ((_AT - start) * points).op("/")(length)  # whole numbers: both databases drop the rest
    worst = [func.max(case((_M.status == status, _M.id))) for status in _WORST_FIRST]
    counts = [func.sum(case((_M.status == status, 1), else_=0)).label(status.value) for status in Status]
    grouped = (
        select(func.coalesce(*worst, func.max(_M.id)).label("id"), *counts)
        .where(in_series(check_id), _M.measured_at >= since, _M.measured_at < until)
        .group_by(part)
    )
    by_id = {row.id: row for row in connection.execute(grouped)}
    results = connection.execute(with_run_ids().where(_M.id.in_(list(by_id))).order_by(_M.measured_at, _M.id))
    return [_sample(row, by_id[row.id]) for row in results]


def _sample(row: Any, row_counts: Any) -> Sample:
    counts = {status: getattr(row_counts, status.value) for status in Status if getattr(row_counts, status.value)}
    return Sample(result_of(row), sum(counts.values()), counts)


def segments_of(connection: Connection, check_id: str, at: datetime | None) -> list[Result]:
    """Return what a run of a check measured in each followed segment, in their order: its newest run, or by `at`."""
    by_then = [] if at is None else [_M.measured_at <= at]
    runs = select(_M.run).where(in_series(check_id), *by_then)
    last_run = runs.order_by(_M.measured_at.desc(), _M.id.desc()).limit(1).scalar_subquery()
    statement = with_run_ids().where(_M.run == last_run, _S.check_id.startswith(f"{check_id}[", autoescape=True))
    return [result_of(row) for row in connection.execute(statement.order_by(_M.id))]


def around(connection: Connection, check_id: str, at: datetime, *, before: int, after: int) -> list[Result]:
    """Return the last results of a check before a moment and the first from it on, in order."""
    of_check = with_run_ids().where(in_series(check_id))
    last = of_check.where(_M.measured_at < at).order_by(_M.measured_at.desc(), _M.id.desc()).limit(before)
    first = of_check.where(_M.measured_at >= at).order_by(_M.measured_at, _M.id).limit(after)
    earlier = [result_of(row) for row in connection.execute(last)]
    return [*earlier[::-1], *(result_of(row) for row in connection.execute(first))]


def paces(connection: Connection, check_ids: Iterable[str], *, last: int) -> dict[str, CheckRunTime]:
    """Return how long the last runs of checks took, by check id; those that never ran are left out."""
    keys = given(connection, ((check_id,) for check_id in check_ids), ["check_id"])
    newest = (
        select(_M.id)
        .where(in_series(keys.c.check_id))
        .order_by(_M.measured_at.desc(), _M.id.desc())
        .limit(last)
        .correlate(keys)
    )
    row = MeasurementRow.__table__.alias("row")
    figures = (
        select(
            keys.c.check_id,
            func.count(),
            func.sum(type_coerce(row.c.duration_s, WHOLE)),
            func.min(type_coerce(row.c.measured_at, WHOLE)),
            func.max(type_coerce(row.c.measured_at, WHOLE)),
        )
        .join_from(keys, row, row.c.id.in_(newest))
        .group_by(keys.c.check_id)
    )
    return {
        check_id: CheckRunTime(n, float(duration) / 1_000_000, from_us(first), from_us(end))
        for check_id, n, duration, first, end in connection.execute(figures)
    }
