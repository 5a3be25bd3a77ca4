"""A release is approved and exported wherever its table lives; a table that changes there is seen."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from monitor.terminal.problem import Stop
from sources.sqlite import Sqlite
from tests.monitor.releases.desk import Desk, people, rows_of

Change = Callable[[], None]


def _sqlite(folder: Path, frame: pd.DataFrame) -> tuple[dict[str, str], Change]:
    path = folder / "people.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        frame.to_sql("people", connection, index=False)

    def change() -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE people SET ill = 'none' WHERE id = 'p7'")

    return {"url": "sqlite:///people.sqlite"}, change


def _duckdb(folder: Path, frame: pd.DataFrame) -> tuple[dict[str, str], Change]:
    path = str(folder / "people.duckdb")
    with duckdb.connect(path) as connection:
        connection.register("given", frame)
        connection.execute("CREATE TABLE people AS FROM given")

    def change() -> None:
        with duckdb.connect(path) as connection:
            connection.execute("UPDATE people SET ill = 'none' WHERE id = 'p7'")

    return {"url": "duckdb:///people.duckdb"}, change


def _csv(folder: Path, frame: pd.DataFrame) -> tuple[dict[str, str], Change]:
    frame.to_csv(folder / "people.csv", index=False)

    def change() -> None:
        frame.assign(ill="none").to_csv(folder / "people.csv", index=False)

    return {"files": "people.csv"}, change


def _goes_all_the_way(desk: Desk, change: Change) -> None:
    desk.write(person_key="id", remedies=[{"remedy": "suppress"}]).approve("suppress")
    found = desk.export("out.csv", remedy="suppress")
    given = Counter(tuple(map(str, row)) for row in people()[["born", "sex", "ill"]].itertuples(index=False))
    assert Counter(rows_of(desk.folder / "out.csv", "SELECT born, sex, ill FROM output")) == given
    assert found.event.body["rows"] == 40
    change()
    with pytest.raises(Stop, match="the table has changed since"):
        desk.export("again.csv", remedy="suppress")
    assert not (desk.folder / "again.csv").exists()


@pytest.mark.parametrize("made", [_sqlite, _duckdb, _csv])
def test_a_release_of_files(desk: Desk, made: Callable[[Path, pd.DataFrame], tuple[dict[str, str], Change]]) -> None:
    """In SQLite, in DuckDB and in CSV as in Parquet."""
    (desk.folder / "people.parquet").unlink()
    desk.source, change = made(desk.folder, people())
    _goes_all_the_way(desk, change)


def test_an_export_connects_twice(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once to judge and read the table, once to see that it is still the same before the file gets its name."""
    (desk.folder / "people.parquet").unlink()
    desk.source, _ = _sqlite(desk.folder, people())
    desk.write(person_key="id", remedies=[{"remedy": "suppress"}]).approve("suppress")
    connections = []
    connect = Sqlite.__enter__

    def counted(source: Sqlite) -> Sqlite:
        connections.append(source)
        return connect(source)

    monkeypatch.setattr(Sqlite, "__enter__", counted)
    desk.export("out.csv", remedy="suppress")
    assert len(connections) == 2


@pytest.mark.postgres
def test_a_release_of_postgresql(desk: Desk, postgres_url: str) -> None:
    """Hashed and counted there."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute("CREATE TABLE people (id text, born bigint, sex text, ill text)")
        try:
            for row in people().itertuples(index=False):
                connection.execute("INSERT INTO people VALUES (%s, %s, %s, %s)", tuple(row))
            desk.source = {"url": postgres_url}
            _goes_all_the_way(
                desk, lambda: connection.execute("UPDATE people SET ill = 'none' WHERE id = 'p7'") and None
            )
        finally:
            connection.execute("DROP TABLE people")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of its bridge to Java
def test_a_release_of_spark(desk: Desk, spark_session: Any) -> None:
    """Hashed and counted there, in several partitions."""

    def put(frame: pd.DataFrame) -> None:
        spark_session.sql("DROP TABLE IF EXISTS people")
        rows = list(frame.itertuples(index=False, name=None))
        made = spark_session.createDataFrame(rows, "id STRING, born BIGINT, sex STRING, ill STRING")
        made.repartition(3).write.saveAsTable("people")

    changed = people()
    changed.loc[7, "ill"] = "none"
    put(people())
    desk.source = {"spark": "local[2]"}
    _goes_all_the_way(desk, lambda: put(changed))
    spark_session.sql("DROP TABLE people")
