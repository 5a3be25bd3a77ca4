"""The same people in every kind of source that a protected table can be in, with what is strange about each."""

import csv
import math
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from sources import SourceSpec

COLUMNS: Final = ("who", "sex", "age", "amount", "price", "member", "born")
Person = tuple[str | None, str | None, int | None, float | None, Decimal | None, bool | None, date | None]

PEOPLE: Final[Sequence[Person]] = (
    ("ann", "F", 15, 1.2, Decimal("0.01"), True, date(2011, 2, 3)),
    ("ann", "F", 15, math.inf, Decimal("99999999.99"), True, date(2011, 2, 3)),
    ("ann", 'O\'Neil \\ "q"', 200, -math.inf, Decimal(-5), False, date(9999, 12, 31)),
    ("bob", "M", None, None, None, None, None),
    ("bob", "é", -3, 5e-324, Decimal("10.26"), None, date(1, 1, 1)),
    (None, "é", 40, -0.0, Decimal(0), False, date(2011, 2, 3)),
    (None, "f", 39, 1e300, Decimal("12.5"), True, None),
    ("eve", None, 2**53, -3.3, Decimal("-0.04"), False, date(1970, 1, 1)),
    ("eve\x1f", "女", 0, math.nan, Decimal("7.1"), True, date(2011, 2, 3)),
)
DECLARED: Final = {
    "domain": {
        "sex": ["F", "M", "é", "女", 'O\'Neil \\ "q"'],
        "age": {"range": [0, 100], "width": 20},
        "amount": {"low": -2, "high": 3, "grid": "0.5", "missing": 1},
        "price": {"low": -1, "high": 50, "grid": "0.01"},
        "member": {"values": [True, False], "other": False},
        "born": ["2011-02-03", "1970-01-01"],
    }
}


@contextmanager
def place(kind: str, request: pytest.FixtureRequest, folder: Path, rows: Sequence[Person]) -> Iterator[SourceSpec]:
    """Yield a source of this kind that holds `people`."""
    made: dict[str, Callable[..., Any]] = {
        "csv": _csv,
        "parquet": _parquet,
        "sqlite": _sqlite,
        "postgresql": _postgresql,
        "spark": _spark,
    }
    with contextmanager(made[kind])(request, folder, rows) as spec:
        yield spec


def _csv(_: pytest.FixtureRequest, folder: Path, rows: Sequence[Person]) -> Iterator[SourceSpec]:
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    yield SourceSpec("s", folder, files="people.csv", blind=True)


def _parquet(_: pytest.FixtureRequest, folder: Path, rows: Sequence[Person]) -> Iterator[SourceSpec]:
    with closing(duckdb.connect()) as connection:
        connection.execute(
            "CREATE TABLE people (who TEXT, sex TEXT, age BIGINT, amount DOUBLE, price DECIMAL(12, 2), member BOOLEAN,"
            " born DATE)"
        )
        for row in rows:
            connection.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        connection.execute(f"COPY people TO '{folder / 'people.parquet'}'")
    yield SourceSpec("s", folder, files="people.parquet", blind=True)


def _sqlite(_: pytest.FixtureRequest, folder: Path, rows: Sequence[Person]) -> Iterator[SourceSpec]:
    with closing(sqlite3.connect(folder / "people.db")) as connection, connection:
        connection.execute(
            "CREATE TABLE people (who TEXT, sex TEXT, age, amount DOUBLE, price NUMERIC, member BOOLEAN, born TEXT)"
        )
        for *kept, price, member, born in rows:
            result = None if price is None else float(price)
            day = None if born is None else born.isoformat()
            connection.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", (*kept, result, member, day))
    yield SourceSpec("s", folder, url="sqlite:///people.db", blind=True)


def _postgresql(request: pytest.FixtureRequest, folder: Path, rows: Sequence[Person]) -> Iterator[SourceSpec]:
    import psycopg

    server = request.getfixturevalue("postgres_url")
    name = f"tablewatch_answers_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
    url = f"{server.rpartition('/')[0]}/{name}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE people (who TEXT, sex TEXT, age BIGINT, amount DOUBLE PRECISION, price NUMERIC,"
            " member BOOLEAN, born DATE)"
        )
        for row in rows:
            connection.execute("INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s, %s)", row)
    yield SourceSpec("s", folder, url=url, blind=True)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _spark(request: pytest.FixtureRequest, folder: Path, rows: Sequence[Person]) -> Iterator[SourceSpec]:
    session = request.getfixturevalue("spark_session")
    kinds = "who STRING, sex STRING, age BIGINT, amount DOUBLE, price DECIMAL(12, 2), member BOOLEAN, born DATE"
    session.sql("DROP TABLE IF EXISTS people")
    session.createDataFrame(list(rows), kinds).write.saveAsTable("people")
    yield SourceSpec("s", folder, spark="local[2]", blind=True)
    session.sql("DROP TABLE IF EXISTS people")
