"""What a catalogue declares is proposed as sure: foreign keys, on every engine."""

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from checks import Status
from monitor.clock import SystemClock
from monitor.suggest.catalogue import DeclaredReference, read_catalogue
from monitor.suggest.keys import single_keys
from monitor.suggest.profile import ColumnFamily, ColumnStatistics, TableStatistics
from monitor.suggest.proposal import Confidence
from monitor.suggest.sources import SourceLocation
from monitor.suggest.targets import suggest_for_catalogues
from sources import SourceSpec

TABLES = (
    "CREATE TABLE parents (id integer PRIMARY KEY)",
    "CREATE TABLE pairs (x integer, y integer, PRIMARY KEY (x, y))",
    """CREATE TABLE kids (a integer, p integer, v integer, w integer, FOREIGN KEY (p) REFERENCES parents (id),
    FOREIGN KEY (w, v) REFERENCES pairs (x, y))""",
    "INSERT INTO parents VALUES (1)",
    "INSERT INTO pairs VALUES (1, 2)",
    "INSERT INTO kids VALUES (7, 1, 2, 1)",
)


def _place(engine: str, folder: Path, request: pytest.FixtureRequest) -> SourceSpec:
    if engine == "sqlite":
        with closing(sqlite3.connect(folder / "d.sqlite")) as connection:
            connection.executescript(";".join(TABLES))
        return SourceSpec(name="d", base=folder, url="sqlite:///d.sqlite")
    if engine == "duckdb":
        with duckdb.connect(str(folder / "d.duckdb")) as database:
            for statement in TABLES:
                database.execute(statement)
        return SourceSpec(name="d", base=folder, url="duckdb:///d.duckdb")
    url = request.getfixturevalue(f"{engine}_url")
    if engine == "mysql":
        from sources.mysql import connect

        server = connect(url)
        for statement in ("DROP TABLE IF EXISTS kids, pairs, parents", *TABLES):
            server.query(statement)
        server.commit()
        server.close()
        return SourceSpec(name="d", base=folder, url=url)
    import psycopg

    with psycopg.connect(url, autocommit=True) as session:
        for statement in ("DROP TABLE IF EXISTS kids, pairs, parents", *TABLES):
            session.execute(statement)
    return SourceSpec(name="d", base=folder, url=url)


SERVERS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("postgres", "mysql")]


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", *SERVERS])
def test_declared_foreign_keys_are_sure(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Of one column or several, in the order of the declaration, whatever the columns are called."""
    spec = _place(engine, tmp_path, request)
    entries = [entry for entry in read_catalogue(spec) if entry.name in {"kids", "pairs", "parents"}]
    declared = {entry.name: set(entry.references) for entry in entries}
    one, two = (
        DeclaredReference(("p",), "parents", ("id",)),
        DeclaredReference(("w", "v"), "pairs", ("x", "y")),
    )
    assert declared == {"kids": {one, two}, "pairs": set(), "parents": set()}
    place = SourceLocation("d", {}, spec)
    suggestions = suggest_for_catalogues([(place, entries)], SystemClock(), lambda _what, _n: None)["d"]
    kids = next(table for table in suggestions.tables if table.name == "kids")
    found = {item.columns: item for item in kids.proposals if item.kind == "foreign_key"}
    assert set(found) == {("p",), ("w", "v")}
    assert {item.confidence for item in found.values()} == {Confidence.DECLARED}
    assert all(item.active and item.now is not None and item.now.status is Status.PASS for item in found.values())


def test_keys_of_duckdb_are_those_of_their_schema(tmp_path: Path) -> None:
    """Tables of one name in two schemas have each its own key and references."""
    with duckdb.connect(str(tmp_path / "d.duckdb")) as database:
        for schema, key in (("main", "a"), ("sales", "b")):
            database.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            database.execute(f"CREATE TABLE {schema}.t ({key} INTEGER PRIMARY KEY, x INTEGER)")
            database.execute(f"CREATE TABLE {schema}.kid (r INTEGER REFERENCES {schema}.t ({key}))")
    entries = {entry.name: entry for entry in read_catalogue(SourceSpec("d", tmp_path, url="duckdb:///d.duckdb"))}
    assert {name: entry.key for name, entry in entries.items()} == {
        "kid": (),
        "t": ("a",),
        "sales.kid": (),
        "sales.t": ("b",),
    }
    assert entries["kid"].references == (DeclaredReference(("r",), "t", ("a",)),)
    assert entries["sales.kid"].references == (DeclaredReference(("r",), "sales.t", ("b",)),)


def test_one_that_names_no_column_refers_to_the_key(tmp_path: Path) -> None:
    """SQLite allows that; of a table without a declared key nothing is proposed."""
    with closing(sqlite3.connect(tmp_path / "d.sqlite")) as connection:
        connection.executescript(
            "CREATE TABLE a (id integer PRIMARY KEY); CREATE TABLE z (n integer);"
            "CREATE TABLE b (p integer REFERENCES a, q integer REFERENCES z)"
        )
    entries = read_catalogue(SourceSpec(name="d", base=tmp_path, url="sqlite:///d.sqlite"))
    assert {entry.name: entry.references for entry in entries}["b"] == (DeclaredReference(("p",), "a", ("id",)),)


def test_a_part_of_a_declared_key_is_never_sure_to_be_unique() -> None:
    """It repeats by its nature, however many rows show none that does."""
    order_id = ColumnStatistics("order_id", "int64", ColumnFamily.WHOLE, filled=5_000, distinct=5_000)
    table = TableStatistics("lines", 5_000, 5_000, 5_000, (order_id,))
    sure = [proposal.confidence for proposal in single_keys(table, ("order_id", "line"))]
    assert sure == [Confidence.LOW]
