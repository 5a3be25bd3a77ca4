"""The same small tables behind every kind of source."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sources import Source, SourceSpec, TimedOut, open_source
from tests.sources.lake import KINDS, LAKES, lake, write

ORDERS = """
CREATE TABLE orders (id INTEGER, amount DECIMAL(10, 2), note VARCHAR(20), placed_at TIMESTAMP);
INSERT INTO orders VALUES (1, 10.50, NULL, '2026-01-01 10:00:00'), (2, 0.25, 'late', '2026-01-02 10:00:00.5'),
  (3, NULL, 'gift', NULL);
"""
SALES = "CREATE SCHEMA sales; CREATE TABLE sales.refunds (id INTEGER); INSERT INTO sales.refunds VALUES (7);"
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n % 1000 + 1 FROM r) SELECT count(*) AS n FROM r"


def fetched(source: Source, statement: str) -> list[dict[str, Any]]:
    """Return the answer of a source with a short `query_timeout`, which a busy machine may need several tries for."""
    for _ in range(50):
        with suppress(TimedOut):
            return source.fetch(statement)
    return source.fetch(statement)


@dataclass(frozen=True)
class Place:
    """Where the tables are, and what is peculiar there."""

    kind: str
    spec: SourceSpec
    has_decimals: bool = True
    endless: str = ENDLESS

    def open(self, **changes: Any) -> Source:
        """Return the source with other settings."""
        return open_source(replace(self.spec, **changes))


POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.postgres)
MYSQL = pytest.param("mysql", marks=pytest.mark.mysql)
SPARK = pytest.param("spark", marks=pytest.mark.spark)
ALL = ("csv", "parquet", *LAKES, "duckdb", "sqlite", "ibis", MYSQL, POSTGRESQL, SPARK)
WITH_SCHEMAS = ("duckdb", "ibis", MYSQL, POSTGRESQL, SPARK)
WITH_TIMEOUTS = ("csv", "parquet", *LAKES, "duckdb", "sqlite", MYSQL, POSTGRESQL, SPARK)


@pytest.fixture(params=ALL)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Yield every kind of source in turn, holding `orders` (three rows) and, with schemas, `sales.refunds`."""
    make: Callable[..., Any] = {
        "csv": _csv,
        "parquet": _parquet,
        **dict.fromkeys(KINDS, _lake),
        "duckdb": _duckdb,
        "sqlite": _sqlite,
        "mysql": _mysql,
        "postgresql": _postgresql,
        "ibis": _ibis,
        "spark": _spark,
    }[request.param]
    with contextmanager(make)(request, tmp_path) as made:
        yield made


@pytest.fixture
def postgres_schema(postgres_url: str) -> Iterator[str]:
    """Yield the URL of a fresh database of its own on the test server."""
    import psycopg

    name = f"tablewatch_sources_{os.getpid()}"  # tests may run in several processes against one server
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"CREATE DATABASE {name}")
        yield f"{postgres_url.rpartition('/')[0]}/{name}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def mysql_schema(mysql_url: str) -> Iterator[str]:
    """Yield the URL of a fresh database of its own on the test server."""
    from sources.mysql import connect

    name = f"tablewatch_sources_{os.getpid()}"
    with closing(connect(mysql_url)) as connection:
        connection.query(f"DROP DATABASE IF EXISTS {name}")
        connection.query(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        yield f"{mysql_url.rpartition('/')[0]}/{name}"
        connection.query(f"DROP DATABASE {name}")


def _csv(_: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    _export(folder / "orders.csv")
    yield Place("csv", SourceSpec("shop", folder, files="*.csv"), has_decimals=False)


def _parquet(_: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    _export(folder / "orders.parquet")
    yield Place("parquet", SourceSpec("shop", folder, files="*.parquet"))


def _lake(request: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    spec = lake(request.param, folder, name="shop")
    with duckdb.connect() as connection:
        connection.execute(ORDERS)
        write(request.param, folder, "orders", connection.sql("FROM orders").to_arrow_table())
    yield Place(request.param, spec)


def _duckdb(_: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(ORDERS + SALES)
    yield Place("duckdb", SourceSpec("shop", folder, url="duckdb:///shop.duckdb"))


def _sqlite(_: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.executescript(ORDERS)
    connection.close()
    yield Place("sqlite", SourceSpec("shop", folder, url="sqlite:///shop.sqlite"), has_decimals=False)


def _postgresql(request: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    import psycopg

    url = request.getfixturevalue("postgres_schema")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(ORDERS + SALES)
    yield Place("postgresql", SourceSpec("shop", folder, url=url))


def _mysql(request: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    from sources.mysql import connect

    url = request.getfixturevalue("mysql_schema")
    statements = (ORDERS.replace("TIMESTAMP", "DATETIME(6)") + SALES).split(";")[:-1]
    with closing(connect(url)) as connection:
        connection.query("DO GET_LOCK('sales', 600)")  # a schema is a database, which all processes of the tests share
        for statement in ("DROP DATABASE IF EXISTS sales", *statements):
            connection.query(statement)
        yield Place(
            "mysql",
            SourceSpec("shop", folder, url=url),
            endless=f"SELECT count(*) AS n FROM {', '.join(f'information_schema.columns c{at}' for at in range(4))}",
        )
        connection.query("DROP DATABASE sales")


def _ibis(_: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(ORDERS + SALES)
    from sources.ibis_url import IbisUrl

    class ThroughIbis(Place):
        """DuckDB stands for the engines that are reached by `ibis.connect` alone."""

        def open(self, **changes: Any) -> Source:
            return IbisUrl(replace(self.spec, **changes))

    spec = SourceSpec("shop", folder, url=f"duckdb://{folder}/shop.duckdb?read_only=True")
    yield ThroughIbis("ibis", spec)


def _spark(request: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    request.getfixturevalue("spark_session")
    endless = "SELECT count(*) AS n FROM range(1000000000000) WHERE id % 7 = rand() * 7"
    yield Place("spark", SourceSpec("shop", folder, spark="local[2]"), endless=endless)


def _export(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(ORDERS)
        connection.execute(f"COPY orders TO '{path}'")


@pytest.fixture
def impatient() -> dict[str, timedelta]:
    """Return limits that end an endless statement soon."""
    return {"query_timeout": timedelta(milliseconds=300)}
