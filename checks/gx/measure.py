"""Measure one of our own checks on whatever holds the table, so that an expectation gives the verdict of its check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import pandas as pd

from checks._contract import Check, Context, Measurement, Misconfigured, Wants
from checks._instants import latest_local_time
from checks.classes.tables import ClassTables
from sources.expressions import ibis, ir

BATCH = "tablewatch_batch"
"""The name of the table in compiled text, for runners that put a subquery in its place."""

_DIALECTS: Final = {"sqlite": "sqlite", "postgresql": "postgres"}


def dialect_of(database: str) -> str:
    """Return our name of a database of which Great Expectations has a batch.

    Raises:
        Misconfigured: none of our expectations works there.
    """
    if database not in _DIALECTS:
        text = " or ".join(_DIALECTS)
        raise Misconfigured(
            f"a batch of {database} is not supported; expected one of {text}, or a data frame of its rows"
        )
    return _DIALECTS[database]


def measure(
    check: Check,
    table: ir.Table,
    run: Callable[[str], Sequence[Mapping[str, Any]]],
    *,
    dialect: str,
    now: datetime,
) -> Measurement:
    """Measure what a check wants of a table: each statement is compiled for the dialect and run as text.

    Raises:
        Misconfigured: the check does not fit the table.
    """

    def at(shift: timedelta, zone: str | None) -> ir.TimestampValue:
        moment = (now + shift).astimezone(UTC)
        if zone is not None:
            return ibis.literal(latest_local_time(moment, ZoneInfo(zone)))
        return ibis.literal(moment.replace(tzinfo=None) if dialect == "sqlite" else moment)

    context = Context(table, dialect, at)
    asking = _Asking(context, lambda expression: run(str(ibis.to_sql(expression, dialect=dialect))))
    result = asking.measured(check.wants(context), Measurement(now))
    while check.looks_again:
        follow_up = check.follow_up(context, result)
        if isinstance(follow_up, Measurement):
            return follow_up
        result = asking.measured(follow_up, result)
    return result


@dataclass(frozen=True, slots=True)
class _Asking:
    context: Context
    run: Callable[[ir.Table], Sequence[Mapping[str, Any]]]

    def measured(self, wants: Wants, measurement: Measurement) -> Measurement:
        """Add what is wanted to what was found."""
        values, tables = dict(measurement.values), dict(measurement.tables)
        if wants.aggregates:
            values |= self.run(self.context.table.aggregate(**wants.aggregates))[0]
        tables |= {name: self.run(query) for name, query in wants.queries.items()}
        for name, question in wants.classes.items():
            classes = ClassTables(
                self.context.filtered, question.quasi_identifiers, question.sensitive, question.person
            )
            tables[name] = self.run(question.answer(classes))
        return replace(measurement, values=values, tables=tables)


def measure_frame(check: Check, frame: pd.DataFrame, *, now: datetime) -> Measurement:
    """Measure what a check wants of a frame, by DuckDB, in memory.

    Raises:
        Misconfigured: the check does not fit the frame.
    """
    backend = ibis.duckdb.connect()
    try:
        backend.con.register(BATCH, frame)

        def run(sql: str) -> Sequence[Mapping[str, Any]]:
            cursor = backend.con.execute(sql)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        return measure(check, backend.table(BATCH), run, dialect="duckdb", now=now)
    finally:
        backend.disconnect()
