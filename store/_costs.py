"""Read what runs cost: by source and day, by table, and what the next run of a table is expected to cost."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import func, select

from checks import ReadVolume, Status
from store._repository import Repository, given
from store._rows import DailyCostRow, MeasurementRow, RunRow
from store._values import Spending

_C: Final = DailyCostRow.__table__.c
_R: Final = RunRow.__table__.c
_M: Final = MeasurementRow.__table__.c
_FIGURES: Final = (_C.runs, _C.cost_us, _C.rows_read, _C.bytes_read)


class CostReader(Repository):
    """Queries about costs."""

    def of_source(self, source: str, day: date) -> Spending:
        """Return what the runs on a source cost on a day."""
        sums = [func.sum(column) for column in _FIGURES]
        is_any = (_C.day == day.isoformat(), _C.source == source)
        row = self._connection.execute(select(*sums).where(*is_any)).one()
        return Spending() if row[0] is None else _spending(row)

    def by_table(self, first: date, last: date) -> dict[tuple[str, str], Spending]:
        """Return what runs cost from a day to another, both included, by source and table."""
        days = (_C.day >= first.isoformat(), _C.day <= last.isoformat())
        results: dict[tuple[str, str], Spending] = {}
        for source, table, *figures in self._connection.execute(
            select(_C.source, _C.table_name, *_FIGURES).where(*days)
        ):
            results[source, table] = results.get((source, table), Spending()) + _spending(figures)
        return results

    def of_table(self, table: str, first: date, last: date) -> dict[date, Spending]:
        """Return what the runs of a table cost on each day from a day to another that had one."""
        conditions = (_C.table_name == table, _C.day >= first.isoformat(), _C.day <= last.isoformat())
        results: dict[date, Spending] = {}
        for day, *figures in self._connection.execute(select(_C.day, *_FIGURES).where(*conditions).order_by(_C.day)):
            key = date.fromisoformat(day)
            results[key] = results.get(key, Spending()) + _spending(figures)
        return results

    def unread_since(self, table: str) -> datetime | None:
        """Return when the last run that read a table began, if its newest run evaluated checks without reading it."""
        runs = select(_R.number, _R.cost_us).where(_R.table_name == table).order_by(_R.number.desc()).limit(1)
        newest = self._connection.execute(runs).first()
        if newest is None or newest.cost_us is not None:
            return None
        evaluated = select(_M.id).where(_M.run == newest.number, _M.status != Status.UNKNOWN).limit(1)
        if self._connection.scalar(evaluated) is None:
            return None
        read = select(_R.started_at).where(_R.table_name == table, _R.cost_us.is_not(None))
        moment: datetime | None = self._connection.scalar(read.order_by(_R.number.desc()).limit(1))
        return moment

    def expected(self, tables: Iterable[str]) -> dict[str, Spending]:
        """Return what a run of each table is expected to cost: the mean of its newest day; none that never ran."""
        keys = given(self._connection, ((table,) for table in tables), ["table_name"])
        newest = (
            select(_C.day)
            .where(_C.table_name == keys.c.table_name)
            .order_by(_C.day.desc())
            .limit(1)
            .correlate(keys)
            .scalar_subquery()
        )
        rows = select(_C.table_name, *_FIGURES).join_from(
            keys, DailyCostRow.__table__, (_C.table_name == keys.c.table_name) & (_C.day == newest)
        )
        results: dict[str, Spending] = {}
        for table, *figures in self._connection.execute(rows):
            results[table] = results.get(table, Spending()) + _spending(figures)
        return {table: _mean(spending) for table, spending in results.items()}


def _spending(row: Any) -> Spending:
    runs, cost_us, rows, read = row
    return Spending(int(runs), int(cost_us) / 1_000_000, ReadVolume(_whole(rows), _whole(read)))


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)


def _mean(spending: Spending) -> Spending:
    """Return the mean of runs, rounded up."""

    def part(number: int | None) -> int | None:
        return None if number is None else -(-number // spending.runs)

    volume = spending.volume
    mean = ReadVolume(part(volume.rows), part(volume.bytes))
    return Spending(1, spending.seconds / spending.runs, mean)
