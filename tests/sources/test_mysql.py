"""A MariaDB or MySQL server: one session that only reads, gives up in time and compares texts letter by letter."""

import traceback
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.suggest.catalogue import read_catalogue
from sources import PermissionDenied, QueryFailed, SourceSpec, TableNotFound, TimedOut, Unreachable, open_source
from sources._contract import Source

pytestmark = pytest.mark.mysql


def source_of(url: str, **rest: Any) -> Source:
    """Declare the source."""
    return open_source(SourceSpec("shop", Path(), url=url, **rest))


@pytest.fixture
def owner(mysql_schema: str) -> Iterator[Any]:
    """Yield a session that may write."""
    from sources.mysql import connect

    with closing(connect(mysql_schema)) as connection:
        connection.query("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        connection.query("INSERT INTO orders VALUES (1)")
        yield connection


@pytest.fixture
def reader(mysql_schema: str, owner: Any) -> Iterator[str]:
    """Yield the URL of an account that may read `orders` only."""
    database = mysql_schema.rpartition("/")[2]
    name = f"reader_{database[-8:]}"
    owner.query(f"CREATE OR REPLACE USER {name}@127.0.0.1 IDENTIFIED BY 'canary'")
    owner.query(f"GRANT SELECT ON {database}.orders TO {name}@127.0.0.1")
    yield f"mysql://{name}:canary@{mysql_schema.rpartition('@')[2]}"
    owner.query(f"DROP USER {name}@127.0.0.1")


def test_the_session_is_as_declared(mysql_schema: str) -> None:
    """The session reads only, in UTC, with our limits, whatever the server's defaults are."""
    limits = {"query_timeout": timedelta(seconds=7), "lock_timeout": timedelta(milliseconds=2500)}
    names = ("tx_read_only", "max_statement_time", "lock_wait_timeout", "time_zone", "sql_mode")
    with source_of(mysql_schema, **limits) as source:
        [row] = source.fetch(f"SELECT {', '.join(f'@@{name} AS {name}' for name in names)}")
    assert list(row.values()) == [1, 7.0, 3, "+00:00", "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"]


def test_nothing_but_one_query_is_sent(mysql_schema: str, owner: Any, tmp_path: Path) -> None:
    """What writes a table or a file, also from within a function, is refused; so is a second statement."""
    owner.query(
        "CREATE FUNCTION sneak() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO orders VALUES (2); RETURN 2; END"
    )
    with source_of(mysql_schema) as source:
        for attempt in (
            "SELECT sneak() AS x",
            "DELETE FROM orders",
            f"SELECT id FROM orders INTO OUTFILE '{tmp_path / 'x'}'",
            "SELECT 1 AS x; DELETE FROM orders",
            "SELECT id FROM orders FOR UPDATE; SELECT 1",
        ):
            with pytest.raises(QueryFailed):
                source.fetch(attempt)
        assert source.fetch("SELECT count(*) AS n FROM orders") == [{"n": 1}]
    assert not (tmp_path / "x").exists()


def test_a_lock_is_waited_for_and_reported(mysql_schema: str, owner: Any) -> None:
    """A table that is locked for longer than lock_timeout is TimedOut."""
    with source_of(mysql_schema, lock_timeout=timedelta(milliseconds=50)) as source:
        orders = source.table("orders")
        owner.query("LOCK TABLES orders WRITE")
        with pytest.raises(TimedOut, match=r"a lock was not available within 0.05 s; see lock_timeout"):
            source.fetch(source.compile(orders.count().name("n")))
        owner.query("UNLOCK TABLES")


def test_what_may_not_be_read_is_not_there(owner: Any, reader: str) -> None:
    """The server shows an account only what it may read; a statement that names more is PermissionDenied."""
    owner.query("CREATE TABLE salaries (id INTEGER)")
    with source_of(reader) as source:
        assert source.tables() == ["orders"]
        with pytest.raises(TableNotFound):
            source.table("salaries")
        with pytest.raises(PermissionDenied, match="the user may not read this; expected the right to SELECT"):
            source.fetch("SELECT * FROM salaries")


def test_tables_of_the_database_in_the_url_are_listed(mysql_schema: str, owner: Any) -> None:
    """Those of other databases are found by name; a URL without a database lists all."""
    server, _, database = mysql_schema.rpartition("/")
    other = f"{database}_other"
    owner.query(f"CREATE OR REPLACE DATABASE {other}")
    owner.query(f"CREATE TABLE {other}.refunds (code INTEGER PRIMARY KEY)")
    with source_of(mysql_schema) as source:
        assert source.tables() == ["orders"]
        assert source.table(f"{other}.refunds").columns == ("code",)
    [entry] = read_catalogue(SourceSpec("shop", Path(), url=mysql_schema), only=[f"{other}.refunds"])
    assert entry.key == ("code",)
    with source_of(server) as source:
        assert {f"{database}.orders", f"{other}.refunds"} <= set(source.tables())
    owner.query(f"DROP DATABASE {other}")


def test_invisible_columns_are_columns(mysql_schema: str, owner: Any) -> None:
    """`SELECT *` leaves them out; a statement about all columns reads them."""
    owner.query("CREATE TABLE hidden (a INTEGER, b INTEGER INVISIBLE DEFAULT 7)")
    owner.query("INSERT INTO hidden (a) VALUES (1)")
    with source_of(mysql_schema) as source:
        table = source.table("hidden")
        assert set(table.columns) == {"a", "b"}
        rows = table.filter(table["a"] > 0).select("b", "a")
        assert source.fetch(source.compile(rows)) == [{"b": 7, "a": 1}]
        assert source.fetch(source.compile(table.select(*table.columns))) == [{"a": 1, "b": 7}]


def test_a_declared_key_is_found_with_the_right_to_select_alone(reader: str) -> None:
    """`init` proposes the key of a table that the account may read."""
    [table] = read_catalogue(SourceSpec("shop", Path(), url=reader))
    assert (table.name, table.key) == ("orders", ("id",))


def test_a_server_that_ends_the_session_is_unreachable(mysql_schema: str, owner: Any) -> None:
    """A session that is ended from outside is reported as such."""
    with source_of(mysql_schema) as source:
        [row] = source.fetch("SELECT CONNECTION_ID() AS pid")
        owner.query(f"KILL {row['pid']}")
        with pytest.raises(Unreachable, match="the server ended the connection"):
            source.fetch("SELECT 1 AS one")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((":throwaway@", ":canary@"), "or the user does not exist; user '[^']+', host '127.0.0.1'"),
        ((":throwaway@", ":12@canary@"), r"or the user does not exist \("),
        (("/tablewatch_sources", "/canary_sources"), "the database does not exist"),
        (("_sources", "_sources?canary=1&x="), "unknown option 'canary'; expected unix_socket, charset"),
    ],
)
def test_no_connection_says_why_and_keeps_its_secret(mysql_schema: str, change: tuple[str, str], told: str) -> None:
    """The reason is named in our words with user and host, and not with what may be of the password."""
    with pytest.raises(Unreachable, match=told) as caught:
        source_of(mysql_schema.replace(*change, 1)).__enter__()
    text = "".join(traceback.format_exception(caught.value))
    assert "throwaway" not in text
    assert ":canary@" not in text
    assert "@canary" not in text


@pytest.mark.mysql_driver
def test_a_port_that_nobody_listens_on_is_named() -> None:
    """Without a server the address is the reason."""
    with pytest.raises(Unreachable, match=r"nothing is listening there; user 'reader', host '127\.0\.0\.1'"):
        source_of("mariadb://reader:canary@127.0.0.1:1/x?charset=utf8mb4").__enter__()


def test_texts_are_compared_letter_by_letter(mysql_schema: str, owner: Any) -> None:
    """Capitals, accents and blanks at the end make two texts, whatever the collation and the encoding of the column."""
    owner.query("CREATE TABLE words (w VARCHAR(20)) CHARACTER SET latin1 COLLATE latin1_swedish_ci")
    owner.query("INSERT INTO words VALUES ('a'), ('A'), ('a '), ('é'), ('e')")
    with source_of(mysql_schema) as source:
        words = source.table("words")
        [row] = source.fetch(
            source.compile(words.aggregate(n=words.w.nunique(), a=(words.w == "a").sum(), e=words.w.isin(["é"]).sum()))
        )
    assert (row["n"], int(row["a"]), int(row["e"])) == (5, 1, 1)


def test_types_are_what_they_hold(mysql_schema: str, owner: Any) -> None:
    """A year does not fit a byte, a set is text, bits are bytes; a TIMESTAMP is a moment, a DATETIME a wall clock."""
    owner.query(
        "CREATE TABLE odd (y YEAR, s SET('a', 'b'), b BIT(8), m TIMESTAMP(6) NULL, w DATETIME(6), t TINYINT(1))"
    )
    owner.query("INSERT INTO odd VALUES (2026, 'a,b', b'101', '2026-01-01', '2026-01-01', 1)")
    with source_of(mysql_schema) as source:
        odd = source.table("odd")
        kinds = [str(kind) for kind in odd.schema().types]
        [row] = source.fetch(source.compile(odd.filter(odd.y > 2000)))
    assert kinds == ["int16", "string", "binary", "timestamp('UTC', 6)", "timestamp(6)", "int8"]
    assert (row["y"], row["s"], row["b"], row["t"]) == (2026, "a,b", b"\x05", 1)
    assert (row["m"], row["w"]) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1))  # noqa: DTZ001 - a wall clock
