"""Engines that are reached by Ibis alone. DuckDB stands for them where an engine is needed."""

import traceback
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from sources import PermissionDenied, QueryFailed, SourceError, SourceSpec, TableNotFound, Unreachable, open_source
from sources.ibis_url import IbisUrl

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table")  # Ibis 12 calls what DuckDB 1.5 has a new name for


@pytest.fixture
def source(tmp_path: Path) -> Iterator[IbisUrl]:
    """Yield an engine whose session may write: a database in memory with one more attached."""
    with duckdb.connect(str(tmp_path / "more.duckdb")) as connection:
        connection.execute("CREATE SCHEMA sales; CREATE TABLE sales.refunds AS SELECT 7 AS id")
    with IbisUrl(SourceSpec("cloud", tmp_path, url="duckdb://")) as opened:
        opened._backend.raw_sql("CREATE TABLE orders AS SELECT 1 AS id, 'canary' AS note")
        opened._backend.raw_sql(f"ATTACH '{tmp_path / 'more.duckdb'}' AS more")
        yield opened


def test_the_dialect_is_the_engines(source: IbisUrl) -> None:
    """An open source says which dialect its engine speaks."""
    assert source.dialect == "duckdb"


def test_a_catalogue_and_a_schema_may_stand_before_the_table(source: IbisUrl) -> None:
    """`more.sales.refunds` is a table of another catalogue."""
    refunds = source.table("more.sales.refunds")
    assert source.fetch(source.compile(refunds)) == [{"id": 7}]
    with pytest.raises(TableNotFound, match=r"table 'more.sales.refund' not found"):
        source.table("more.sales.refund")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE planted (a INT)",
        "SELECT 1; CREATE TABLE planted (a INT)",
        "WITH w AS (SELECT 1) INSERT INTO orders SELECT 1, 'x'",
        "SELECT 1 AS a INTO planted",
        "DROP TABLE orders",
        "SET threads = 1",
        "SELECT canary FROM (",
        "/* nothing */",
    ],
)
def test_whatever_is_not_one_select_is_not_sent(source: IbisUrl, statement: str) -> None:
    """The session could write, so that only what is parsed as one query is sent."""
    with pytest.raises(QueryFailed, match=r"only one SELECT is run|cannot be parsed as duckdb") as caught:
        source.fetch(statement)
    assert "canary" not in str(caught.value)
    assert source.tables() == ["orders"]


@pytest.mark.parametrize(
    "statement", ["SELECT 1 AS a UNION ALL SELECT 2", "(SELECT 1 AS a)", "WITH w AS (SELECT 1 AS a) SELECT * FROM w"]
)
def test_every_form_of_a_query_is_sent(source: IbisUrl, statement: str) -> None:
    """Unions, parentheses and WITH are queries."""
    assert source.fetch(statement)[0] == {"a": 1}


def test_the_clients_of_other_engines_are_read(source: IbisUrl) -> None:
    """What ClickHouse's and BigQuery's clients give is read like a cursor; anything else is reported, not guessed."""
    clickhouse = SimpleNamespace(column_names=["a", "b"], result_rows=[[1, None]])
    assert source._rows(clickhouse).cells == [(1, None)]

    class Job(list[Any]):
        schema = (SimpleNamespace(name="a"), SimpleNamespace(name="b"))

    assert source._rows(Job([{"a": 1, "b": None}])).cells == [(1, None)]
    with pytest.raises(QueryFailed, match="duckdb returns results in an unsupported form"):
        source._rows(object())


class Error(Exception):
    """The root of a driver's errors, as PEP 249 names it."""


class InterfaceError(Error):
    """The connection is of no use any more."""


class Forbidden(Exception):
    """No right to read."""


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (Error("canary"), QueryFailed),
        (InterfaceError("canary"), Unreachable),
        (ConnectionResetError("canary"), Unreachable),
        (Forbidden("canary"), PermissionDenied),
    ],
)
def test_a_drivers_error_is_told_in_our_words(
    source: IbisUrl, raised: Exception, expected: type[SourceError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors of unknown drivers are recognised by the names that PEP 249 gives them."""

    def fail(_: str) -> None:
        raise raised

    monkeypatch.setattr(source._backend, "raw_sql", fail)
    with pytest.raises(expected, match=rf"\({type(raised).__name__}\)") as caught:
        source.fetch("SELECT 1 AS a")
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def test_our_own_mistakes_are_not_hidden(source: IbisUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is no driver's stays what it is."""

    def fail(_: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(source._backend, "raw_sql", fail)
    with pytest.raises(ZeroDivisionError):
        source.fetch("SELECT 1 AS a")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("trino://user:canary@localhost/db", "the driver of trino is not installed; install 'ibis-framework.trino.'"),
        ("mysqll://user:canary@localhost/db", "Ibis has no backend 'mysqll'; did you mean 'mysql'"),
        ("user:canary@localhost/db", "its URL does not start with an engine; expected ENGINE://"),
        ("u%canary://localhost/db", "its URL does not start with an engine"),
        ("duckdb://canary/canary/x.duckdb?read_only=True", "duckdb cannot be reached with this URL; check its parts"),
        ("duckdb://?canary=1", "duckdb cannot be reached with this URL; check its parts"),
        ("polars://user:canary@[/db", "polars"),
    ],
)
def test_a_url_that_leads_nowhere_says_why_and_keeps_its_secret(url: str, told: str, tmp_path: Path) -> None:
    """A missing driver, an unknown engine and a refused connection are Unreachable, without the URL."""
    with pytest.raises(Unreachable, match=told) as caught:
        IbisUrl(SourceSpec("cloud", tmp_path, url=url)).__enter__()
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def test_an_engine_without_sql_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ibis also reaches engines that run no SQL; those are no source."""
    monkeypatch.setattr("ibis.connect", lambda _: SimpleNamespace(name="polars"))
    with pytest.raises(Unreachable, match="'polars' is not an SQL engine"):
        IbisUrl(SourceSpec("cloud", tmp_path, url="polars://")).__enter__()


def test_other_urls_come_here(tmp_path: Path) -> None:
    """A URL that no other kind knows is Ibis'."""
    assert isinstance(open_source(SourceSpec("cloud", tmp_path, url="trino://u@localhost/c/s")), IbisUrl)
