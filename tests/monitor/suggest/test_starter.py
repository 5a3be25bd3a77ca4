"""Writing a first configuration for tables that exist."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from monitor.clock import SystemClock
from monitor.config import Config, load
from monitor.config._substitute import Substitution
from monitor.config.yaml_nodes import plain_data, read_yaml
from monitor.suggest.catalogue import TableEntry, read_catalogue
from monitor.suggest.sources import SourceLocation, SourceNotFound, source_locations
from monitor.suggest.starter import _in_flow, _scalar, table_names, write_yaml
from monitor.suggest.suggest import SourceSuggestions, TableSuggestions
from monitor.suggest.targets import suggest_for_catalogues
from sources import SourceSpec


def _yaml_for(source: str | None, folder: Path, working: Path) -> str:
    tables = [(place, read_catalogue(place.spec)) for place in source_locations(source, folder, working).locations]
    suggestions = suggest_for_catalogues(tables, SystemClock(), lambda *_: None)
    return write_yaml(tables, suggestions, project="p")


def _config_for(source: str | None, folder: Path, working: Path) -> Config:
    path = folder / "tablewatch.yaml"
    path.write_text(_yaml_for(source, folder, working), encoding="utf-8")
    return load(path, environment={}).config


def _data(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            duckdb.sql("SELECT 1 AS id").write_parquet(str(path))
        else:
            path.write_text("id,at\n1,2026-11-09\n", encoding="utf-8")


def _shop(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE orders (id INTEGER PRIMARY KEY, "Paid $at" TEXT, updated_at TIMESTAMP)')
        connection.execute("INSERT INTO orders VALUES (1, '', '2026-11-09 08:00'), (2, '', '2026-11-10 08:00')")
        connection.execute("CREATE TABLE lines (b INT, a INT, PRIMARY KEY (a, b))")
        connection.execute("INSERT INTO lines VALUES (1, 2)")
        connection.execute('CREATE TABLE "NO key, no cry: 1" (x INT)')
    connection.close()


def test_declared_keys_become_checks(tmp_path: Path) -> None:
    """A key that SQLite declares becomes a primary_key check, its columns in the declared order; no key is guessed."""
    _shop(tmp_path / "shop.db")
    config = _config_for("shop.db", tmp_path, tmp_path)
    keys = {
        table.name: [check.columns for check in table.checks if check.type == "primary_key"] for table in config.tables
    }
    assert keys == {"orders": [("id",)], "lines": [("a", "b")], "NO key, no cry: 1": []}
    assert config.sources["shop"].url == "sqlite:///shop.db"


def test_a_column_that_tells_when_rows_came_is_suggested_as_a_comment(tmp_path: Path) -> None:
    """With too few gaps between rows to be sure, freshness is suggested, not put into force."""
    _shop(tmp_path / "shop.db")
    text = _yaml_for("shop.db", tmp_path, tmp_path)
    assert "      # - {type: freshness, column: updated_at, max_age: 62h, timezone: UTC}" in text.splitlines()


def test_duckdb_keys_are_read(tmp_path: Path) -> None:
    """A key that DuckDB declares becomes a check too."""
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE lines (b INT, a INT, loaded TIMESTAMP, PRIMARY KEY (a, b))")
        connection.execute("INSERT INTO lines VALUES (1, 2, NULL)")
    config = _config_for("shop.duckdb", tmp_path, tmp_path)
    (table,) = config.tables
    assert [check.columns for check in table.checks if check.type == "primary_key"] == [("a", "b")]


def test_paths_are_written_beside_the_configuration(tmp_path: Path) -> None:
    """What a person types is relative to the working folder, what is written to the configuration's folder."""
    (tmp_path / "conf").mkdir()
    _data(tmp_path, "data/orders.csv")
    config = _config_for("data", tmp_path / "conf", tmp_path)
    assert config.sources["data"].files == "../data/*.csv"
    assert [table.name for table in config.tables] == ["orders"]


def test_files_of_the_folder_are_found(tmp_path: Path) -> None:
    """Without a word about the source, the data files of the folder are taken, or it is said that there are none."""
    for empty in (tmp_path, tmp_path / "not-there"):
        with pytest.raises(SourceNotFound):
            source_locations(None, empty, empty)
    _shop(tmp_path / "shop.db")
    _shop(tmp_path / "tablewatch.db")  # our own store
    _data(tmp_path, "a.csv")
    found = [place.entry for place in source_locations(None, tmp_path, Path("/elsewhere")).locations]
    assert found == [{"files": "*.csv"}, {"url": "sqlite:///shop.db"}]


def test_a_lake_of_partitioned_tables_is_found(tmp_path: Path) -> None:
    """Folders with `key=value` folders or part files below are tables; other files are a table each."""
    _data(tmp_path, "lake/orders/day=1/part-0.parquet", "lake/orders/day=2/part-0.parquet")
    _data(tmp_path, "lake/lines/part-0.parquet", "lake/lines/part-1.parquet", "lake/lines/_SUCCESS/x.parquet")
    _data(tmp_path, "lake/seeds/shops.csv", "lake/seeds/staff.csv", "lake/.hidden/x.csv")
    config = _config_for("lake", tmp_path, tmp_path)
    assert [table.name for table in config.tables] == ["lines", "orders", "shops", "staff"]
    assert config.sources["orders"].files == "lake/orders/**/*.parquet"
    assert config.sources["orders"].table == "orders"
    assert config.sources["seeds"].files == "lake/seeds/*.csv"


def test_a_folder_that_is_one_partitioned_table_is_one_table(tmp_path: Path) -> None:
    """A table's own folder may be named, too."""
    _data(tmp_path, "orders/day=1/a.csv", "orders/day=2/a.csv")
    config = _config_for("orders", tmp_path, tmp_path)
    assert [table.name for table in config.tables] == ["orders"]


def test_tables_of_one_name_in_two_sources_are_told_apart(tmp_path: Path) -> None:
    """The configuration names each table once, and keeps what its source calls it."""
    _data(tmp_path, "old/orders.csv", "new/orders.csv", "new/lines.csv")
    config = _config_for(None, tmp_path, tmp_path)
    assert [(table.name, table.source, table.table) for table in config.tables] == [
        ("lines", "new", None),
        ("new.orders", "new", "orders"),
        ("old.orders", "old", "orders"),
    ]


def test_a_password_is_not_written_down(tmp_path: Path) -> None:
    """The password of an address is left to an environment variable, and used only to read the catalogue now."""
    (place,) = source_locations("postgresql://me:p%40ss@host/my_shop", tmp_path, tmp_path).locations
    suggestions = {place.name: SourceSuggestions((TableSuggestions("orders"),))}
    text = write_yaml([(place, [TableEntry("orders")])], suggestions, project="p")
    assert "p%40ss" not in text + repr(place)
    assert 'url: "postgresql://me:${MY_SHOP_PASSWORD}@host/my_shop"   # set MY_SHOP_PASSWORD before you start' in text
    assert place.spec.url == "postgresql://me:p%40ss@host/my_shop"
    path = tmp_path / "tablewatch.yaml"
    path.write_text(text, encoding="utf-8")
    loaded = load(path, environment={"MY_SHOP_PASSWORD": "p%40ss"})
    assert loaded.config.sources["my-shop"].url == "postgresql://me:p%40ss@host/my_shop"


def test_a_table_whose_name_has_control_characters_keeps_it_in_its_source_alone(tmp_path: Path) -> None:
    """A name in the configuration cannot have them; the table is the one that the source calls so."""
    (place,) = source_locations("postgresql://host/shop", tmp_path, tmp_path).locations
    tables = [(place, [TableEntry("or\tders")])]
    (name,) = table_names(tables).values()
    suggestions = {place.name: SourceSuggestions((TableSuggestions(name),))}
    path = tmp_path / "tablewatch.yaml"
    path.write_text(write_yaml(tables, suggestions, project="p"), encoding="utf-8")
    (table,) = load(path).config.tables
    assert (table.name, table.table) == ("or ders", "or\tders")


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))))
@example("\ufffe\u2028 \ufeff")
def test_any_name_is_written_so_that_it_is_read_back(name: str) -> None:
    """Names with quotes, dollars, colons or words like NO come back as they were."""
    tree, problems = read_yaml(f"a: {_scalar(name)}\nb: {{c: {_in_flow(name)}}}\n", "t.yaml")
    substitution = Substitution({})
    substitution.fill(tree, Path())
    assert problems == substitution.problems == []
    assert plain_data(tree) == {"a": name, "b": {"c": name}}


@pytest.fixture
def reader_url(postgres_url: str) -> Iterator[str]:
    """Yield the URL of a database in which a role may read some tables and columns, and nothing else."""
    import psycopg

    name = f"tablewatch_setup_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}")
        admin.execute(f"CREATE DATABASE {name}")
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'p'")
        server, _, _ = postgres_url.rpartition("/")
        address = server.rpartition("@")[2].removeprefix("postgresql://")
        with psycopg.connect(f"{server}/{name}", autocommit=True) as owner:
            owner.execute(
                "CREATE TABLE orders (day date, id int, loaded_at timestamptz, PRIMARY KEY (id, day));"
                "CREATE TABLE salaries (id int PRIMARY KEY);"
                "CREATE TABLE people (id int PRIMARY KEY, mail text, updated_at timestamptz, created_at timestamptz);"
                "CREATE VIEW orders_view AS SELECT * FROM orders;"
                'CREATE SCHEMA shop; CREATE TABLE shop."Refunds" (code text PRIMARY KEY, at timestamp);'
                "CREATE SCHEMA shut; CREATE TABLE shut.hidden (id int PRIMARY KEY);"
                f"GRANT SELECT ON orders, orders_view, shut.hidden TO {name};"
                f'GRANT USAGE ON SCHEMA shop TO {name}; GRANT SELECT ON shop."Refunds" TO {name};'
                f"GRANT SELECT (mail, created_at) ON people TO {name}"
            )
        yield f"postgresql://{name}:p@{address}/{name}"
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
        admin.execute(f"DROP ROLE {name}")


@pytest.mark.postgres
def test_a_role_that_may_only_select_finds_declared_keys(reader_url: str, tmp_path: Path) -> None:
    """Keys come in their declared order, of other schemas too; what may not be read is left out by name."""
    spec = SourceSpec("warehouse", tmp_path, url=reader_url)
    tables = {table.name: table for table in read_catalogue(spec)}
    keys = {name: table.key for name, table in tables.items() if table.problem is None}
    assert keys == {
        "orders": ("id", "day"),
        "orders_view": (),
        "people": (),  # the key may not be read, so no check of it could be evaluated
        "shop.Refunds": ("code",),
    }
    assert {name: table.problem for name, table in tables.items() if table.problem is not None} == {
        name: f"source 'warehouse': the user may not read table '{name}'; "
        "expected the right to SELECT, and to use the schema"
        for name in ("salaries", "shut.hidden")
    }


@pytest.mark.postgres
def test_tables_without_columns_and_partitions(postgres_url: str, tmp_path: Path) -> None:
    """A table or view without columns may be read; what refers to a partitioned table refers to no partition."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "DROP SCHEMA IF EXISTS parts CASCADE; CREATE SCHEMA parts; SET search_path TO parts;"
            "CREATE TABLE nothing (); CREATE VIEW rows_only AS SELECT FROM generate_series(1, 9);"
            "CREATE TABLE events (id int PRIMARY KEY) PARTITION BY RANGE (id);"
            "CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (1) TO (9);"
            "CREATE TABLE visits (id int PRIMARY KEY, event int REFERENCES events)"
        )
    spec = SourceSpec("s", tmp_path, url=f"{postgres_url}?options=-c%20search_path%3Dparts")
    tables = {table.name: table for table in read_catalogue(spec) if "." not in table.name}
    assert [name for name, table in tables.items() if table.problem is None] == [
        "events",
        "nothing",
        "rows_only",
        "visits",
    ]
    place = SourceLocation("s", {}, spec)
    entries = list(tables.values())
    suggested = suggest_for_catalogues([(place, entries)], SystemClock(), lambda _what, _n: None)["s"].tables
    checks = {table.name: [proposal.check for proposal in table.proposals] for table in suggested}
    assert checks["rows_only"] == [{"type": "volume", "min": 1}]
    assert [entry.key for entry in read_catalogue(spec, only=["events_1", "gone"])] == [("id",)]
