"""What a source tells of the rows and bytes that its statements read."""

import os
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pytest

from sources import NOTHING_TOLD, QueryFailed, ReadVolume, Source, SourceSpec, open_source

ROWS = 10_000


def _sums(source: Source, table: str, column: str = "id") -> str:
    return source.compile(source.table(table).aggregate(total=source.table(table)[column].sum()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one table in each format."""
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(f"CREATE TABLE orders AS SELECT range AS id, range % 7 AS kind FROM range({ROWS})")
        for file in ("orders.csv", "orders.parquet"):
            connection.execute(f"COPY orders TO '{tmp_path / file}'")
    return tmp_path


def test_the_rows_and_bytes_of_a_csv_file_are_reported(folder: Path) -> None:
    """Of a file of text all rows are read, and all bytes; a second question is a second reading."""
    with open_source(SourceSpec("shop", folder, files="orders.csv")) as source:
        sql = _sums(source, "orders")
        source.take_read_volume()
        for _ in range(2):
            source.fetch(sql)
        size = (folder / "orders.csv").stat().st_size
        assert source.take_read_volume() == ReadVolume(2 * ROWS, 2 * size)
        assert source.take_read_volume() == NOTHING_TOLD


def test_the_bytes_of_parquet_are_unknown(folder: Path) -> None:
    """DuckDB counts only a part of what it reads of Parquet: the rows are reported, the bytes are not."""
    with open_source(SourceSpec("shop", folder, files="orders.parquet")) as source:
        source.fetch(_sums(source, "orders"))
        assert source.take_read_volume() == ReadVolume(ROWS, None)


def test_a_filter_that_the_scan_applies_leaves_the_rows_it_hands_on(folder: Path) -> None:
    """Rows that a scan skips or filters itself are not counted as read."""
    with open_source(SourceSpec("shop", folder, url="duckdb:///shop.duckdb")) as source:
        orders = source.table("orders")
        source.fetch(source.compile(orders.filter(orders.kind == 3).aggregate(total=orders.id.sum())))
        volume = source.take_read_volume()
    assert volume.rows == len([number for number in range(ROWS) if number % 7 == 3])
    assert volume.bytes is not None


def test_a_question_that_the_catalogue_answers_reads_nothing_known(folder: Path) -> None:
    """Where DuckDB has no profile, nothing is known; it is not 0."""
    with open_source(SourceSpec("shop", folder, files="orders.parquet")) as source:
        source.fetch(source.compile(source.table("orders").count().name("n")))
        assert source.take_read_volume() == NOTHING_TOLD


def test_answers_in_pieces_and_frames_are_counted(folder: Path) -> None:
    """Rows count in whatever way the answer is taken."""
    with open_source(SourceSpec("shop", folder, url="duckdb:///shop.duckdb")) as source:
        sql = source.compile(source.table("orders").select("id"))
        assert sum(map(len, source.pieces(sql))) == ROWS
        assert source.take_read_volume().rows == ROWS
        for _ in source.columns(sql):
            pass
        assert source.take_read_volume().rows == ROWS
        source.frame("orders", ["id"], 100 * ROWS)
        assert source.take_read_volume().rows == ROWS


def test_sqlite_tells_nothing(tmp_path: Path) -> None:
    """An engine that does not count leaves rows and bytes unknown."""
    import sqlite3

    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    connection.close()
    with open_source(SourceSpec("shop", tmp_path, url="sqlite:///shop.db")) as source:
        source.fetch(_sums(source, "orders"))
        assert source.take_read_volume() == NOTHING_TOLD


@pytest.fixture
def postgresql(postgres_url: str) -> Iterator[str]:
    """Return a server whose source forbids parallel workers, with tables, a view, partitions and an index."""
    import psycopg

    schema = f"read_volume_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}")
        connection.execute(
            f"CREATE TABLE orders AS SELECT g AS id, g % 7 AS kind, 'x' AS note FROM generate_series(1, {ROWS}) g"
        )
        connection.execute("CREATE TABLE marked AS SELECT * FROM orders")
        connection.execute("CREATE INDEX ON marked (kind)")
        connection.execute("CREATE VIEW few AS SELECT * FROM orders WHERE kind = 3")
        connection.execute("CREATE TABLE parts (id int, kind int) PARTITION BY LIST (kind)")
        for kind in range(7):
            connection.execute(f"CREATE TABLE part_{kind} PARTITION OF parts FOR VALUES IN ({kind})")
        connection.execute("INSERT INTO parts SELECT id, kind FROM orders")
        connection.execute("ANALYZE orders, marked, parts")
        yield f"{postgres_url}?options=-csearch_path%3D{schema}"
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


SERIAL = "%20-cmax_parallel_workers_per_gather%3D0"
COUNTED = {
    "all rows of a table": ("SELECT sum(id) FROM orders", ROWS),
    "rows before the filter": ("SELECT sum(id) FROM orders WHERE kind = 3", ROWS),
    "the table behind a view": ("SELECT sum(id) FROM few", ROWS),
    "a table that is read twice": ("SELECT sum(a.id) FROM orders a JOIN orders b ON a.id = b.id", 2 * ROWS),
    "all partitions": ("SELECT sum(id) FROM parts", ROWS),
    "a partition": ("SELECT sum(id) FROM parts WHERE kind = 3", sum(n % 7 == 3 for n in range(1, ROWS + 1))),
    "entries of an index": ("SELECT sum(id) FROM marked WHERE kind = 3", sum(n % 7 == 3 for n in range(1, ROWS + 1))),
    "no table": ("SELECT 1", None),
}


@pytest.mark.parametrize("name", COUNTED)
def test_postgresql_tells_rows_where_no_worker_reads(postgresql: str, name: str) -> None:
    """A session without parallel workers counts each row that a scan hands on, before filters; never bytes."""
    sql, rows = COUNTED[name]
    with _serial(postgresql) as source:
        source.take_read_volume()
        for times in (1, 2):  # the counters begin again with each statement
            for _ in range(times):
                source.fetch(sql)
            assert source.take_read_volume() == ReadVolume(None if rows is None else times * rows)
        assert sum(map(len, source.pieces("SELECT id FROM orders"))) == ROWS
        assert source.take_read_volume() == ReadVolume(ROWS)


def test_what_a_failed_statement_read_counts_for_no_other(postgresql: str) -> None:
    """Rows read before an error cannot be separated from the next statement's: that one is unknown, not too much."""
    with _serial(postgresql) as source:
        source.fetch("SELECT sum(id) FROM orders")
        source.take_read_volume()
        with pytest.raises(QueryFailed):
            source.fetch(f"SELECT sum(1 / (id - {ROWS})) FROM orders")
        source.fetch("SELECT sum(id) FROM orders")
        assert source.take_read_volume() == NOTHING_TOLD
        source.fetch("SELECT sum(id) FROM orders")
        assert source.take_read_volume() == ReadVolume(ROWS)


def test_a_session_that_may_use_workers_tells_nothing(postgresql: str) -> None:
    """Workers count what they read apart from the session: a part of the rows is not reported as all of them."""
    import psycopg

    workers = "%20-cmin_parallel_table_scan_size%3D0%20-cparallel_setup_cost%3D0%20-cparallel_tuple_cost%3D0"
    url = f"{postgresql}{workers}%20-cmax_parallel_workers_per_gather%3D2"
    with open_source(SourceSpec("shop", Path(), url=url)) as source:
        source.fetch("SELECT sum(id) FROM orders")
        assert source.take_read_volume() == NOTHING_TOLD
    with psycopg.connect(url, autocommit=True) as connection:  # why: the count of the session itself
        plan = connection.execute("EXPLAIN SELECT sum(id) FROM orders").fetchall()
        assert any("Gather" in row[0] for row in plan)


def test_a_session_behind_a_pooler_tells_nothing(postgresql: str) -> None:
    """A pooler gives its sessions to several clients: what another one just read would be counted as read here."""
    address = urlsplit(postgresql)
    with (
        _pooler((address.hostname or "", address.port or 5432)) as port,
        _serial(postgresql.replace(f":{address.port}/", f":{port}/")) as source,
    ):
        source._connection.execute("SELECT sum(id) FROM orders")  # type: ignore[attr-defined]  # by another client
        source.fetch("SELECT sum(id) FROM orders")
        assert source.take_read_volume() == NOTHING_TOLD


@contextmanager
def _pooler(server: tuple[str, int]) -> Iterator[int]:
    """Yield the port of a pooler: it passes on all there is, and has process numbers of its own."""

    def pass_on(source: socket.socket, target: socket.socket) -> None:
        while data := source.recv(65536):
            target.sendall(
                re.sub(rb"(?s)(?<=K\x00\x00\x00\x0c).{4}", b"\0\0\0\7", data)
            )  # of the message BackendKeyData
        with suppress(OSError):  # it may be gone already
            target.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(3) as threads:
        listener.settimeout(20)  # a test that fails before it connects does not wait for ever

        def serve() -> None:
            client, _ = listener.accept()
            with client, socket.create_connection(server) as session:
                upwards = threads.submit(pass_on, client, session)
                pass_on(session, client)
                upwards.result()

        serving = threads.submit(serve)
        yield listener.getsockname()[1]
        serving.result()


def _serial(url: str) -> Source:
    return open_source(SourceSpec("shop", Path(), url=url + SERIAL))
