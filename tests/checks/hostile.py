"""The same hostile tables in every engine that can be had: NULL in keys, NaN, long decimals, times, Unicode, no rows.

An engine keeps what it can: `rows_of` says what of it, and all that is expected is computed of those rows.
"""

import csv
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sources import CsvOptions, SourceSpec
from tests.checks.ask import Rows, create
from tests.sources.lake import KINDS, LAKES, lake, write

ENGINES: Final = (
    "duckdb", "sqlite", "csv", "parquet", "pandas", "polars", "arrow", *LAKES,
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("mysql", marks=pytest.mark.mysql),
    pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.timeout(900)]),
)  # fmt: skip
NOW: Final = datetime(2026, 11, 20, 9, 15, tzinfo=UTC)
NAN: Final = float("nan")
LONG: Final = Decimal("12345678901234567890123456789.012345678")
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "id": pa.int64(),
    "code": pa.int64(),
    "x": pa.float64(),
    "amount": pa.decimal128(38, 9),
    "at": pa.timestamp("us", "UTC"),
    "wall": pa.timestamp("us"),
    "note": pa.string(),
    "town": pa.string(),
    "ill": pa.string(),
}
_SQL: Final = {
    "id": "int", "code": "int", "x": "float", "amount": "DECIMAL(38, 9)", "at": "timestamptz", "wall": "timestamp",
    "note": "text", "town": "text", "ill": "text",
}  # fmt: skip


def _ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours, microseconds=1)


def _wall(hours: float) -> datetime:
    return _ago(hours).replace(tzinfo=None)


TABLES: Final[Mapping[str, Sequence[tuple[Any, ...]]]] = {
    "t": (
        (1, 10, 1.5, LONG, _ago(1), _wall(2), "é", "東京", "flu"),
        (2, 10, NAN, -1, _ago(30), _wall(40), "e\u0301", "東京", "flu"),
        (3, None, NAN, LONG.copy_negate(), None, None, "É", "東京", "cold"),
        (4, None, -0.0, None, _ago(50), _wall(60), "a ", None, "cold"),
        (5, 20, 0.0, Decimal("0.000000001"), _ago(70), _wall(80), "a", None, None),
        (6, 30, None, Decimal("0.1"), _ago(90), _wall(90), "", "Köln", "flu"),
        (7, 30, float("inf"), Decimal("0.2"), _ago(90), _wall(90), None, "Köln", "flu"),
        (8, 30, 1e300, LONG, _ago(90), _wall(90), "日本'\"\\%_", "Koln", "cold"),
    ),
    "parents": (
        (10, 10, 1.5, LONG, NOW, _wall(0), "é", "東京", "flu"),
        (30, 30, 2.5, 1, NOW, _wall(0), "a", "Köln", "flu"),
        (30, 30, 2.5, 1, NOW, _wall(0), "b", "Köln", "cold"),
        (40, 40, None, 1, NOW, _wall(0), None, None, None),
    ),
    "empty": (),
}
_NO_NAN: Final = frozenset({"sqlite", "mysql"})


def rows_of(engine: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table as an engine has them."""
    rows = [dict(zip(_TYPES, row, strict=True)) for row in TABLES[table]]
    for row in rows:
        row["amount"] = None if row["amount"] is None else Decimal(row["amount"])
        if engine in _NO_NAN and (row["x"] != row["x"] or row["x"] == float("inf")):
            row["x"] = None
        if engine == "csv" and row["note"] == "":  # an empty cell is NULL
            row["note"] = None
    return rows


def arrow_of(engine: str, table: str) -> pa.Table:
    """Return a table of an engine as Arrow has it."""
    return pa.Table.from_pylist(rows_of(engine, table), pa.schema(list(_TYPES.items())))


@contextmanager
def tables_in(engine: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[SourceSpec]:
    """Yield a source of an engine that has the tables."""
    tables = {name: arrow_of(engine, name) for name in TABLES}
    with ExitStack() as stack:
        if engine in KINDS:
            for name, data in tables.items():
                write(engine, folder, name, data)
            yield lake(engine, folder)
        elif engine in {"pandas", "polars", "arrow"}:
            yield SourceSpec("s", folder, frames={name: _frame(engine, data) for name, data in tables.items()})
        elif engine == "spark":
            yield stack.enter_context(_in_spark(request, folder, tables))
        elif engine in {"postgres", "mysql"}:
            yield stack.enter_context(_in_server(engine, request, folder))
        else:
            yield {"csv": _in_csv, "parquet": _in_parquet, "duckdb": _in_duckdb, "sqlite": _in_sqlite}[engine](
                folder, tables
            )


def _frame(engine: str, data: pa.Table) -> Any:
    import pandas as pd
    import polars as pl

    from sources.frame import arrow_data

    frame = {"pandas": lambda: data.to_pandas(types_mapper=pd.ArrowDtype), "polars": lambda: pl.from_arrow(data)}
    return arrow_data(frame.get(engine, lambda: data)())


def _in_parquet(folder: Path, tables: Mapping[str, pa.Table]) -> SourceSpec:
    for name, data in tables.items():
        pq.write_table(data, folder / f"{name}.parquet")
    return SourceSpec("s", folder, files="*.parquet")


def _in_csv(folder: Path, tables: Mapping[str, pa.Table]) -> SourceSpec:
    for name, data in tables.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(data.column_names)
            for row in data.to_pylist():
                writer.writerow(str(cell) if isinstance(cell, float) else cell for cell in row.values())
    types = {"amount": "DECIMAL(38, 9)", "at": "TIMESTAMPTZ", "wall": "TIMESTAMP", "x": "DOUBLE"}
    return SourceSpec("s", folder, files="*.csv", csv=CsvOptions(types=types))


def _in_duckdb(folder: Path, tables: Mapping[str, pa.Table]) -> SourceSpec:
    with duckdb.connect(str(folder / "s.duckdb")) as connection:
        for name, data in tables.items():
            connection.register("data", data)
            connection.execute(f"CREATE TABLE {name} AS FROM data")
            connection.unregister("data")
    return SourceSpec("s", folder, url="duckdb:///s.duckdb")


def _in_sqlite(folder: Path, tables: Mapping[str, pa.Table]) -> SourceSpec:
    with closing(sqlite3.connect(folder / "s.db")) as connection:
        for name in tables:
            create(connection, name, _rows("sqlite", name), "sqlite")
        connection.commit()
    return SourceSpec("s", folder, url="sqlite:///s.db")


def _rows(engine: str, name: str) -> Rows:
    return Rows(_SQL, [tuple(row.values()) for row in rows_of(engine, name)])


@contextmanager
def _in_server(engine: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[SourceSpec]:
    name = f"hostile_{secrets.token_hex(6)}"
    url = request.getfixturevalue(f"{engine}_url")
    with closing(_connection(engine, url)) as connection:
        run = connection.query if engine == "mysql" else connection.execute
        run(f"CREATE DATABASE {name}{' CHARACTER SET utf8mb4' if engine == 'mysql' else ''}")
        here = f"{url.rpartition('/')[0]}/{name}"
        try:
            with closing(_connection(engine, here)) as inside:
                for table in TABLES:
                    create(inside, table, _rows(engine, table), engine)
            yield SourceSpec("s", folder, url=here)
        finally:
            run(f"DROP DATABASE {name}")


def _connection(engine: str, url: str) -> Any:
    if engine == "mysql":
        from sources.mysql import connect

        return connect(url)
    import psycopg

    return psycopg.connect(url, autocommit=True)


@contextmanager
def _in_spark(request: pytest.FixtureRequest, folder: Path, tables: Mapping[str, pa.Table]) -> Iterator[SourceSpec]:
    session = request.getfixturevalue("spark_session")
    session.sql("CREATE SCHEMA hostile")
    try:
        session.conf.set("spark.sql.session.timeZone", "UTC")
        for name, data in tables.items():
            pq.write_table(data, folder / f"{name}.parquet")
            session.read.parquet(str(folder / f"{name}.parquet")).write.saveAsTable(f"hostile.{name}")
        yield SourceSpec("s", folder, spark="local[2]")
    finally:
        session.sql("DROP SCHEMA hostile CASCADE")
