"""Our checks as expectations of Great Expectations."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import ibis
import psycopg
import pytest

from checks import Status, UnknownReason
from checks._gx import Declared, validate
from checks.expectation import Expectation
from tests.checks.gx_tables import Tables, sqlite_tables

NOW = "2026-11-20T10:00:00+00:00"
_ROWS = """
create table f (id integer, wall timestamp, text text, day date, number integer);
insert into f values (1, '2026-11-20 08:00:00', '2026-11-20T08:00:00+09:00', '2026-11-19', 1);
insert into f values (2, '2026-11-20 09:00:00', null, '2026-11-20', 1);
insert into f values (3, '2999-01-01 00:00:00', '2026-11-20T08:30:00Z', null, 3);
"""


@pytest.fixture(params=["sqlite", "frame", pytest.param("postgres", marks=pytest.mark.postgres)])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tables]:
    """Give a table of times: in SQLite, as a frame, in PostgreSQL."""
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
    """Give the expectation, judged at a fixed time."""
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
    """Arguments are those of the check, and told as the check tells them, when the expectation is made."""
    (problem,) = validate([Declared("expect_table_to_be_fresh", kwargs, route)])
    assert problem is None if said is None else said in problem
