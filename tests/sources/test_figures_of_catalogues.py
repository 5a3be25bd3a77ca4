"""Rows and writes of many tables by their catalogues: one statement for a schema, and no row is read."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from sources import SourceSpec, open_source
from sources._contract import RowEstimate
from sources.ibis_url import IbisUrl
from tests.sources.lake import LAKES, lake, write

MANY = 2_000


@pytest.fixture
def connection(postgres_url: str) -> Iterator[psycopg.Connection]:
    """Yield a connection to a database with many tables in a schema."""
    with psycopg.connect(postgres_url, autocommit=True) as opened:
        opened.execute("DROP SCHEMA IF EXISTS figures CASCADE; CREATE SCHEMA figures")
        yield opened
        opened.execute("DROP SCHEMA figures CASCADE")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that statements about the catalogue are added to."""
    statements: list[str] = []
    execute = psycopg.Cursor.execute

    def count(self: psycopg.Cursor, sql: str, *words: Any, **more: Any) -> psycopg.Cursor:
        statements.append(sql)
        return execute(self, sql, *words, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", count)
    return statements


@pytest.mark.postgres
def test_a_schema_of_two_thousand_tables_takes_two_statements_for_each_question(
    connection: psycopg.Connection, postgres_url: str, tmp_path: Path, asked: list[str]
) -> None:
    """The first table is asked for alone, the second brings all others."""
    connection.execute(";".join(f"CREATE TABLE figures.t{at} (id int, at date)" for at in range(MANY)))
    with open_source(SourceSpec("s", tmp_path, url=postgres_url)) as source:
        names = [name for name in source.tables() if name.startswith("figures.")]
        asked.clear()
        assert {next(iter(source.table(name).schema().items()))[0] for name in names} == {"id"}
        assert {source.write_count(name) for name in names} == {0}
        assert {source.row_estimate(name) for name in names} == {None}
        assert {len(source.layout(name) or ()) for name in names} == {3}
    assert len(names) == MANY
    assert len([sql for sql in asked if "pg_class" in sql and "pg_locks" not in sql]) <= 5


@pytest.mark.postgres
def test_postgresql_counts_writes_and_rows_as_they_are_written(
    connection: psycopg.Connection, postgres_url: str, tmp_path: Path
) -> None:
    """Deleted rows are writes and no rows; a table that was never analyzed has what was counted, a view nothing."""
    flush = "SELECT pg_stat_force_next_flush()"
    connection.execute("CREATE TABLE figures.t (id int) WITH (autovacuum_enabled = off)")
    connection.execute("CREATE VIEW figures.v AS SELECT * FROM figures.t")
    connection.execute("INSERT INTO figures.t SELECT generate_series(1, 900)")
    connection.execute(flush)

    def look() -> tuple[RowEstimate | None, int | None]:
        with open_source(SourceSpec("s", tmp_path, url=postgres_url)) as source:
            assert source.last_write("figures.t") is None
            assert source.write_count("figures.v") is None
            return source.row_estimate("figures.t"), source.write_count("figures.t")

    assert look() == (RowEstimate(900, 900, None), 900)
    connection.execute("ANALYZE figures.t")
    connection.execute("DELETE FROM figures.t WHERE id > 600")
    connection.execute(flush)
    rows, writes = look()
    assert rows is not None
    assert (rows.rows, rows.error, writes) == (600, 300 + 45, 1_200)
    connection.execute("TRUNCATE figures.t")
    connection.execute(flush)
    assert look()[0] == RowEstimate(0, 0, None)


@pytest.mark.parametrize("kind", LAKES)
def test_logs_and_manifests_count_rows(kind: str, tmp_path: Path) -> None:
    """The files of the table say how many they have; deleted rows that stand elsewhere are not guessed."""
    for number in (3, 4):
        table = write(kind, tmp_path, "orders", pa.table({"n": list(range(number))}))
    with open_source(lake(kind, tmp_path)) as source:
        assert source.row_estimate("orders") == RowEstimate(7, 0, None)
    table.delete("n = 2")
    with open_source(lake(kind, tmp_path)) as source:
        assert source.row_estimate("orders") in {None, RowEstimate(5, 0, None)}


def test_footers_count_rows_and_files_have_times(tmp_path: Path) -> None:
    """Of a table of several files the newest counts; CSV has no footer."""
    import pyarrow.parquet as pq

    for name, rows in (("a", 3), ("b", 4)):
        pq.write_table(pa.table({"n": list(range(rows))}), tmp_path / f"{name}.parquet")
    (tmp_path / "c.csv").write_text("n\n1\n", encoding="utf-8")
    written = datetime(2026, 11, 20, 9, tzinfo=UTC)
    for name, age in (("a.parquet", timedelta()), ("b.parquet", timedelta(hours=2)), ("c.csv", timedelta(days=1))):
        os.utime(tmp_path / name, ((written - age).timestamp(),) * 2)
    with open_source(SourceSpec("s", tmp_path, files="*.parquet", table="t")) as source:
        assert source.row_estimate("t") == RowEstimate(7, 0, None)
        assert source.last_write("t") == written
    with open_source(SourceSpec("s", tmp_path, files="*.csv")) as source:
        assert source.row_estimate("c") is None
        assert source.last_write("c") == written - timedelta(days=1)


class _Backend:
    """The part of Ibis' backend of a warehouse that is asked here; it keeps the SQL."""

    current_database = "sales"

    def __init__(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self.rows, self.asked = rows, list[str]()

    def list_tables(self) -> Sequence[str]:
        return [row[0] for row in self.rows]

    def raw_sql(self, sql: str) -> "_Backend":
        self.asked.append(sql)
        return self

    description = (("name",), ("rows",), ("at",))

    def fetchall(self) -> Sequence[tuple[Any, ...]]:
        return self.rows


WHERE = "FROM information_schema.tables WHERE table_schema = 'sales'"


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("snowflake", f"SELECT table_name, row_count, last_altered {WHERE}"),
        ("databricks", f"SELECT table_name, NULL, last_altered {WHERE}"),
        (
            "bigquery",
            "SELECT table_id, row_count, TIMESTAMP_MILLIS(last_modified_time) FROM `sales`.__TABLES__ WHERE TRUE",
        ),
    ],
)
def test_warehouses_are_asked_their_information_schema(dialect: str, sql: str, tmp_path: Path) -> None:
    """Tried on the text of the statement, without a server."""
    at = datetime(2026, 11, 20, 9, tzinfo=UTC)
    rows = [("o'rders", None if dialect == "databricks" else 7, at), ("people", None, at.replace(tzinfo=None))]
    backend = _Backend(rows)
    source: Any = IbisUrl(SourceSpec("w", tmp_path, url=f"{dialect}://x"))
    source.dialect, source._own, source._open_backend, source._is_open = dialect, backend, backend, True
    assert source.row_estimate("o'rders") == (None if dialect == "databricks" else RowEstimate(7, 0, None))
    assert source.last_write("people") == at
    column = "table_id" if dialect == "bigquery" else "table_name"
    assert backend.asked == [f"{sql} AND {column} = 'o\\'rders'", sql]
