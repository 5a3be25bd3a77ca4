"""Measure one of our own checks on whatever holds the table, so that an expectation gives the verdict of its check."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import ibis
import ibis.expr.types as ir
import pandas as pd

from checks._clocks import latest_wall_clock
from checks._contract import Check, Context, Measurement

BATCH = "tablewatch_batch"
"""The name of the table in compiled text, for runners that put a subquery in its place."""


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
            return ibis.literal(latest_wall_clock(moment, ZoneInfo(zone)))
        return ibis.literal(moment.replace(tzinfo=None) if dialect == "sqlite" else moment)

    wants = check.wants(Context(table, dialect, at))
    aggregated = table.aggregate(**wants.aggregates)
    return Measurement(
        measured_at=now,
        values=run(str(ibis.to_sql(aggregated, dialect=dialect)))[0],
        tables={name: run(str(ibis.to_sql(query, dialect=dialect))) for name, query in wants.queries.items()},
    )


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
