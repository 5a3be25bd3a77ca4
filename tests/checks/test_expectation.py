"""A Great Expectations expectation as a check."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import ibis
import psycopg
import pytest
from pydantic import ValidationError

from checks import Context, Frame, Measurement, Misconfigured, Status, UnknownReason
from checks._judge import judge
from checks.expectation import Expectation
from checks.gx.caller import PRELOAD
from checks.gx.worker_door import DeclaredExpectation, GxRequest, evaluate, validate
from checks.not_null import NotNull
from monitor.workers import WorkerCalls
from sources import SourceSpec, open_source
from tests.checks.gx.tables import CALLER, NOW, Tables, no_clock, sqlite_tables

OBSERVED = {"rows", "violations"}
CANARIES = [
    {"expectation": "ExpectColumnValuesToBeUnique", "kwargs": {"column": "id"}},
    {"expectation": "ExpectColumnValuesToNotBeNull", "kwargs": {"column": "twin"}},
    {"expectation": "ExpectColumnMaxToBeBetween", "kwargs": {"column": "age", "max_value": 3}},
    {"expectation": "ExpectColumnValuesToMatchRegex", "kwargs": {"column": "name", "regex": "^[0-9]+$"}},
    {"expectation": "ExpectTableToBeKAnonymous", "kwargs": {"quasi_identifiers": ["name", "fee"], "k": 2}},
    {
        "expectation": "ExpectTableToBeLDiverse",
        "kwargs": {"quasi_identifiers": ["name"], "sensitive": ["email"], "l": 2},
    },
    {
        "expectation": "ExpectTableToBeTClose",
        "kwargs": {"quasi_identifiers": ["age"], "sensitive": ["name"], "t": 0.1, "hierarchy": {"ann": ["*"]}},
    },
]

_ROWS = """
create table "Mixed T" (id integer, email text, "select" integer, "it's" real);
insert into "Mixed T" values
  (1, 'a@example.org', 1, 1.5), (2, null, 1, 2.5), (2, 'secret value', null, null), (4, 'b@example.org', 2, 0.5);
create table nobody (id integer, email text);
create table victim (id integer);
"""
_EMAIL = {"column": "email", "regex": "^[^@]+@[^@]+$"}
_CUSTOM = """
import great_expectations.expectations as gxe


class ExpectPositive(gxe.ExpectColumnValuesToBeBetween):
    min_value: float = 0


class ExpectCrash(gxe.ExpectColumnMaxToBeBetween):
    def _validate(self, metrics, runtime_configuration=None, execution_engine=None):
        raise ZeroDivisionError(f"the secret value is {metrics}")


class ExpectHang(gxe.ExpectColumnMaxToBeBetween):
    def _validate(self, metrics, runtime_configuration=None, execution_engine=None):
        import time
        time.sleep(3600)


class ExpectTwo(gxe.ExpectTableRowCountToEqual):
    value: int = 2
"""


def check(expectation: str, **kwargs: object) -> Expectation:
    """Return a check of an expectation with these arguments."""
    return Expectation(expectation=expectation, kwargs=kwargs)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a SQLite file with tables in it."""
    file = tmp_path_factory.mktemp("gx") / "some $HOME file.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(_ROWS)
    return file


@pytest.fixture(scope="module")
def sql(path: Path) -> Iterator[Tables]:
    """Yield the tables as Great Expectations' SQL engine sees them."""
    with sqlite_tables(path) as tables:
        yield tables


@pytest.fixture(scope="module")
def frames() -> Iterator[Tables]:
    """Yield the same tables as DuckDB hands them over, as frames."""
    backend = ibis.duckdb.connect()
    backend.con.execute(_ROWS)
    with Tables("files", "duckdb", backend) as source:
        yield source


@pytest.fixture(params=["sql", "frames"])
def source(request: pytest.FixtureRequest) -> Tables:
    """Return the tables by one route, then by the other."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(
    ("asked", "status", "violations"),
    [
        (check("ExpectColumnValuesToMatchRegex", **_EMAIL), Status.FAIL, 1),
        (check("expect_column_values_to_match_regex", **_EMAIL), Status.FAIL, 1),
        (check("ExpectColumnValuesToMatchRegex", **_EMAIL, mostly=0.5), Status.PASS, 1),
        (check("ExpectColumnValuesToMatchRegex", column="email", regex="."), Status.PASS, 0),
        (check("ExpectColumnValuesToNotBeNull", column="it's"), Status.FAIL, 1),
        (check("ExpectColumnMaxToBeBetween", column="id", max_value=3), Status.FAIL, None),
        (check("ExpectColumnMaxToBeBetween", column="id", max_value=4), Status.PASS, 0),
        (check("ExpectTableRowCountToEqual", value=4), Status.PASS, 0),
        (check("ExpectTableRowCountToEqual", value=5), Status.FAIL, None),
        (check("ExpectColumnToExist", column="emial"), Status.FAIL, None),
        (check("ExpectTableColumnsToMatchSet", column_set=["id", "email", "select", "it's"]), Status.PASS, 0),
        (check("ExpectTableColumnCountToEqual", value=3), Status.FAIL, None),
        (check("ExpectColumnValuesToBeUnique", column="id", row_condition='col("email").notnull()'), Status.PASS, 0),
        (check("ExpectColumnValuesToBeUnique", column="id", row_condition='col("select") == 1'), Status.PASS, 0),
        (
            check(
                "ExpectColumnValuesToNotBeNull",
                column="email",
                row_condition={"type": "comparison", "column": {"name": "select"}, "operator": "==", "parameter": 1},
            ),
            Status.FAIL,
            1,
        ),
    ],
    ids=lambda value: value.expectation if isinstance(value, Expectation) else None,
)
def test_gives_the_verdict_and_counts(source, asked, status, violations):
    """An expectation passes or fails by either route; rows that break it are counted where it counts rows."""
    outcome = source.ask("Mixed T", asked)
    assert (outcome.status, outcome.reason) == (status, None)
    assert outcome.observed == {"rows": 4, "violations": violations}


def test_a_query_counts_the_rows_it_returns(sql):
    """An unexpected-rows query runs on SQL routes, `{batch}` standing for the table; the rows returned are counted."""
    outcome = sql.ask(
        "Mixed T", check("UnexpectedRowsExpectation", unexpected_rows_query="select * from {batch} where id = 2;")
    )
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"rows": 4, "violations": 2}
    assert str(outcome.message) == "UnexpectedRowsExpectation: 2 rows fail"


def test_an_empty_table_is_no_data(source):
    """Great Expectations passes most expectations on an empty table; here the question could not be answered."""
    outcome = source.ask("nobody", check("ExpectColumnValuesToNotBeNull", column="email"))
    assert outcome.reason is UnknownReason.NO_DATA


def test_a_condition_that_leaves_no_row_is_no_data(source):
    """A row condition that no row fulfils leaves nothing to look at, which is no pass either."""
    asked = check("ExpectColumnValuesToNotBeNull", column="email", row_condition='col("id") > 100')
    assert source.ask("Mixed T", asked).reason is UnknownReason.NO_DATA
    assert source.ask("Mixed T", asked.model_copy(update={"on_empty": "pass"})).status is Status.PASS


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (check("ExpectColumnValuesToMatchRegx", **_EMAIL), "did you mean 'ExpectColumnValuesToMatchRegex'?"),
        (check("expect_column_to_exst", column="id"), "did you mean 'expect_column_to_exist'?"),
        (check("ExpectColumnValuesToMatchRegex", column="email", regx="x"), "did you mean 'regex'?"),
        (check("ExpectTableRowCountToEqual"), "value: field required"),
        (check("ExpectColumnValuesToBeBetween", column="email", min_value=3), "is not applicable to this table"),
        (check("no.such.module:ExpectThis", column="id"), "cannot be imported (ModuleNotFoundError)"),
        (check("json:dumps", column="id"), "not an expectation class"),
    ],
    ids=lambda value: value.expectation if isinstance(value, Expectation) else None,
)
def test_what_does_not_fit_is_misconfigured(source, asked, said):
    """An unknown name, arguments that do not fit it or a column of another type are `unknown`, and say what to do."""
    outcome = source.ask("Mixed T", asked)
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert said in str(outcome.message)
    assert "secret" not in str(outcome)


def test_a_column_that_is_not_there_is_misconfigured(source):
    """A column that the arguments name and the table lacks is found before anything runs."""
    with pytest.raises(Misconfigured, match="column 'emial' not found; did you mean 'email'"):
        source.ask("Mixed T", check("ExpectColumnValuesToNotBeNull", column="emial"))


def test_an_expectation_without_a_frame_implementation_is_misconfigured(frames):
    """An expectation that exists for SQL only is no pass on a frame."""
    outcome = frames.ask("Mixed T", check("ExpectColumnValuesToMatchLikePattern", column="email", like_pattern="%"))
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert "works on SQLite and PostgreSQL only" in str(outcome.message)
    with pytest.raises(Misconfigured, match="check of type sql"):
        frames.ask("Mixed T", check("UnexpectedRowsExpectation", unexpected_rows_query="select 1 from {batch}"))


def test_a_table_beyond_the_cap_is_misconfigured(frames):
    """A table with more rows than the source hands over is not judged by a part of it."""
    relation = frames.table("Mixed T")
    asked = check("ExpectColumnValuesToNotBeNull", column="id")
    for cap, met in ((4, True), (3, None)):
        wants = asked.wants(Context(relation, "duckdb", no_clock, frame_rows=cap))
        found = evaluate(
            GxRequest.of(asked, frames, relation="Mixed T", frame=wants.frame), CALLER, deadline=frames.query_timeout
        )
        assert found.get("met") is met
    assert found["reason"] is UnknownReason.MISCONFIGURED


def test_only_named_columns_are_handed_over(source):
    """A frame holds the columns that the arguments name, and those of `columns`."""
    asked = Expectation(expectation="own:Expect", kwargs={"column": "id"}, columns=("email",))
    wants = asked.wants(Context(source.table("Mixed T"), source.dialect, no_clock))
    assert wants.frame.columns == ("id", "email")


def test_a_frame_needs_columns(frames):
    """On a frame, an expectation that names no column cannot be asked unless `columns` says which it looks at."""
    with pytest.raises(Misconfigured, match="name the columns in 'columns'"):
        frames.ask("Mixed T", check("own:ExpectSomething", limit=3))


class TestCustom:
    """Expectations of the user's own."""

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _own_modules(cls, tmp_path_factory):
        folder = tmp_path_factory.mktemp("own")
        (folder / "own_expectations.py").write_text(_CUSTOM, encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(folder)
            with WorkerCalls(PRELOAD) as cls.caller:  # the path is read when its process starts
                yield

    @pytest.fixture
    def source(self, source):
        """Yield the tables, asked by the process that finds the module."""
        return replace(source, caller=self.caller)

    def test_custom(self, source):
        """A class of the user's own module is an expectation like any other."""
        assert source.ask("Mixed T", check("own_expectations:ExpectPositive", column="id")).status is Status.PASS
        assert (
            source.ask("Mixed T", Expectation(expectation="own_expectations:ExpectTwo", columns=("id",))).status
            is Status.FAIL
        )

    def test_an_exception_is_a_bug_without_its_text(self, source):
        """An exception inside an expectation is `unknown(bug)`; its text, which holds values, is not repeated."""
        outcome = source.ask("Mixed T", check("own_expectations:ExpectCrash", column="id"))
        assert outcome.reason is UnknownReason.BUG
        assert "ZeroDivisionError" in str(outcome.message)
        assert "secret" not in str(outcome)

    def test_a_hanging_expectation_is_a_timeout(self, source):
        """An expectation that does not end is killed at its deadline, and the next one is evaluated as ever."""
        asked = check("own_expectations:ExpectHang", column="id")
        assert source.ask("Mixed T", asked, timedelta(seconds=2)).reason is UnknownReason.TIMEOUT


def test_a_table_name_cannot_inject(path):
    """A table name that holds SQL is a name only: Great Expectations would paste a plain string into its statement."""
    name = "nobody; drop table victim"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f'create table "{name}" (id integer)')
        connection.execute(f'insert into "{name}" values (1)')
        connection.commit()
    with sqlite_tables(path) as tables:
        assert tables.ask(name, check("ExpectColumnValuesToNotBeNull", column="id")).status is Status.PASS
        assert "victim" in tables.tables()


def test_an_unreachable_server_is_unreachable():
    """A server that does not answer is `unknown(unreachable)`, and its address and password are not repeated."""

    class Gone(Tables):
        def table(self, name: str):  # noqa: ARG002 - as the contract has it
            return ibis.sqlite.connect().create_table("t", schema={"id": "int64"})

    tables = Gone("gone", "postgres", None, "postgresql://user:password@localhost:1/gone")
    asked = check("ExpectColumnValuesToNotBeNull", column="id")
    found = evaluate(
        GxRequest.of(
            asked, tables, relation="t", frame=asked.wants(Context(tables.table("t"), "postgres", no_clock)).frame
        ),
        CALLER,
        deadline=timedelta(seconds=60),
    )
    assert found["reason"] is UnknownReason.UNREACHABLE
    assert "password" not in str(found)


@pytest.mark.postgres
def test_a_statement_that_the_server_ends_is_a_timeout(postgres_url):
    """When PostgreSQL itself ends a statement, the worker lives on and the outcome is `unknown(timeout)`."""
    impatient = f"{postgres_url.replace('://', '+psycopg://')}?options=-c%20statement_timeout%3D200"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE OR REPLACE VIEW slow AS SELECT pg_sleep(30)::text AS email")
        tables = Tables("server", "postgres", ibis.postgres.from_connection(connection), impatient)
        asked = check("ExpectColumnValuesToMatchRegex", **_EMAIL)
        request = GxRequest.of(asked, tables, relation="slow", frame=Frame(("email",), 10))
        found = evaluate(request, CALLER, deadline=timedelta(seconds=60))
        connection.execute("DROP VIEW slow")
    assert found["reason"] is UnknownReason.TIMEOUT
    assert "QueryCanceled" in str(found["message"])


def test_files_hand_over_columns_of_every_type(tmp_path):
    """Times with a zone, decimals, days and large numbers beside NULL reach Great Expectations from a file."""
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT * FROM (VALUES "
            "(1.25::DECIMAL(9,2), DATE '2026-11-20', TIMESTAMPTZ '2026-11-20 09:00:00Z', 9007199254740993), "
            "(2.50, NULL, NULL, 9007199254740992), (NULL, NULL, NULL, NULL)) t(price, day, arrived, number)) "
            f"TO '{tmp_path / 'all.parquet'}' (FORMAT parquet)"
        )
    asked = {
        "price": check("ExpectColumnSumToBeBetween", column="price", min_value=3.75, max_value=3.75),
        "day": check("ExpectColumnValuesToNotBeNull", column="day"),
        "arrived": check("ExpectColumnValuesToNotBeNull", column="arrived", mostly=0.3),
        "number": check("ExpectColumnValuesToBeUnique", column="number"),
    }
    with open_source(SourceSpec("files", tmp_path, files="*.parquet")) as source:
        found = {
            name: evaluate(
                GxRequest.of(one, source, relation="all", frame=Frame((name,), 10)),
                CALLER,
                deadline=source.query_timeout,
            )
            for name, one in asked.items()
        }
    assert {name: one["met"] for name, one in found.items()} == {
        "price": True,
        "day": False,
        "arrived": True,
        "number": True,
    }


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (DeclaredExpectation("ExpectColumnValuesToMatchRegex", _EMAIL, "sql"), None),
        (DeclaredExpectation("ExpectColumnValuesToMatchRegex", _EMAIL, "frame"), None),
        (
            DeclaredExpectation("ExpectColumnValuesToMatchRegx", _EMAIL, "frame"),
            "did you mean 'ExpectColumnValuesToMatchRegex'?",
        ),
        (DeclaredExpectation("ExpectTableRowCountToEqual", {}, "sql"), "value: field required"),
        (
            DeclaredExpectation(
                "ExpectColumnValuesToMatchLikePattern", {"column": "email", "like_pattern": "%"}, "frame"
            ),
            "works on SQLite and PostgreSQL only",
        ),
        (
            DeclaredExpectation(
                "UnexpectedRowsExpectation", {"unexpected_rows_query": "select 1 from {batch}"}, "frame"
            ),
            "works on SQLite and PostgreSQL only",
        ),
        (
            DeclaredExpectation("ExpectColumnValuesToBeJsonParseable", {"column": "email"}, "sql"),
            "works on files and DuckDB only",
        ),
        (DeclaredExpectation("ExpectColumnValuesToBeOfType", {"column": "email", "type_": "str"}, "frame"), None),
    ],
    ids=lambda value: f"{value.expectation}-{value.route}" if isinstance(value, DeclaredExpectation) else None,
)
def test_validate(declared, said):
    """Mistakes in an expectation are found before any table is read, also a route without an implementation."""
    (problem,) = validate([declared], CALLER)
    assert problem is None if said is None else said in problem


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"column": "a", "row_condition": "a > 1"}, "a row_condition such as"),
        ({"column": "a", "result_format": "COMPLETE"}, "set by tablewatch"),
    ],
)
def test_unsafe_arguments_are_refused_when_the_configuration_is_read(kwargs, message):
    """Arguments that would run code or collect values never reach Great Expectations."""
    with pytest.raises(ValidationError, match=message):
        check("ExpectColumnMaxToBeBetween", **kwargs)


def test_takes_no_where():
    """A filter is Great Expectations' own `row_condition`; a `where` would be ignored, so it is refused."""
    with pytest.raises(ValidationError, match="does not support 'where'"):
        Expectation(expectation="ExpectColumnToExist", where="id > 1")


def test_no_value_of_the_table_leaves(source):
    """Neither outcome nor message holds a value of the table, though Great Expectations' own result does."""
    outcome = source.ask("Mixed T", check("ExpectColumnValuesToMatchRegex", **_EMAIL))
    said = json.dumps({**outcome.observed, **outcome.expected}) + str(outcome.message)
    assert "secret" not in said
    assert str(outcome.message) == "ExpectColumnValuesToMatchRegex (email): one of 4 rows fails"


def test_only_this_check_asks_for_a_frame(sql):
    """The door takes checks of this type only."""
    with pytest.raises(TypeError, match="not NotNull"):
        GxRequest.of(NotNull(columns=("id",)), sql, relation="t", frame=None)  # type: ignore[arg-type] # never read


def test_judges_what_was_found():
    """The verdict follows from what was measured alone."""
    measured = Measurement(NOW, {"rows": 9}, frame_result={"met": False, "violations": 4, "elements": None})
    outcome = judge(check("UnexpectedRowsExpectation", unexpected_rows_query="select 1 from {batch}"), measured)
    assert str(outcome.message) == "UnexpectedRowsExpectation: 4 rows fail"
