"""`init` reads whole databases: every type of an engine, hundreds of tables, columns that cannot be read."""

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monitor.cli import run
from monitor.clock import SystemClock
from monitor.scan import plan_shapes
from monitor.scan.results import Subject, Target
from monitor.suggest import profile
from monitor.suggest.statements import ColumnTemplates, TableStatements
from monitor.suggest.suggest import SourceSuggestions, SuggestionTarget, suggest_checks
from monitor.terminal.output import Invocation
from sources import SourceSpec, open_source
from sources._engine import EngineSource
from tests.monitor.suggest.sample_databases import SAMPLES

POSTGRES_OWN_TYPES = (
    "CREATE TYPE mood AS ENUM ('ok')",
    "CREATE TYPE pair AS (a int, b text)",
    "CREATE DOMAIN positive AS int",
)
POSTGRES_TYPES: Mapping[str, str] = {
    '"char"': "'a'",
    "bit(3)": "B'101'",
    "bit varying": "B'1'",
    "boolean": "true",
    "bytea": "'x'",
    "box": "'(1,1),(0,0)'",
    "cidr": "'10.0.0.0/8'",
    "circle": "'<(0,0),1>'",
    "date": "'0044-03-15 BC'",
    "float8": "'NaN'",
    "inet": "'10.0.0.1'",
    "int[]": "'{1}'",
    "int4multirange": "'{[1,3)}'",
    "int4range": "'[1,5)'",
    "interval(3)": "'1 day'",
    "json": "'{}'",
    "jsonb": "'{}'",
    "jsonpath": "'$.a'",
    "line": "'{1,2,3}'",
    "macaddr": "'08:00:2b:01:02:03'",
    "money": "'12.50'",
    "mood": "'ok'",
    "mood[]": "'{ok}'",
    "name": "'n'",
    "numeric": "'NaN'",
    "numeric(5,-2)": "100",
    "oid": "1",
    "pair": "ROW(1, 'x')::pair",
    "pair[]": "ARRAY[ROW(1, 'x')::pair]",
    "pg_lsn": "'0/0'",
    "point": "'(1,2)'",
    "positive": "1",
    "regclass": "'pg_class'",
    "text": "'x'",
    "tid": "'(0,1)'",
    "time": "'24:00'",
    "timetz": "'10:00+02'",
    "timestamp": "'294276-12-31'",
    "timestamptz": "'infinity'",
    "tsquery": "'a'",
    "tstzrange": "'[2026-01-01,)'",
    "tsvector": "'a b'",
    "uuid": "gen_random_uuid()",
    "xid": "'1'",
    "xml": "'<a/>'",
}
MARIADB_TYPES: Sequence[str] = (
    "bigint unsigned",
    "binary(16)",
    "bit(3)",
    "blob",
    "date",
    "datetime(6)",
    "decimal(5,2) unsigned",
    "double unsigned",
    "enum('a','b')",
    "geometry",
    "inet4",
    "inet6",
    "int unsigned zerofill",
    "json",
    "point",
    "set('a','b')",
    "time(6)",
    "timestamp null",
    "tinyint(1)",
    "uuid",
    "year",
)
DUCKDB_TYPES: Mapping[str, str] = {
    "BIGNUM": "1",
    "BIT": "'101'",
    "BLOB": "'x'",
    "DATE": "'2026-01-01'",
    "DECIMAL(38,10)": "1",
    "ENUM('a')": "'a'",
    "HUGEINT": "1",
    "INTEGER[3]": "[1, 2, 3]",
    "INTERVAL": "INTERVAL 1 DAY",
    "JSON": "'{}'",
    "MAP(INTEGER, BIT)": "NULL",
    "STRUCT(a INTEGER, b BIT)": "NULL",
    "TIME": "'10:00'",
    "TIMESTAMP": "'infinity'",
    "TIMESTAMPTZ": "now()",
    "TIME_NS": "'10:00'",
    "UBIGINT": "1",
    "UHUGEINT": "1",
    "UNION(n INTEGER, t VARCHAR)": "1",
    "UUID": "uuid()",
}
SPATIAL = {"geometry", "line", "point"}
"""Types that are not measured: Ibis reads shapes by extensions."""
SQLITE_TYPES = (
    "",
    "BLOB SUB_TYPE TEXT",
    "FOO",
    "INTERVAL",
    "MONEY",
    "NATIVE CHARACTER(70)",
    "POINT",
    "UNSIGNED BIG INT",
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code = run((*words, "--format", "json"), Invocation())
    return code, json.loads(capsys.readouterr().out)


def _passes(capsys: pytest.CaptureFixture[str], url: str) -> Mapping[str, Any]:
    """Write a configuration, run its checks, and return what `init` proposes by table."""
    code, written = _json(capsys, "init", "--source", url)
    assert (code, written["left_out"]) == (0, [])
    problems = {table["table"]: table["problem"] for table in written["suggestions"] if table["problem"]}
    assert not problems
    code, result = _json(capsys, "check", "--no-store")
    assert code == 0, [item for item in result["results"] if item["status"] != "pass"]
    code, suggested = _json(capsys, "suggest", *[table["table"] for table in written["suggestions"]])
    assert (code, [table["problem"] for table in suggested["tables"] if table["problem"]]) == (0, [])
    return {table["table"]: table for table in written["suggestions"]}


def _schema_of(table: Mapping[str, Any]) -> Mapping[str, str | None]:
    [check] = [item["check"] for item in table["proposals"] if item["kind"] == "schema"]
    types: Mapping[str, str | None] = check["columns"]
    return types


def test_every_type_of_postgresql(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table with a column of each type and tables of one each are read; types that Ibis does not know have names."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "DROP SCHEMA IF EXISTS every_type CASCADE; CREATE SCHEMA every_type; SET search_path TO every_type; "
            + "; ".join(POSTGRES_OWN_TYPES)
        )
        names = {kind: f"c{at}" for at, kind in enumerate(POSTGRES_TYPES)}
        columns = ", ".join(f"{name} {kind}" for kind, name in names.items())
        connection.execute(f"CREATE TABLE odd (id int PRIMARY KEY, {columns})")
        values = ", ".join(POSTGRES_TYPES.values())
        connection.execute(f"INSERT INTO odd SELECT g, {values} FROM generate_series(1, 40) g")
        connection.execute("INSERT INTO odd (id) VALUES (41)")
        connection.execute("CREATE TABLE plain (id int PRIMARY KEY); INSERT INTO plain VALUES (1)")
        connection.execute(
            "CREATE TABLE open_ended (id int PRIMARY KEY, valid_to timestamptz, day date); INSERT INTO open_ended "
            "SELECT g, now() - g * interval '1 hour', current_date - g FROM generate_series(1, 99) g; "
            "INSERT INTO open_ended VALUES (0, 'infinity', 'infinity'), (-1, '-infinity', '4713-01-01 BC')"
        )
    monkeypatch.setenv("POSTGRES_PASSWORD", str(urlsplit(postgres_url).password))
    database = urlsplit(postgres_url).path[1:]
    monkeypatch.setenv(f"{database.upper()}_PASSWORD", str(urlsplit(postgres_url).password))
    tables = _passes(capsys, f"{postgres_url}?options=-c%20search_path%3Devery_type")
    types = _schema_of(tables["odd"])
    own = ("tsvector", "regclass", "int4multirange", "pg_lsn", "xml", "box", "pair", "pair[]", "bit(3)", '"char"')
    assert [types[names[kind]] for kind in own] == list(own)


def test_every_type_of_mariadb(
    mysql_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table with a column of each type of MariaDB is read, written and checked."""
    import MySQLdb

    place = urlsplit(mysql_url)
    login = {"host": place.hostname, "port": place.port, "user": place.username, "passwd": place.password}
    connection = MySQLdb.connect(**login, autocommit=True)
    with connection.cursor() as cursor:
        cursor.execute("CREATE OR REPLACE DATABASE every_type")
        cursor.execute("USE every_type")
        columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(MARIADB_TYPES))
        cursor.execute(f"CREATE TABLE odd (id int PRIMARY KEY, {columns})")
        cursor.execute("INSERT INTO odd (id) SELECT seq FROM seq_1_to_40")
        cursor.execute("SET sql_mode = ''")
        cursor.execute("CREATE TABLE zero_dates (id int PRIMARY KEY, d date, dt datetime)")
        cursor.execute("INSERT INTO zero_dates SELECT seq, '0000-00-00', '0000-00-00' FROM seq_1_to_30")
        cursor.execute("INSERT INTO zero_dates VALUES (31, '2026-11-00', '2026-11-20'), (32, '2026-11-20', now())")
        cursor.execute("UPDATE odd SET c9 = ST_GeomFromText('POINT(1 1)'), c20 = 2001 WHERE id < 9")
    connection.close()
    monkeypatch.setenv("EVERY_TYPE_PASSWORD", str(place.password))
    assert "odd" in _passes(capsys, f"{mysql_url.rpartition('/')[0]}/every_type")


def test_every_type_of_duckdb(capsys: pytest.CaptureFixture[str]) -> None:
    """A table with a column of each type of DuckDB is read; types that Ibis does not know have their own names."""
    with duckdb.connect("odd.duckdb") as connection:
        columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(DUCKDB_TYPES))
        connection.execute(f"CREATE TABLE odd (id INTEGER PRIMARY KEY, {columns})")
        connection.execute(f"INSERT INTO odd SELECT i, {', '.join(DUCKDB_TYPES.values())} FROM range(40) t(i)")
    types = _schema_of(_passes(capsys, "duckdb:///odd.duckdb")["odd"])
    assert {"BIGNUM", "BIT", "UHUGEINT"} <= set(types.values())


def test_every_word_that_sqlite_takes_for_a_type(capsys: pytest.CaptureFixture[str]) -> None:
    """SQLite takes any word for a type; a column of one that Ibis cannot read costs no other."""
    with sqlite3.connect("odd.db") as connection:
        columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(SQLITE_TYPES))
        connection.execute(f"CREATE TABLE odd (id INTEGER PRIMARY KEY, {columns})")
        connection.executemany("INSERT INTO odd (id, c1) VALUES (?, 1)", [(number,) for number in range(40)])
    connection.close()
    assert _schema_of(_passes(capsys, "sqlite:///odd.db")["odd"])["c2"] == "foo"


def _make_sample(name: str, engine: str, request: pytest.FixtureRequest) -> str:
    """Make a sample database with a table of every type of the engine beside its own, and return its address."""
    columns, odd = _every_type(engine)
    statements = [*SAMPLES[name].statements(engine), *columns, *odd]
    if engine == "postgres":
        import psycopg

        server = request.getfixturevalue("postgres_url").rpartition("/")[0]
        database = f"{name}_{os.getpid()}"
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {database}")
        with psycopg.connect(f"{server}/{database}", autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)
        return f"{server}/{database}"
    if engine == "mysql":
        from sources.mysql import connect

        server = request.getfixturevalue("mysql_url").rpartition("/")[0]
        database = f"{name}_{os.getpid()}"
        with closing(connect(server)) as connection:
            for statement in (f"CREATE OR REPLACE DATABASE {database}", f"USE {database}", *statements):
                connection.query(statement)
        return f"{server}/{database}"
    with closing(sqlite3.connect("s.sqlite") if engine == "sqlite" else duckdb.connect("s.duckdb")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return f"{engine}:///s.{engine}"


def _types_of(engine: str) -> Mapping[str, str | None]:
    """Return every type of an engine, and a value of it; None for NULL."""
    types: Mapping[str, Mapping[str, str | None]] = {
        "postgres": POSTGRES_TYPES,
        "mysql": dict.fromkeys(MARIADB_TYPES),
        "sqlite": dict.fromkeys(SQLITE_TYPES),
        "duckdb": DUCKDB_TYPES,
    }
    return types[engine]


def _every_type(engine: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return what makes a table `odd` of every type of an engine, and what fills it."""
    types = _types_of(engine)
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(types))
    values = ", ".join(value or "NULL" for value in types.values())
    before = POSTGRES_OWN_TYPES if engine == "postgres" else ()
    table = f"CREATE TABLE odd (id int PRIMARY KEY, {columns})"
    return [*before, table], [f"INSERT INTO odd VALUES ({number}, {values})" for number in range(40)]


@pytest.mark.parametrize(
    "engine",
    [
        "sqlite",
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("mysql", marks=pytest.mark.mysql),
    ],
)
@pytest.mark.parametrize("name", SAMPLES)
def test_databases_like_those_that_everyone_knows(
    name: str,
    engine: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All tables and views are written, what is declared is sure, and all that is written passes."""
    sample = SAMPLES[name]
    url = _make_sample(name, engine, request)
    place = urlsplit(url)
    monkeypatch.setenv(f"{place.path[1:].upper()}_PASSWORD", str(place.password))
    tables = _passes(capsys, url)
    also = {"payment", "rental_by_category"} if (name, engine) == ("sakila", "postgres") else set()
    assert set(tables) == {"odd", *(table.name for table in sample.tables), *sample.views, *also}
    active = [(table, item) for table, found in tables.items() for item in found["proposals"] if item["active"]]
    declared = [(table, item["kind"]) for table, item in active if item["confidence"] == "declared"]
    assert {table for table, kind in declared if kind == "key"} == {"odd", *(table.name for table in sample.tables)}
    circle = int(name == "sakila" and engine in {"postgres", "mysql"})
    assert sum(kind == "foreign_key" for _, kind in declared) == sample.references + circle
    left_out = {column for found in tables.values() for column in found["left_out_columns"]}
    assert left_out <= {"location", *(f"c{at}" for at, kind in enumerate(_types_of(engine)) if kind in SPATIAL)}


def test_a_dollar_sign_in_names_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    """A column `${HOME}` is written, as a key and in lists, so that its checks find it, and nothing is filled in."""
    with sqlite3.connect("odd.db") as connection:
        connection.execute('CREATE TABLE "$t" ("$id" INTEGER PRIMARY KEY, "${HOME}" TEXT, "$$" INTEGER)')
        connection.executemany('INSERT INTO "$t" VALUES (?, ?, ?)', [(at, "x", at) for at in range(40)])
    connection.close()
    assert list(_schema_of(_passes(capsys, "sqlite:///odd.db")["$t"])) == ["$id", "${HOME}", "$$"]


def test_every_table_is_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A source of 230 tables has 230 in the configuration."""
    with sqlite3.connect("many.db") as connection:
        for number in range(230):
            connection.execute(f"CREATE TABLE t{number:03} (id INTEGER PRIMARY KEY)")
    connection.close()
    code, written = _json(capsys, "init", "--source", "many.db")
    assert (code, written["tables"]) == (0, 230)
    assert (here / "tablewatch.yaml").read_text(encoding="utf-8").count("- name: t") == 230


def test_a_column_that_cannot_be_read_costs_only_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a Parquet file with a decimal of 50 digits the other columns are measured, and that one is named."""
    numbers = pa.array(range(40), pa.int64())
    wide = pa.array([1] * 40, pa.decimal256(50, 0))
    pq.write_table(pa.table({"id": numbers, "wide": wide, "n": numbers}), "t.parquet")  # type: ignore[no-untyped-call]
    code, written = _json(capsys, "init", "--source", "t.parquet")
    [table] = written["suggestions"]
    assert (code, table["problem"], table["left_out_columns"]) == (0, None, ["wide"])
    assert {"key", "volume", "schema"} <= {item["kind"] for item in table["proposals"]}


def test_types_that_pandas_and_arrow_write_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Times of nanoseconds are measured, and beside a decimal of 60 digits a type of which Ibis has no name is read."""
    numbers = pa.array(range(40), pa.int64())
    times = pa.array([at * 3_600 * 10**9 for at in range(40)], pa.timestamp("ns"))
    columns = {"id": numbers, "loaded_at": times, "t": pa.array([1] * 40, pa.time64("ns"))}
    pq.write_table(pa.table(columns), "t.parquet")  # type: ignore[no-untyped-call]
    wide = pa.array([1] * 40, pa.decimal256(60, 2))
    pq.write_table(pa.table({**columns, "wide": wide}), "w.parquet")  # type: ignore[no-untyped-call]
    tables = _passes(capsys, "*.parquet")
    assert [tables[name]["left_out_columns"] for name in ("t", "w")] == [[], ["wide"]]
    assert {"key", "volume", "schema"} <= {item["kind"] for item in tables["t"]["proposals"]}


def test_a_table_without_a_name_costs_only_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """SQLite allows it; a configuration cannot name it, so it is reported and the others are written."""
    with closing(sqlite3.connect("odd.db")) as connection:
        for name in ("", " ", "good"):
            connection.execute(f'CREATE TABLE "{name}" (id INTEGER PRIMARY KEY)')
    code, written = _json(capsys, "init", "--source", "odd.db")
    assert (code, [table["table"] for table in written["suggestions"]]) == (0, ["good"])
    assert written["left_out"] == ["source 'odd': a table without a name cannot be configured"] * 2
    code, _ = _json(capsys, "config", "check")
    assert code == 0


def test_a_configuration_of_thousands_of_tables_is_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `init` writes of a large database, such as 3,200 tables in 2 MB, is not refused for its size."""
    table = "- {{name: t{0}, source: s, checks: [{{type: volume, min: 1, why: {1}}}]}}\n"
    text = "".join(table.format(number, "x" * 600) for number in range(3_200))
    assert len(text) > 2_000_000
    head = "version: 1\nproject: p\nsources: {s: {url: 'sqlite:///s.db'}}\ntables:\n"
    (here / "tablewatch.yaml").write_text(head + text, encoding="utf-8")
    assert _json(capsys, "config", "check")[0] == 0


def test_an_internal_error_of_one_table_is_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What goes wrong while one table is measured stands beside it, and the others are written."""
    with sqlite3.connect("two.db") as connection:
        connection.execute("CREATE TABLE bad (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE good (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO good VALUES (1)")
    connection.close()
    profile_table = suggest_checks.__globals__["profile_table"]

    def fails_on_one(statements: Any, name: str) -> Any:
        if name == "bad":
            raise RecursionError("a text with data")
        return profile_table(statements, name)

    monkeypatch.setitem(suggest_checks.__globals__, "profile_table", fails_on_one)
    code, written = _json(capsys, "init", "--source", "two.db")
    problems = {table["table"]: table["problem"] for table in written["suggestions"]}
    assert (code, problems) == (0, {"bad": "internal error (RecursionError); please report it", "good": None})


def _suggested(folder: Path, names: Sequence[str]) -> SourceSuggestions:
    spec = SourceSpec("s", folder, url="sqlite:///s.db")
    return suggest_checks([SuggestionTarget(Target(Subject(name, name, ()), spec)) for name in names], SystemClock())


def test_expressions_are_compiled_by_type_and_not_by_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of the same types compiles its own rows only, whatever its columns, and shares a plan."""
    monkeypatch.setattr(plan_shapes, "_plans", {})
    compiled = []
    compile_expression = EngineSource.compile
    monkeypatch.setattr(EngineSource, "compile", lambda self, it: compiled.append(it) or compile_expression(self, it))
    with sqlite3.connect(tmp_path / "s.db") as connection:
        for name, columns in (("a", 3), ("b", 3), ("c", 30)):
            texts = ", ".join(f"c{at} TEXT" for at in range(columns))
            connection.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, at TIMESTAMP, {texts})")
            values = [(row, f"2026-01-{1 + row:02}", *["x", "y"] * columns) for row in range(9 + columns)]
            marks = ", ".join("?" * (columns + 2))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", [row[: columns + 2] for row in values[:28]])
    connection.close()
    counts = []
    for names in (["a"], ["a", "b"], ["a", "b", "c"]):
        compiled.clear()
        plan_shapes._plans.clear()
        _suggested(tmp_path, names)
        counts.append(len(compiled))
    assert counts[1] - counts[0] <= 2
    assert counts[2] - counts[1] < 12


TEXTS = (*["SKU-042"] * 3, *["sku-7"] * 2, "Zürich 8001", "日本", "a\tb", "tab", "", "x'y", "[1]-^", None)


@pytest.fixture
def texts_on(engine: str, here: Path, request: pytest.FixtureRequest) -> SourceSpec:
    """Write a table of texts and numbers into a database of an engine, and return its source."""
    rows = [(text, number % 3) for number, text in enumerate(TEXTS)]
    if engine == "postgresql":
        import psycopg

        url = request.getfixturevalue("postgres_url")
        with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(
                "DROP SCHEMA IF EXISTS texts CASCADE; CREATE SCHEMA texts; CREATE TABLE texts.t (a text, n int)"
            )
            cursor.executemany("INSERT INTO texts.t VALUES (%s, %s)", rows)
        return SourceSpec("s", here, url=f"{url}?options=-c%20search_path%3Dtexts")
    if engine == "mariadb":
        import MySQLdb

        url = request.getfixturevalue("mysql_url")
        place = urlsplit(url)
        login = {"host": place.hostname, "port": place.port, "user": place.username, "passwd": place.password}
        connection = MySQLdb.connect(**login, autocommit=True, charset="utf8mb4")
        with connection.cursor() as cursor:
            cursor.execute("CREATE OR REPLACE DATABASE texts CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
            cursor.execute("CREATE TABLE texts.t (a varchar(40), n int)")
            cursor.executemany("INSERT INTO texts.t VALUES (%s, %s)", rows)
        connection.close()
        return SourceSpec("s", here, url=f"{url.rpartition('/')[0]}/texts")
    opened = sqlite3.connect("t.sqlite") if engine == "sqlite" else duckdb.connect("t.duckdb")
    opened.execute("CREATE TABLE t (a TEXT, n INTEGER)")
    opened.executemany("INSERT INTO t VALUES (?, ?)", rows)
    opened.commit()
    opened.close()
    return SourceSpec("s", here, url=f"{engine}:///t.{engine}")


@pytest.mark.parametrize(
    "engine",
    [
        "sqlite",
        "duckdb",
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("mariadb", marks=pytest.mark.mysql),
    ],
)
def test_values_are_counted_alike_here_and_in_the_engine(texts_on: SourceSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows from all values of a column is what the engine counts where it returns the most frequent only."""

    def measured() -> profile.TableStatistics:
        with open_source(texts_on) as source:
            return profile.profile_table(TableStatements(ColumnTemplates(source), "t"), "t")

    here = measured()
    monkeypatch.setattr(profile, "_comes_whole", lambda _column, _share: False)
    assert here == measured()
    [text, number] = here.columns
    assert {shape.text: shape.rows for shape in text.shapes}["AAA-999"] == 3
    assert (text.counted, text.singletons, text.alike, number.sampled_distinct) == (12, 7, 8, 3)
