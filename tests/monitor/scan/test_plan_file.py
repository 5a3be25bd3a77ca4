"""A plan that was kept in a file is the plan that would be made now, or it is made again."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from checks.foreign_key import ForeignKey
from checks.not_null import NotNull
from checks.range import Range
from monitor.scan import plan_file
from monitor.scan.plan_file import PLANS, PlanFile
from monitor.scan.planner import plan
from monitor.scan.results import Subject
from monitor.scan.sql_template import TimeLiterals
from sources import Source, SourceSpec, open_source
from tests.checks.hostile import NOW, tables_in
from tests.monitor.scan.test_plan_shapes import subjects
from tests.monitor.shop import build_shop

ORDERS = Subject("orders", "orders", (("orders.n", NotNull(columns=("id",))),))


@contextmanager
def _orders(folder: Path, columns: str = "id INTEGER, amount REAL") -> Iterator[Source]:
    """Open a database whose table has these columns."""
    shop = build_shop(folder)
    shop.sql("DROP TABLE orders")
    shop.sql(f"CREATE TABLE orders ({columns})")
    with open_source(SourceSpec(name="shop", base=folder, url="sqlite:///shop.sqlite")) as source:
        yield source


def _kept(folder: Path, source: Source, subject: Subject = ORDERS) -> Path:
    """Keep a plan of a table, and return the file."""
    file = folder / f"store.db{PLANS}"
    plans = PlanFile.read(file)
    plans.find(subject, source)
    plans.keep(plan(subject, source), source)
    plans.write([subject.name])
    return file


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_plan_that_was_kept_is_the_plan_that_is_made(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Of every case of every check; a few need more than statements, and are planned each time."""
    kept = 0
    with tables_in(engine, tmp_path, request) as spec, open_source(spec) as source:
        for subject in subjects():
            made = plan(subject, source)
            file = _kept(tmp_path, source, subject)
            found = PlanFile.read(file).find(subject, source) if file.exists() else None
            assert found in (None, made)
            kept += found is not None
            file.unlink(missing_ok=True)
    assert kept >= 40


def test_times_are_written_as_the_earlier_process_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How an engine writes times is read from the file, so that no expression is compiled."""
    with _orders(tmp_path) as source:
        expected = TimeLiterals(source).of(NOW.replace(tzinfo=None))
        file = _kept(tmp_path, source)
        monkeypatch.setattr(TimeLiterals, "_learnt", {})
        PlanFile.read(file)
        monkeypatch.setattr(TimeLiterals, "_compiled", None)
        assert TimeLiterals(source).of(NOW.replace(tzinfo=None)) == expected


@pytest.mark.parametrize(
    "columns",
    [
        "id INTEGER, amount REAL, note TEXT",
        "id TEXT, amount REAL",
        "amount REAL, id INTEGER",
        "id, amount REAL",
    ],
    ids=["a new column", "another type", "another order", "no type"],
)
def test_a_table_of_other_columns_is_planned_again(tmp_path: Path, columns: str) -> None:
    """Its columns are part of what a plan was made for; those without a type depend on values."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with _orders(tmp_path / "a") as source:
        file = _kept(tmp_path, source)
        assert PlanFile.read(file).find(ORDERS, source) is not None
    with _orders(tmp_path / "b", columns) as source:
        assert PlanFile.read(file).find(ORDERS, source) is None


def test_other_checks_are_planned_again(tmp_path: Path) -> None:
    """Checks with their limits are part of what a plan was made for."""
    with _orders(tmp_path) as source:
        file = _kept(tmp_path, source)
        other = replace(ORDERS, checks=(("orders.n", Range(column="amount", min=0)),))
        assert PlanFile.read(file).find(other, source) is None


def test_another_table_that_a_check_refers_to_is_planned_again(tmp_path: Path) -> None:
    """Its columns decide, too, how they are compared."""
    references = ForeignKey(column="id", references="others.id")
    referring = replace(ORDERS, checks=(("orders.r", references),))
    for number, kind in enumerate(("INTEGER", "TEXT")):
        folder = tmp_path / str(number)
        folder.mkdir()
        with _orders(folder) as source:
            with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
                connection.execute(f"CREATE TABLE others (id {kind})")
            if number == 0:
                file = _kept(tmp_path, source, referring)
            assert (PlanFile.read(file).find(referring, source) is None) == (number == 1)


def test_a_table_that_changes_while_it_is_planned_is_planned_again(tmp_path: Path) -> None:
    """The plan is of the columns before, or of those after: it is not known of which."""
    file = tmp_path / f"store.db{PLANS}"
    with _orders(tmp_path) as source:
        plans = PlanFile.read(file)
        plans.find(ORDERS, source)
        made = plan(ORDERS, source)
        with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
            connection.execute("ALTER TABLE orders ADD COLUMN note TEXT")
        plans.keep(made, source)
        plans.write(["orders"])
    assert not file.exists()


@pytest.mark.postgres
def test_a_name_that_leads_to_another_schema_is_planned_again(postgres_url: str, tmp_path: Path) -> None:
    """A search path decides which of two tables alike a name is of; statements name the schema."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for schema in ("one", "two"):
            connection.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.orders (id INTEGER)")
    try:
        for schema in ("one", "two"):
            mark = "&" if "?" in postgres_url else "?"
            url = f"{postgres_url}{mark}options=-csearch_path%3D{schema}"
            with open_source(SourceSpec(name="shop", base=tmp_path, url=url)) as source:
                if schema == "one":
                    file = _kept(tmp_path, source)
                assert (PlanFile.read(file).find(ORDERS, source) is None) == (schema == "two")
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA one CASCADE; DROP SCHEMA two CASCADE")


@pytest.mark.parametrize("spoil", ["damaged", "writable", "link", "versions", "folder"])
def test_a_file_that_cannot_be_trusted_counts_as_absent(
    tmp_path: Path, spoil: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is written again, readable by its owner only."""
    with _orders(tmp_path) as source:
        file = _kept(tmp_path, source)
        match spoil:
            case "damaged":
                file.write_bytes(file.read_bytes()[:-20])
            case "writable":
                file.chmod(0o620)
            case "link":
                file.rename(tmp_path / "elsewhere")
                file.symlink_to(tmp_path / "elsewhere")
            case "versions":
                monkeypatch.setattr(plan_file, "_planner", lambda: "another")
            case "folder":
                file.unlink()
                file.mkdir()
        assert PlanFile.read(file).find(ORDERS, source) is None
        if spoil != "folder":
            _kept(tmp_path, source)
            assert PlanFile.read(file).find(ORDERS, source) is not None
            assert file.stat().st_mode & 0o777 == 0o600
            assert not file.is_symlink()
    assert sorted(path.name for path in tmp_path.glob(f"*{PLANS}*")) == [file.name]


def test_a_secret_of_the_configuration_is_not_written(tmp_path: Path) -> None:
    """A predicate with a value from the environment makes the plan stay in the process."""
    secret = replace(ORDERS, checks=(("orders.n", NotNull(columns=("id",), where="amount <> 4711")),))
    file = tmp_path / f"store.db{PLANS}"
    with _orders(tmp_path) as source:
        plans = PlanFile.read(file, lambda text: text.replace("4711", "***"))
        plans.find(secret, source)
        plans.keep(plan(secret, source), source)
        plans.write(["orders"])
    assert not file.exists()


def test_plans_of_tables_that_left_the_configuration_are_dropped(tmp_path: Path) -> None:
    """The file does not grow with what once was."""
    with _orders(tmp_path) as source:
        file = _kept(tmp_path, source)
        plans, other = PlanFile.read(file), replace(ORDERS, name="other")
        plans.find(other, source)
        plans.keep(plan(other, source), source)
        plans.write(["other"])
        assert PlanFile.read(file).find(other, source) is not None
        assert PlanFile.read(file).find(ORDERS, source) is None


def test_a_second_check_imports_no_ibis(tmp_path: Path) -> None:
    """It runs what the first one compiled, with the same results, of the present rows."""
    shop = build_shop(tmp_path)
    check = (
        "import sys; from monitor.cli import run; from monitor.terminal.output import Invocation; "
        "code = run(sys.argv[1:], Invocation()); print('ibis' in sys.modules, code)"
    )
    command = [sys.executable, "-c", check, "check", "-c", str(shop.config), "--format", "json"]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.rpartition("}\n") for _ in range(2)
    )
    assert (first[2], second[2]) == ("True 0\n", "False 0\n")
    was, now = ([result["observed"] for result in json.loads(f"{text}}}")["results"]] for text, *_ in (first, second))
    assert was == now
    shop.sql("INSERT INTO orders SELECT * FROM orders")
    third = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert third.endswith("False 1\n")
