"""Put texts into a table of each engine."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sources import SourceSpec
from tests.duckdb_rows import insert_rows

Texts = Sequence[str | None]


def hold(dialect: str, texts: Texts, *, folder: Path, request: pytest.FixtureRequest) -> SourceSpec:
    """Replace the table `t (id, x)`, where `x` holds the texts, and give its source."""
    match dialect:
        case "duckdb":
            return _in_parquet(texts, folder)
        case "sqlite":
            return _in_sqlite(texts, folder)
        case "postgres":
            return _in_postgres(texts, request.getfixturevalue("postgres_schema"))
        case "mysql":
            return _in_mysql(texts, request.getfixturevalue("mysql_schema"))
        case _:
            return _in_spark(texts, folder, request.getfixturevalue("spark_session"))


def _in_parquet(texts: Texts, folder: Path) -> SourceSpec:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (id INT, x VARCHAR)")
        insert_rows(connection, "INSERT INTO t VALUES (?, ?)", list(enumerate(texts)))
        connection.execute(f"COPY t TO '{folder / 't.parquet'}'")
    return SourceSpec("s", folder, files="t.parquet")


def _in_sqlite(texts: Texts, folder: Path) -> SourceSpec:
    connection = sqlite3.connect(folder / "t.sqlite")
    connection.execute("DROP TABLE IF EXISTS t")
    connection.execute("CREATE TABLE t (id INT, x TIMESTAMP)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(texts)))
    connection.commit()
    connection.close()
    return SourceSpec("s", folder, url="sqlite:///t.sqlite")


def _in_postgres(texts: Texts, url: str) -> SourceSpec:
    import psycopg

    with psycopg.connect(url, autocommit=True) as session, session.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (id INT, x TEXT)")
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", list(enumerate(texts)))
    return SourceSpec("s", Path(), url=url)


def _in_mysql(texts: Texts, url: str) -> SourceSpec:
    from sources.mysql import connect

    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS t")
        cursor.execute("CREATE TABLE t (id INT, x VARCHAR(200))")
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", list(enumerate(texts)))
    return SourceSpec("s", Path(), url=url)


def _in_spark(texts: Texts, folder: Path, session: Any) -> SourceSpec:
    _in_parquet(texts, folder)
    session.read.parquet(str(folder / "t.parquet")).write.mode("overwrite").saveAsTable("t")
    return SourceSpec("s", folder, spark="local[2]")
