"""Catalogues say which tables patterns stand for; what is new is logged once, and nothing is dropped in silence."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from monitor.cli import run
from monitor.clock import SystemClock
from monitor.config import load
from monitor.suggest.expansion import refresh_tables
from monitor.terminal.output import Invocation

CONFIG = """\
version: 1
project: shop
sources: {shop: {url: "sqlite:///shop.db"}}
tables:
  - {name: own, table: orders, source: shop}
  - match: "*"
    exclude: ["tmp_*"]
    source: shop
    checks:
      - {type: volume, min: 1}
      - {type: not_null, columns: [id]}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a database of four tables and a view."""
    monkeypatch.chdir(tmp_path)
    _sql(*(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT)" for name in ("orders", "people", "tmp_a")))
    _sql("CREATE TABLE odd (a TEXT)", "CREATE VIEW seen AS SELECT id FROM people")
    _sql(*(f"INSERT INTO {name} (id) VALUES (1), (2)" for name in ("orders", "people")))
    (tmp_path / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def _sql(*statements: str) -> None:
    with closing(sqlite3.connect("shop.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def _run(*words: str) -> int:
    return run(words, Invocation())


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    capsys.readouterr()
    code = _run(*words, "--format", "json")
    return code, json.loads(capsys.readouterr().out)


def _events(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [event["note"] for event in reversed(_json(capsys, "event", "list")[1]["events"])]


def _configured() -> list[str]:
    return [table.name for table in load(Path("tablewatch.yaml")).config.tables]


@pytest.mark.usefixtures("shop")
def test_tables_join_by_themselves_and_are_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Views do, too; a second look logs nothing, and a new table joins at the next check."""
    assert _run("check") == 1
    assert _configured() == ["own", "odd", "people", "seen"]
    assert _events(capsys) == ["odd joined", "people joined", "seen joined"]
    code, answer = _json(capsys, "table", "refresh")
    assert (code, answer["joined"], answer["tables"]) == (0, {}, 3)
    _sql("CREATE TABLE later (id INTEGER)")
    _run("check")
    assert "later" in _configured()
    assert _events(capsys)[3:] == ["later joined"]


@pytest.mark.usefixtures("shop")
def test_a_table_that_vanished_is_named_and_its_incident_stays_open(capsys: pytest.CaptureFixture[str]) -> None:
    """Its checks say that it is missing, until the pattern excludes it or it is back."""
    _sql("DELETE FROM people")
    _run("check")
    _sql("DROP VIEW seen", "DROP TABLE people")
    _, answer = _json(capsys, "check")
    outcomes = {row["check_id"]: row["status"] for row in answer["results"]}
    assert (outcomes["people.volume"], outcomes["people.not-null"]) == ("fail", "unknown")
    assert _events(capsys)[3:] == ["people is gone", "seen is gone"]
    _run("check")
    assert len(_events(capsys)) == 5
    _, incidents = _json(capsys, "incident", "list")
    assert [item["state"] for item in incidents["incidents"] if item["table"] == "people"] == ["open"]
    _sql("CREATE TABLE people (id INTEGER)", "INSERT INTO people VALUES (1)")
    _run("check")
    assert _events(capsys)[5:] == ["people is back"]
    config = Path("tablewatch.yaml")
    config.write_text(config.read_text(encoding="utf-8").replace('["tmp_*"]', '["tmp_*", seen]'), encoding="utf-8")
    _run("table", "refresh")
    assert _configured() == ["own", "odd", "people"]


@pytest.mark.usefixtures("shop")
def test_a_source_that_cannot_be_reached_keeps_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """The command says so; incidents of its tables are not closed, even where the file with the tables is lost."""
    _run("check")
    Path("shop.db").rename("away.db")
    assert _run("table", "refresh") == 3
    assert "the 3 tables known before stay" in capsys.readouterr().err
    assert _configured() == ["own", "odd", "people", "seen"]
    Path("tablewatch.d/tables.json").unlink()
    assert _run("table", "refresh") == 3
    assert "no table is known yet" in capsys.readouterr().err
    _, incidents = _json(capsys, "incident", "list")
    assert {item["state"] for item in incidents["incidents"]} == {"open"}
    assert [item["table"] for item in incidents["incidents"]] == ["odd"]


@pytest.mark.usefixtures("shop")
def test_a_pattern_without_tables_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    """With the name that was probably meant."""
    text = CONFIG.replace('match: "*"', "match: peple")
    Path("tablewatch.yaml").write_text(text, encoding="utf-8")
    assert _run("table", "refresh") == 0
    notes = " ".join(capsys.readouterr().err.split())
    assert "'peple' matches no table of source 'shop', which has 5 tables: odd, orders, people, seen, tmp_a" in notes
    assert "did you mean 'people'?" in notes


@pytest.mark.usefixtures("shop")
def test_names_of_new_tables_may_be_used_before_they_are_known() -> None:
    """A route or an upstream table that only a pattern defines is an error only after catalogues were read."""
    text = CONFIG.replace("source: shop}", "source: shop, upstream: [people]}")
    Path("tablewatch.yaml").write_text(text, encoding="utf-8")
    assert _run("config", "check") == 2
    assert _run("check") == 1
    assert _run("config", "check") == 0


@pytest.mark.usefixtures("shop")
def test_commands_that_only_read_the_store_keep_to_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    """They work while the source is away, and a dry run keeps nothing."""
    assert _run("check", "--no-store") == 1
    assert not Path("tablewatch.d/tables.json").exists()
    _run("check")
    Path("shop.db").rename("away.db")
    _, status = _json(capsys, "status")
    assert {table["table"] for table in status["tables"]} == {"own", "odd", "people", "seen"}
    assert _run("incident", "list") == 0
    assert _run("config", "show") == 0
    assert "match: '*'" in capsys.readouterr().out


@pytest.mark.usefixtures("shop")
def test_the_expanded_configuration_is_shown_with_secrets_masked(capsys: pytest.CaptureFixture[str]) -> None:
    """It is of the catalogue now, and nothing is kept."""
    text = CONFIG.replace("project: shop", "project: shop\nweb: {tokens: ${TOKENS:-none}}").replace("web: ", "# web: ")
    Path("tablewatch.yaml").write_text(text, encoding="utf-8")
    capsys.readouterr()
    assert _run("config", "show", "--expanded") == 0
    shown = capsys.readouterr().out
    assert "name: people" in shown
    assert "match" not in shown
    assert not Path("tablewatch.d").exists()


@pytest.mark.usefixtures("shop")
def test_suggested_checks_stay_as_they_were_found() -> None:
    """They are found when a table joins, or once it has rows; later data does not change them."""
    text = CONFIG.replace("source: shop\n", "source: shop\n    suggest: sure\n")
    Path("tablewatch.yaml").write_text(text, encoding="utf-8")
    _sql("INSERT INTO people (id) VALUES " + ", ".join(f"({at})" for at in range(10, 60)))
    first = refresh_tables(Path("tablewatch.yaml"), SystemClock())
    checks = {
        table.name: [check.name for check in table.checks] for table in load(Path("tablewatch.yaml")).config.tables
    }
    assert first is not None
    assert checks["people"] == ["volume", "not-null", "primary-key", "schema"]
    assert checks["odd"] == ["volume"]
    _sql("DELETE FROM people", "INSERT INTO odd VALUES ('x')")
    second = refresh_tables(Path("tablewatch.yaml"), SystemClock())
    assert second is not None
    assert json.loads(second.text)["shop"]["people"] == json.loads(first.text)["shop"]["people"]
    assert [check["type"] for check in json.loads(second.text)["shop"]["odd"]["checks"]] == ["volume", "schema"]


def test_files_are_tables_of_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new file of a glob joins; two sources with a file of one name do not clash."""
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "day.csv").write_text("id\n1\n", encoding="utf-8")
    Path("a", "Other.csv").write_text("n\n1\n", encoding="utf-8")
    check = "checks: [{type: not_null, columns: [id]}]"
    text = "version: 1\nproject: p\nsources: {a: {files: 'a/*.csv'}, b: {files: 'b/*.csv'}}\ntables:\n"
    patterns = "".join(f"- {{match: '*', source: {name}, {check}}}\n" for name in ("a", "b"))
    Path("tablewatch.yaml").write_text(text + patterns, encoding="utf-8")
    assert _run("check") == 0
    tables = {table.name: len(table.checks) for table in load(Path("tablewatch.yaml")).config.tables}
    assert tables == {"Other": 0, "day": 1, "b.day": 1}


@pytest.mark.postgres
def test_two_thousand_tables_of_postgresql_take_few_statements(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two for all of them; partitions belong to their parent, and what may not be read does not join."""
    monkeypatch.chdir(tmp_path)
    create: Sequence[str] = [f"CREATE TABLE wide.t{at} (id int, at timestamptz)" for at in range(2_000)]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS wide CASCADE; CREATE SCHEMA wide")
        connection.execute(";".join(create))
        connection.execute("CREATE TABLE wide.parts (id int, day date) PARTITION BY RANGE (day)")
        connection.execute(
            "CREATE TABLE wide.part1 PARTITION OF wide.parts FOR VALUES FROM ('2026-01-01') TO (maxvalue)"
        )
        connection.execute('CREATE VIEW wide."View" AS SELECT id FROM wide.t1; CREATE TABLE wide."a.b" (id int)')
    text = f"version: 1\nproject: p\nsources: {{s: {{url: '{postgres_url}'}}}}\ntables:\n"
    entry = "- {match: 'wide.*', source: s, checks: [{type: freshness, column: at, max_age: 1d}]}\n"
    Path("tablewatch.yaml").write_text(text + entry, encoding="utf-8")
    asked: list[str] = []
    execute = psycopg.Cursor.execute
    monkeypatch.setattr(
        psycopg.Cursor,
        "execute",
        lambda self, sql, *words, **more: asked.append(sql) or execute(self, sql, *words, **more),
    )
    try:
        refreshed = refresh_tables(Path("tablewatch.yaml"), SystemClock())
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA wide CASCADE")
    assert refreshed is not None
    assert refreshed.tables == 2_003
    assert sum("pg_class" in sql and "pg_attribute" in sql for sql in asked) == 1
    assert len([sql for sql in asked if "pg_catalog.pg_class" in sql and "pg_locks" not in sql]) == 2
    tables = {table.name: table for table in load(Path("tablewatch.yaml")).config.tables}
    assert [name for name in tables if not name.startswith("wide.t")] == ["wide.View", "wide.a.b", "wide.parts"]
    assert sum(len(table.checks) for table in tables.values()) == 2_000


@pytest.mark.usefixtures("shop")
def test_declared_references_between_tables_of_a_pattern_are_suggested() -> None:
    """By the names that the tables have in the configuration."""
    _sql("CREATE TABLE visits (id INTEGER PRIMARY KEY, person INTEGER REFERENCES people (id))")
    _sql("INSERT INTO visits VALUES (1, 1), (2, 2)")
    text = CONFIG.replace("source: shop\n", "source: shop\n    suggest: sure\n")
    Path("tablewatch.yaml").write_text(text, encoding="utf-8")
    refreshed = refresh_tables(Path("tablewatch.yaml"), SystemClock())
    assert refreshed is not None
    checks = {check["type"]: check for check in json.loads(refreshed.text)["shop"]["visits"]["checks"]}
    assert checks["foreign_key"]["references"] == "people.id"


@pytest.mark.usefixtures("shop")
def test_no_name_of_a_table_breaks_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever tables are called, each has a name of its own, and one without a name is noted."""
    names = ["", "\n", "two\nlines", "two lines", "shop.two lines", "br[ac]k", 'q"u', "${HOME}", "*"]
    _sql(*('CREATE TABLE "{}" (id INTEGER)'.format(name.replace('"', '""')) for name in names))
    _run("table", "refresh")
    assert "a table without a name cannot be configured; not monitored" in capsys.readouterr().err
    configured = _configured()
    assert len(set(configured)) == len(configured) == len([*names, "own", "odd", "people", "seen"]) - 2
    assert {"two lines", "shop.two lines", "shop.shop.two lines", "br[ac]k", "${HOME}"} < set(configured)


@pytest.mark.usefixtures("shop")
def test_an_entry_takes_the_name_of_a_table_of_a_pattern() -> None:
    """An entry that is named as a table of a pattern keeps its name; the other table gets one of its own."""
    _run("check")
    config = Path("tablewatch.yaml")
    entry = "  - {name: people, table: tmp_a, source: shop, checks: [{type: volume, max: 9}]}\n"
    config.write_text(config.read_text(encoding="utf-8") + entry, encoding="utf-8")
    _run("check")
    tables = {table.name: table.table for table in load(config).config.tables}
    assert (tables["people"], tables["shop.people"]) == ("tmp_a", "people")
