"""The plan of a table's shape, with its names put in, is the plan that would be made for it alone."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import ibis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.freshness import Freshness
from checks.not_null import NotNull
from checks.primary_key import PrimaryKey
from checks.volume import Volume
from monitor.clock import SimulatedClock
from monitor.config import load_tree
from monitor.config.project import Project
from monitor.config.python_values import node_of
from monitor.scan import plan_shapes
from monitor.scan.plan_shapes import plan_by_shape
from monitor.scan.planner import plan
from monitor.scan.results import LookbackWindow, Subject, Target, targets_of
from monitor.scan.scanner import scan_source
from sources import QueryFailed, SourceSpec, open_source
from tests.checks.golden import DIALECTS, Unopened
from tests.checks.hostile import NOW
from tests.checks.test_every_engine import tree

HERE = {
    "duckdb": "DuckDBCompiler",
    "mysql": "MySQLCompiler",
    "postgres": "PostgresCompiler",
    "pyspark": "PySparkCompiler",
    "sqlite": "SQLiteCompiler",
}
SPEC = SourceSpec(name="s", base=Path(), url="sqlite:///s")
NAMES = ("t", "T", "t0", "id", "a table", 'O"Brien', "a`b", "a]b[c", "it's", "x; DROP TABLE t --", "表", "tablewatch")


@pytest.fixture(autouse=True)
def no_shapes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Begin without plans of shapes."""
    plans: dict[str, Any] = {}
    monkeypatch.setattr(plan_shapes, "_plans", plans)
    return plans


class _Named(Unopened):
    """One that has every table, and is of a dialect whose engine may be here."""

    def __init__(self, dialect: str) -> None:
        if dialect == "pyspark":
            assert ibis.pyspark  # an access brings the options that its compiler reads
        if dialect in DIALECTS:
            super().__init__(dialect)
        else:
            self._compiler: Any = getattr(import_module(f"ibis.backends.sql.compilers.{dialect}"), HERE[dialect])()
            self.dialect = "spark" if dialect == "pyspark" else dialect


def subjects() -> list[Subject]:
    """Return the table of every case of every check: with each check alone, and with all of them."""
    [target] = targets_of(Project(load_tree(node_of(tree(), "")), SimulatedClock(NOW)), ["t"])
    subject = target.subject
    alone = [replace(subject, checks=(check,)) for check in subject.checks]
    plain = tuple(check for check in subject.checks if not check[1].refers_to)
    in_parts = LookbackWindow("at", timedelta(days=1), full=timedelta(days=7), checks=len(plain))
    whole = replace(subject, checks=plain)
    return [*alone, whole, replace(whole, incremental=in_parts), replace(subject, checks=plain[::2], loaded_at="at")]


def _renamed(subject: Subject, name: str) -> Subject:
    checks = tuple((f"{name}.{check.name}", check) for _, check in subject.checks)
    return replace(subject, name=f"the {name}", relation=name, checks=checks)


def _plan_or_problem(made: Any) -> object:
    try:
        return made()
    except QueryFailed as error:
        return str(error)


@pytest.mark.parametrize(
    "dialect",
    [
        pytest.param(name, marks=pytest.mark.pyspark) if name == "pyspark" else name  # its compiler imports pyspark
        for name in (*DIALECTS, *HERE)
    ],
)
def test_every_check_of_every_dialect_has_the_plan_it_would_have_alone(dialect: str, no_shapes: dict[str, Any]) -> None:
    """A table that is not the first of its shape, with a name to be escaped, has equal text to the last character."""
    source: Any = _Named(dialect)
    for subject in subjects():
        first, one = _renamed(subject, "t"), _renamed(subject, 'a "strange" `na]me')
        _plan_or_problem(partial(plan_by_shape, first, source, SPEC))
        shared = _plan_or_problem(partial(plan_by_shape, one, source, SPEC))
        assert shared == _plan_or_problem(partial(plan, one, source))
    shared_plans = [made for _, made in no_shapes.values() if made is not None]
    assert len(shared_plans) > 25, "most of these are shared"


@settings(max_examples=20)
@given(names=st.lists(st.sampled_from(NAMES) | st.text(min_size=1), min_size=2, max_size=4, unique=True))
def test_whatever_a_table_is_called_its_plan_is_its_own(names: list[str]) -> None:
    """Names with quotes, of columns, of other tables, or that look like SQL stand where the compiler puts them."""
    source: Any = _Named("duckdb")
    subject = Subject("t", "t", (("k", PrimaryKey(columns=("id",))), ("n", NotNull(columns=("x",), where="x > 1"))))
    for name in names:
        one = _renamed(subject, name)
        assert plan_by_shape(one, source, SPEC) == plan(one, source)


@pytest.mark.parametrize(
    "check",
    [
        NotNull(columns=("note",), where="note <> 'tablewatch table'"),
        NotNull(columns=("note",), why='the "tablewatch table" of old'),
        NotNull(columns=("nope",)),
    ],
    ids=["in a filter", "in a text", "refused"],
)
def test_what_cannot_be_shared_is_planned_alone(check: NotNull) -> None:
    """A configuration with the name of the stand-in, or that does not fit, says what it would say of its own table."""
    source: Any = _Named("sqlite")
    for name in ("t", "u"):
        subject = Subject(name, name, ((f"{name}.a", check),))
        assert plan_by_shape(subject, source, SPEC) == plan(subject, source)


def test_tables_with_other_columns_or_limits_share_nothing(tmp_path: Path, no_shapes: dict[str, Any]) -> None:
    """Each difference that a plan may follow from makes a shape of its own, and the oldest are forgotten."""
    with closing(sqlite3.connect(tmp_path / "s")) as made:
        made.executescript("CREATE TABLE a (x INTEGER); CREATE TABLE b (x INTEGER); CREATE TABLE c (x TEXT)")
    spec = replace(SPEC, base=tmp_path)
    with open_source(spec) as source:
        for name, check in (
            ("a", NotNull(columns=("x",))),
            ("b", NotNull(columns=("x",))),
            ("c", NotNull(columns=("x",))),
            ("b", NotNull(columns=("x",), where="x > 1")),
            ("b", NotNull(columns=("x",), where="x > 1.0")),
        ):
            subject = Subject(name, name, ((f"{name}.x", check),))
            assert plan_by_shape(subject, source, spec) == plan(subject, source)
        assert len(no_shapes) == 4
        plan_by_shape(subject, source, replace(spec, url="sqlite:///./s"))
        assert len(no_shapes) == 4, "another source of that name takes the place of the first"


def test_shapes_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch, no_shapes: dict[str, Any]) -> None:
    """The oldest is forgotten."""
    monkeypatch.setattr(plan_shapes, "_MOST_SHAPES", 2)
    source: Any = _Named("sqlite")
    for limit in range(4):
        plan_by_shape(Subject("t", "t", (("a", NotNull(columns=("x",), max_ratio=limit / 10)),)), source, SPEC)
    assert len(no_shapes) == 2
    assert "0.3" in [*no_shapes][-1]


def test_many_tables_of_a_source_share_a_plan_and_one_table_does_not_ask(
    tmp_path: Path, no_shapes: dict[str, Any]
) -> None:
    """A pass over tables of one shape plans once, and each comes to its own numbers."""
    with closing(sqlite3.connect(tmp_path / "s")) as made:
        for number in range(3):
            made.execute(f"CREATE TABLE t{number} (x INTEGER)")
            made.executemany(f"INSERT INTO t{number} VALUES (?)", [(None,)] * number + [(1,)])
        made.commit()
    spec = replace(SPEC, base=tmp_path)
    targets = [
        Target(Subject(f"t{number}", f"t{number}", ((f"t{number}.x", NotNull(columns=("x",))),)), spec)
        for number in range(3)
    ]
    list(scan_source(targets[:1], clock=SimulatedClock(NOW), plans={}))
    assert not no_shapes
    found = [
        table_result.measured[0].answer for table_result in scan_source(targets, clock=SimulatedClock(NOW), plans={})
    ]
    assert len(no_shapes) == 1
    assert [answer.values["rows"] for answer in found] == [1, 2, 3]  # type: ignore[union-attr]


def test_tables_that_differ_in_limits_of_the_verdict_share_a_plan(no_shapes: dict[str, Any]) -> None:
    """Numbers that only `judge` looks at, ids and severities make no shape of their own."""
    source: Any = _Named("duckdb")
    for least in (1, 2):
        checks = (
            (f"v{least}", Volume(min=least, id=f"v{least}")),
            ("f", Freshness(column="at", max_age=timedelta(days=least), timezone="UTC")),
        )
        subject = Subject("t", "t", checks)
        made = plan_by_shape(subject, source, SPEC)
        assert made == plan(subject, source)
        assert dict(made.subject.checks)[f"v{least}"].name == f"v{least}"
    assert len(no_shapes) == 1
