"""Our checks as expectations of Great Expectations."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import ibis
import psycopg
import pytest

from checks import Misconfigured, Status, UnknownReason
from checks.expectation import Expectation
from checks.gx.caller import lineage, reason_of
from checks.gx.measure import dialect_of
from checks.gx.worker_door import DeclaredExpectation, validate
from tests.checks.gx.tables import CALLER, Tables, sqlite_tables

NOW = "2026-11-20T10:00:00+00:00"
_ROWS = """
create table f (id integer, wall timestamp, text text, day date, number integer);
insert into f values (1, '2026-11-20 08:00:00', '2026-11-20T08:00:00+09:00', '2026-11-19', 1);
insert into f values (2, '2026-11-20 09:00:00', null, '2026-11-20', 1);
insert into f values (3, '2999-01-01 00:00:00', '2026-11-20T08:30:00Z', null, 3);
"""


@pytest.fixture(params=["sqlite", "frame", pytest.param("postgres", marks=pytest.mark.postgres)])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tables]:
    """Yield a table of times: in SQLite, as a frame, in PostgreSQL."""
    yield from {"sqlite": _sqlite, "frame": _frame, "postgres": _postgres}[request.param](request, tmp_path)


def _sqlite(_: pytest.FixtureRequest, folder: Path) -> Iterator[Tables]:
    with closing(sqlite3.connect(folder / "times.db")) as connection:
        connection.executescript(_ROWS)
    with sqlite_tables(folder / "times.db") as source:
        yield source


def _frame(_: pytest.FixtureRequest, __: Path) -> Iterator[Tables]:
    backend = ibis.duckdb.connect()
    backend.con.execute(_ROWS)
    with Tables("frame", "duckdb", backend) as source:
        yield source


def _postgres(request: pytest.FixtureRequest, _: Path) -> Iterator[Tables]:
    server = request.getfixturevalue("postgres_url")
    read_only = "?options=-c%20default_transaction_read_only%3Don"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS f")
        connection.execute(_ROWS.encode())
        yield Tables("server", "postgres", ibis.postgres.from_connection(connection), server + read_only)
        connection.execute("DROP TABLE f")


def fresh(**kwargs: object) -> Expectation:
    """Return the expectation, judged at a fixed time."""
    return Expectation(expectation="ExpectTableToBeFresh", kwargs={"as_of": NOW, **kwargs})


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (fresh(column="wall", max_age="2h", timezone="UTC"), Status.PASS),
        (fresh(column="wall", max_age="30m", timezone="UTC"), Status.FAIL),
        (fresh(column="wall", max_age="9h", timezone="Asia/Tokyo"), Status.FAIL),
        (fresh(column="wall", max_age="10h", timezone="Asia/Tokyo"), Status.PASS),
        (fresh(column="text", max_age="2h"), Status.PASS),
        (fresh(column="text", max_age="1h"), Status.FAIL),
        (fresh(column="day", max_age="11h", timezone="UTC"), Status.PASS),
        (fresh(column="wall", max_age="1h", timezone="UTC", row_condition='col("id") == 1'), Status.FAIL),
        (fresh(column="wall", max_age="1h", timezone="UTC", row_condition='col("id") <= 2'), Status.PASS),
        (fresh(column="wall", max_age="30m", timezone="UTC", expected={"days": "mon"}), Status.PASS),
    ],
    ids=str,
)
def test_gives_the_verdict_of_the_check(tables, asked, status):
    """Zones, text with offsets, rows in the future and calendars are judged as the check `freshness` judges them."""
    outcome = tables.ask("f", asked)
    assert (outcome.status, outcome.reason) == (status, None)


@pytest.mark.parametrize(
    "asked", [fresh(column="wall", max_age="2h"), fresh(column="number", max_age="2h", timezone="UTC")], ids=str
)
def test_what_cannot_be_judged_is_no_failure(tables, asked):
    """A naive column without a zone, or one that holds no times, is an exception there and `unknown` here."""
    outcome = tables.ask("f", asked)
    assert outcome.reason is UnknownReason.MISCONFIGURED


def hidden(name: str, **kwargs: object) -> Expectation:
    """Return an expectation about groups of records that are alike."""
    return Expectation(expectation=name, kwargs={"quasi_identifiers": ["number"], **kwargs})


@pytest.mark.parametrize(
    ("asked", "status", "violations"),
    [
        (hidden("ExpectTableToBeKAnonymous", k=2), Status.FAIL, 1),
        (hidden("ExpectTableToBeKAnonymous", k=2, row_condition='col("number") == 1'), Status.PASS, 0),
        (
            hidden("ExpectTableToBeKAnonymous", k=2, max_average_risk=0.4, row_condition='col("id") < 3'),
            Status.FAIL,
            None,
        ),
        (hidden("ExpectTableToBeLDiverse", sensitive=["id"], l=2), Status.FAIL, 1),
        (hidden("ExpectTableToBeLDiverse", sensitive=["day", "text"], l=1.5, variant="entropy"), Status.FAIL, 3),
        (hidden("ExpectTableToBeTClose", sensitive=["id"], t=0.5), Status.FAIL, 1),
        (hidden("ExpectTableToBeTClose", sensitive=["id"], t=0.5, distance="ordered"), Status.PASS, 0),
        (
            hidden("ExpectTableToBeTClose", sensitive=["id"], t=0.5, hierarchy={"1": ["a"], "2": ["a"], "3": ["a"]}),
            Status.FAIL,
            1,
        ),
    ],
    ids=lambda one: one.expectation if isinstance(one, Expectation) else str(one),
)
def test_k_l_and_t_are_those_of_the_checks(tables, asked, status, violations):
    """Groups are counted as the checks count them, under a row condition too; broken are their records."""
    outcome = tables.ask("f", asked)
    assert (outcome.status, outcome.observed["violations"]) == (status, violations)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (hidden("ExpectTableToBeKAnonymous", k=2, row_condition='col("id") > 9'), UnknownReason.NO_DATA),
        (hidden("ExpectTableToBeTClose", sensitive=["text"], t=0.5, distance="ordered"), UnknownReason.MISCONFIGURED),
        (
            hidden("ExpectTableToBeTClose", sensitive=["id"], t=0.5, hierarchy={"1": ["a"], "2": ["a"]}),
            UnknownReason.MISCONFIGURED,
        ),
        (hidden("ExpectTableToBeLDiverse", sensitive=["number"], l=2), UnknownReason.MISCONFIGURED),
    ],
    ids=["no rows", "text in order", "not in the hierarchy", "both"],
)
def test_groups_that_cannot_be_judged(tables, asked, reason):
    """No rows, values that have no distance and columns of two kinds are unknown, as in the checks."""
    assert tables.ask("f", asked).reason is reason


def test_a_column_that_is_not_there(tables):
    """It is named before anything is measured, with the one that may be meant."""
    with pytest.raises(Misconfigured, match="column 'numbr' not found; did you mean 'number'"):
        tables.ask(
            "f", Expectation(expectation="ExpectTableToBeKAnonymous", kwargs={"quasi_identifiers": ["numbr"], "k": 2})
        )


@pytest.mark.parametrize(
    ("name", "kwargs", "said"),
    [
        ("expect_table_to_be_k_anonymous", {"quasi_identifiers": ["a"], "k": 1}, "greater than or equal to 2"),
        ("expect_table_to_be_k_anonymous", {"quasi_identifiers": [], "k": 2}, "at least 1 item"),
        ("expect_table_to_be_k_anonymous", {"quasi_identifiers": ["a"], "k": 2, "sensitive": ["b"]}, "sensitive"),
        (
            "expect_table_to_be_l_diverse",
            {"quasi_identifiers": ["a"], "sensitive": ["b"], "l": 2, "c": 2},
            "'c' and 'variant",
        ),
        ("expect_table_to_be_l_diverse", {"quasi_identifiers": ["a"], "l": 2}, "sensitive: field required"),
        (
            "expect_table_to_be_t_close",
            {"quasi_identifiers": ["a"], "sensitive": ["b"], "t": 2},
            "less than or equal to 1",
        ),
        (
            "expect_table_to_be_t_close",
            {"quasi_identifiers": ["a"], "sensitive": ["b"], "t": 1, "distance": "x"},
            "distance",
        ),
        ("expect_table_to_be_t_close", {"quasi_identifiers": ["a"], "sensitive": ["b"], "t": 1}, None),
    ],
)
@pytest.mark.parametrize("route", ["sql", "frame"])
def test_validates_arguments_about_groups(name, kwargs, said, route):
    """Limits are those of the checks, with the same messages."""
    (problem,) = validate([DeclaredExpectation(name, kwargs, route)], CALLER)
    assert problem is None if said is None else said in problem


def test_a_batch_of_another_database_is_misconfigured():
    """Only SQLite, PostgreSQL and frames are looked at; elsewhere our expectations are an exception that says so."""
    with pytest.raises(Misconfigured, match="a batch of mssql is not supported; expected one of sqlite or postgresql"):
        dialect_of("mssql")
    assert reason_of(lineage(Misconfigured), sqlite=False) is UnknownReason.MISCONFIGURED


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"column": "at", "max_age": "11"}, "a duration such as 26h"),
        ({"column": "at", "max_age": "1h", "timezone": "Asia/Tokio"}, "did you mean 'Asia/Tokyo'"),
        ({"column": "at", "max_age": "1h", "as_of": "2026-11-20"}, "an ISO time with an offset"),
        ({"column": "at", "max_ages": "1h"}, "max_age: field required"),
        ({"column": "at", "max_age": "1h"}, None),
    ],
)
@pytest.mark.parametrize("route", ["sql", "frame"])
def test_validates_its_arguments(kwargs, said, route):
    """Arguments are those of the check, with the same messages, when the expectation is made."""
    (problem,) = validate([DeclaredExpectation("expect_table_to_be_fresh", kwargs, route)], CALLER)
    assert problem is None if said is None else said in problem
