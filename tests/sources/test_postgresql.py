"""A PostgreSQL server: one session that only reads and gives up in time."""

import sys
import traceback
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa

from sources import PermissionDenied, QueryFailed, SourceSpec, TableNotFound, TimedOut, Unreachable, open_source
from sources._contract import Source

pytestmark = pytest.mark.postgres


def source_of(url: str, **rest: Any) -> Source:
    """Declare the source."""
    return open_source(SourceSpec("shop", Path(), url=url, **rest))


@pytest.fixture
def owner(postgres_schema: str) -> Iterator[Any]:
    """Yield a session that may write."""
    import psycopg

    with psycopg.connect(postgres_schema, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER); INSERT INTO orders VALUES (1)")
        yield connection


def test_the_session_is_as_declared(postgres_schema: str) -> None:
    """The session reads only, in UTC, with our limits and under our name."""
    limits = {"query_timeout": timedelta(seconds=7), "lock_timeout": timedelta(seconds=3)}
    names = (
        "default_transaction_read_only",
        "transaction_read_only",
        "statement_timeout",
        "lock_timeout",
        "TimeZone",
        "application_name",
    )
    asked = ", ".join(f"current_setting('{name}') AS {name}" for name in names)
    with source_of(postgres_schema, **limits) as source:
        [row] = source.fetch(f"SELECT {asked}, current_setting('client_connection_check_interval', true) AS watched")
    *settings, watched = row.values()
    assert settings == ["on", "on", "7s", "3s", "UTC", "tablewatch"]
    assert watched in {"500ms", None}  # None before PostgreSQL 14


def test_a_function_cannot_make_the_session_write(postgres_schema: str, owner: Any) -> None:
    """Turning the session's default off from within a SELECT does not help: each transaction begins as read only."""
    owner.execute("CREATE FUNCTION sneak() RETURNS int LANGUAGE sql AS 'INSERT INTO orders VALUES (2) RETURNING id'")
    with source_of(postgres_schema) as source:
        source.fetch("SELECT set_config('default_transaction_read_only', 'off', false) AS x")
        for attempt in (
            "SELECT sneak() AS x",
            "SELECT nextval('s') AS x",
            "WITH w AS (DELETE FROM orders RETURNING id) SELECT * FROM w",
        ):
            with pytest.raises(QueryFailed):
                source.fetch(attempt)
        with pytest.raises(QueryFailed):
            source.fetch("SELECT set_config('transaction_read_only', 'off', true), sneak()")
    assert owner.execute("SELECT count(*) FROM orders").fetchone() == (1,)


def test_options_of_the_url_are_kept(postgres_schema: str, owner: Any) -> None:
    """A search path given in the URL holds beside our limits, and makes its tables bare names."""
    owner.execute("CREATE SCHEMA sales; CREATE TABLE sales.refunds (id INTEGER)")
    url = f"{postgres_schema}?options=-c%20search_path%3Dsales"
    with source_of(url) as source:
        assert source.tables() == ["public.orders", "refunds"]
        assert source.fetch("SELECT current_setting('transaction_read_only') AS ro") == [{"ro": "on"}]


def test_a_lock_is_waited_for_and_reported(postgres_schema: str, owner: Any) -> None:
    """A table that is locked for longer than lock_timeout is TimedOut."""
    with owner.transaction():
        owner.execute("LOCK TABLE orders")
        with source_of(postgres_schema, lock_timeout=timedelta(milliseconds=50)) as source:
            orders = source.table("orders")
            with pytest.raises(TimedOut, match=r"a lock was not available within 0.05 s; see lock_timeout"):
                source.fetch(source.compile(orders.count().name("n")))


def test_a_table_that_may_not_be_read_is_denied(postgres_schema: str, owner: Any) -> None:
    """A table without the right to SELECT is PermissionDenied, not missing."""
    owner.execute(
        "DROP ROLE IF EXISTS tablewatch_reader; CREATE ROLE tablewatch_reader LOGIN PASSWORD 'canary-of-reader'"
    )
    host = postgres_schema.rpartition("@")[2]
    with source_of(f"postgresql://tablewatch_reader:canary-of-reader@{host}") as source:
        orders = source.table("orders")
        with pytest.raises(PermissionDenied, match="the user may not read this; expected the right to SELECT"):
            source.fetch(source.compile(orders.count().name("n")))
    owner.execute("DROP ROLE tablewatch_reader")


def test_a_server_that_ends_the_session_is_unreachable(postgres_schema: str, owner: Any) -> None:
    """A session that is ended from outside is reported as such."""
    with source_of(postgres_schema) as source:
        [row] = source.fetch("SELECT pg_backend_pid() AS pid")
        owner.execute("SELECT pg_terminate_backend(%s, 5000)", [row["pid"]])
        with pytest.raises(Unreachable, match="the server ended the connection"):
            source.fetch("SELECT 1 AS one")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://{login}@{host}/canary_db", "the database does not exist"),
        (
            "postgresql://reader:canary_word@{host}/canary_db",
            "(password authentication failed|the user does not exist); user 'reader', host '[^']+'",
        ),
        (
            "postgresql://reader:canary_word@127.0.0.1:1/canary_db",
            "connection refused: nothing is listening on the host and port; user 'reader', host '127.0.0.1'",
        ),
        (
            "postgresql://127.0.0.1:1/canary_db?user=reader&password=canary",
            "on the host and port; user 'reader', host '127.0.0.1'",
        ),
        ("postgresql://reader:12@canary@127.0.0.1:1/canary_db", r"database and user \(|cannot be resolved \("),
        ("postgresql://127.0.0.1:1/canary@127.0.0.1/canary_db", r"on the host and port \("),
    ],
)
def test_a_refused_connection_says_why_and_keeps_the_secret(postgres_url: str, url: str, told: str) -> None:
    """The reason is reported in our words with user and host, and not with what may be of the password."""
    login, _, rest = postgres_url.partition("://")[2].rpartition("@")
    url = url.format(login=login, host=rest.partition("/")[0])
    with pytest.raises(Unreachable, match=told) as caught:
        source_of(url).__enter__()
    assert "canary" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "rest", ["u:canary@nowhere.invalid/db", "u:canary@ho st/db", "u:canary@localhost:port/db", "[canary", "h?canary=1"]
)
def test_a_url_that_cannot_be_used_keeps_the_secret(rest: str) -> None:
    """Unknown hosts and malformed URLs are Unreachable, without their text."""
    with pytest.raises(Unreachable) as caught:
        source_of(f"postgresql://{rest}", connect_timeout=timedelta(seconds=2)).__enter__()
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def test_great_expectations_gets_a_url_that_only_reads(postgres_schema: str, owner: Any) -> None:
    """The URL for SQLAlchemy opens a session with the same limits."""
    with source_of(postgres_schema, query_timeout=timedelta(seconds=7)) as source:
        url = source.sqlalchemy_url()
    assert url is not None
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        settings = "current_setting('statement_timeout'), current_setting('transaction_read_only')"
        assert tuple(connection.execute(sa.text(f"SELECT {settings}, count(*) FROM orders")).one()) == ("7s", "on", 1)
        watched = "SELECT current_setting('client_connection_check_interval', true)"
        assert connection.execute(sa.text(watched)).scalar_one() in {"500ms", None}
        with pytest.raises(sa.exc.InternalError, match="read-only"):
            connection.execute(sa.text("INSERT INTO orders VALUES (2)"))
    engine.dispose()
    assert owner.execute("SELECT count(*) FROM orders").fetchone() == (1,)


def test_a_login_of_odd_characters_reaches_great_expectations(postgres_schema: str, owner: Any) -> None:
    """User names and passwords with signs that mean something in URLs arrive as they are."""
    owner.execute("""DROP ROLE IF EXISTS "odd:@/?#[%"; CREATE ROLE "odd:@/?#[%" LOGIN PASSWORD 'p@:/?#[%41 w'""")
    host = postgres_schema.rpartition("@")[2]
    login = f"{quote('odd:@/?#[%', safe='')}:{quote('p@:/?#[%41 w', safe='')}"
    with source_of(f"postgres://{login}@{host}") as source:
        url = source.sqlalchemy_url()
    assert url is not None
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT current_user")).scalar() == "odd:@/?#[%"
    engine.dispose()
    owner.execute('DROP ROLE "odd:@/?#[%"')


def test_several_hosts_have_no_url_for_sqlalchemy() -> None:
    """SQLAlchemy spells several hosts otherwise, so Great Expectations works on a frame there."""
    assert source_of("postgresql://u:p@a:1,b:2/db").sqlalchemy_url() is None


def test_names_of_any_kind_and_schema_are_found(postgres_schema: str, owner: Any) -> None:
    """A dotted name is tried whole first; views, partitions and odd names are tables; system tables are not."""
    owner.execute('CREATE TABLE "sales.orders" AS SELECT 10 AS id')
    owner.execute("CREATE SCHEMA sales; CREATE TABLE sales.orders AS SELECT 20 AS id")
    owner.execute('CREATE SCHEMA "x""; DROP"; CREATE TABLE "x""; DROP"."select" AS SELECT 30 AS "a""b %s"')
    owner.execute("CREATE VIEW v AS SELECT 40 AS id; CREATE MATERIALIZED VIEW m AS SELECT 50 AS id")
    with source_of(postgres_schema) as source:
        for name, expected in (
            ("sales.orders", 10),
            ("public.orders", 1),
            ('x"; DROP.select', 30),
            ("v", 40),
            ("m", 50),
        ):
            found = source.table(name)
            [row] = source.fetch(source.compile(found.select(n=found[found.columns[0]])))
            assert row == {"n": expected}
        assert len(source.frame('x"; DROP.select', ['a"b %s'], 5)) == 1
        assert "pg_class" not in source.tables()
        with pytest.raises(TableNotFound):
            source.table("pg_catalog.pg_authid")


def test_a_partitioned_table_stands_for_its_partitions(postgres_schema: str, owner: Any) -> None:
    """Partitions, and partitions of these, are not listed; their names can be used all the same."""
    owner.execute(
        "CREATE TABLE events (id int, day date) PARTITION BY RANGE (day);"
        "CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');"
        "CREATE TABLE events_2 PARTITION OF events DEFAULT PARTITION BY LIST (id);"
        "CREATE TABLE events_2a PARTITION OF events_2 DEFAULT"
    )
    with source_of(postgres_schema) as source:
        assert {name for name in source.tables() if name.startswith("events")} == {"events"}
        assert source.table("events_2a").columns == ("id", "day")


def test_a_materialised_view_without_rows_says_so(postgres_schema: str, owner: Any) -> None:
    """Until it is refreshed nothing can be read."""
    owner.execute("CREATE MATERIALIZED VIEW later AS SELECT 1 AS id WITH NO DATA")
    with source_of(postgres_schema) as source:
        table = source.table("later")
        with pytest.raises(QueryFailed, match="no rows yet; expected REFRESH MATERIALIZED VIEW"):
            source.fetch(source.compile(table))


def test_a_value_that_does_not_fit_is_not_printed(postgres_schema: str, owner: Any) -> None:
    """PostgreSQL prints the value it could not convert; our error does not."""
    owner.execute("CREATE TABLE notes AS SELECT 'canary'::text AS note, '12000-01-01'::timestamp AS far")
    with source_of(postgres_schema) as source:
        for statement, said in (
            ("SELECT max(note::int) AS n FROM notes", "a value does not match the type"),
            ("SELECT max(1 / length(replace(note, 'canary', ''))) AS n FROM notes", "divides by zero"),
            ("SELECT max(far) AS n FROM notes", "a value in the result cannot be read"),
            ("SELECT '-infinity'::timestamptz AS n", "a value in the result cannot be read"),
        ):
            with pytest.raises(QueryFailed, match=said) as caught:
                source.fetch(statement)
            assert "canary" not in "".join(traceback.format_exception(caught.value)).replace(statement, "")


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without psycopg the source names the extra."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "sources.postgresql", raising=False)
    with pytest.raises(
        Unreachable, match=r"the package psycopg is not installed: pip install 'tablewatch\[postgres\]'"
    ):
        source_of("postgresql://u:p@localhost/db")
