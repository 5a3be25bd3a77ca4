"""DuckDB database files, which others own and write."""

import subprocess
import sys
import zlib
from base64 import b64decode
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import duckdb
import pytest

from sources import PermissionDenied, QueryFailed, SourceSpec, TimedOut, Unreachable, open_source
from sources._contract import Source

# the first three blocks of a file written by DuckDB 2.0.0: its headers
OF_DUCKDB_2 = (
    "eNrt2T0KwmAMgOHPn0HB1UUEZwdr8QdHhdbJWReLyGf1CNJBEBwdPIdTh15B7BkKPYDi0COoQymCWBFBqPA+S0gCGbKFBLLuuZPzSh9qg1NG"
    "fGTZUFRFje+b7dZMynnTXLyfU1yP8tPNbmtcDj3f2V8FAAAAAAD4Ca9jWeWx3k29bqcf9WwYcmHoszoAAAAAAP5G9VjSaoWKHeW3J+KL+5//"
    "PwAAAAAAyXIHvms1sw=="
)
DIE = """
import duckdb, os, sys
connection = duckdb.connect(sys.argv[1])
connection.execute("INSERT INTO orders VALUES (2)")
os._exit(0)
"""
HOLD = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a database file with one table."""
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id")
    return path


def source_of(path: Path, wait: float = 0) -> Source:
    """Declare the source."""
    spec = SourceSpec("shop", path.parent, url=f"duckdb:///{path.name}", lock_timeout=timedelta(seconds=wait))
    return open_source(spec)


@contextmanager
def held_by_its_owner(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Let another process hold the file open for writing."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"held\n"
        yield owner
        owner.communicate()


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    """A file that is not there is Unreachable, and is not there afterwards either."""
    with pytest.raises(Unreachable, match=r"does not exist; expected an existing database file"):
        source_of(tmp_path / "shop.duckdb").__enter__()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"canary" * 1000, b"SQLite format 3\0" * 300])
def test_another_format_is_reported(tmp_path: Path, content: bytes) -> None:
    """A file of another format is reported as such."""
    (tmp_path / "shop.duckdb").write_bytes(content)
    with pytest.raises(Unreachable, match=r"'shop.duckdb' is not a DuckDB file") as caught:
        source_of(tmp_path / "shop.duckdb").__enter__()
    assert "canary" not in str(caught.value)


def test_a_file_of_a_newer_duckdb_names_both_versions(tmp_path: Path) -> None:
    """A file that a newer DuckDB wrote says who wrote it and who tries to read it."""
    (tmp_path / "shop.duckdb").write_bytes(zlib.decompress(b64decode(OF_DUCKDB_2)))
    result = f"'shop.duckdb' was written by DuckDB 2.0.0 and cannot be read by DuckDB {duckdb.__version__} here"
    with pytest.raises(Unreachable, match=result):
        source_of(tmp_path / "shop.duckdb").__enter__()


def test_a_file_that_its_owner_holds_is_unreachable(shop: Path) -> None:
    """While its owner has it open for writing no other process reads it; the owner's process is named."""
    with held_by_its_owner(shop) as owner:
        result = f"'shop.duckdb' is open for writing in process {owner.pid}"
        with pytest.raises(Unreachable, match=result):
            source_of(shop).__enter__()


def test_a_file_that_its_owner_lets_go_is_waited_for(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source tries again until lock_timeout is over."""
    with held_by_its_owner(shop) as owner:
        monkeypatch.setattr("sources.duckdb_file.time.sleep", lambda _: owner.communicate())
        with source_of(shop, wait=60) as source:
            assert source.tables() == ["orders"]


def test_a_file_that_this_process_writes_is_unreachable(shop: Path) -> None:
    """DuckDB opens a file once per process for writing; no other process reads meanwhile."""
    with (
        duckdb.connect(str(shop)),
        pytest.raises(Unreachable, match="is open for writing in this process"),
    ):
        source_of(shop).__enter__()


def test_the_owner_writes_again_after_the_pass(shop: Path) -> None:
    """When the pass is over the file is let go."""
    with source_of(shop) as source:
        assert source.tables() == ["orders"]
    with held_by_its_owner(shop):
        pass


def test_what_only_the_log_has_is_read_and_the_log_left_alone(shop: Path) -> None:
    """Rows of an owner that died before its checkpoint are read; reading does not move them into the file."""
    subprocess.run([sys.executable, "-c", DIE, str(shop)], check=True)
    log = shop.with_suffix(".duckdb.wal")
    before = log.read_bytes()
    with source_of(shop) as source:
        assert source.fetch("SELECT count(*) AS n FROM orders") == [{"n": 2}]
    assert log.read_bytes() == before


def test_names_of_any_kind_and_schema_are_found(shop: Path) -> None:
    """A dotted name is tried whole first; names that look like SQL are names."""
    nasty = 'x"; DROP TABLE orders; --'
    quoted = nasty.replace('"', '""')
    with duckdb.connect(str(shop)) as connection:
        connection.execute('CREATE TABLE "sales.orders" AS SELECT 10 AS id')
        connection.execute("CREATE SCHEMA sales; CREATE TABLE sales.orders AS SELECT 20 AS id")
        connection.execute(f'CREATE SCHEMA "{quoted}"; CREATE TABLE "{quoted}"."select" AS SELECT 30 AS "a""b"')
    with source_of(shop) as source:
        for name, expected in (("sales.orders", 10), ("main.orders", 1), (f"{nasty}.select", 30)):
            found = source.table(name)
            [row] = source.fetch(source.compile(found.select(n=found[found.columns[0]])))
            assert row == {"n": expected}
        assert len(source.frame(f"{nasty}.select", ['a"b'], 5)) == 1


def test_a_view_on_outside_files_is_denied(shop: Path) -> None:
    """A view of the file may not lead out of it."""
    (shop.parent / "outside.csv").write_text("id\n1\n")
    with duckdb.connect(str(shop)) as connection:
        connection.execute(f"CREATE VIEW outside AS SELECT * FROM read_csv('{shop.parent}/outside.csv')")
    with (
        source_of(shop) as source,
        pytest.raises(PermissionDenied, match="accesses files or settings that are locked"),
    ):
        source.table("outside")


def test_a_view_of_a_table_that_was_dropped_cannot_be_read(shop: Path) -> None:
    """A view that the catalogue lists although what it reads is gone is an error of its own, not a bug."""
    with duckdb.connect(str(shop)) as connection:
        connection.execute(
            "CREATE TABLE base AS SELECT 1 AS id; CREATE VIEW orphan AS SELECT * FROM base; DROP TABLE base"
        )
    with source_of(shop) as source:
        assert "orphan" in source.tables()
        with pytest.raises(QueryFailed, match="the columns of table 'orphan' cannot be read"):
            source.table("orphan")


def test_a_view_that_never_ends_is_stopped(shop: Path) -> None:
    """What the file itself defines is under query_timeout as well."""
    with duckdb.connect(str(shop)) as connection:
        endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n % 1000 + 1 FROM r) SELECT count(*) AS n FROM r"
        connection.execute(f"CREATE VIEW endless AS {endless}")
    spec = SourceSpec("shop", shop.parent, url="duckdb:///shop.duckdb", query_timeout=timedelta(milliseconds=200))
    with open_source(spec) as source, pytest.raises(TimedOut):
        source.frame("endless", ["n"], 1)


@pytest.mark.parametrize(
    "url", ["duckdb://", "duckdb:///", "duckdb://shop.duckdb", "duckdb:///shop.duckdb?read_only=0"]
)
def test_a_url_without_a_file_is_reported(shop: Path, url: str) -> None:
    """In-memory databases, hosts and options are no file."""
    source = open_source(SourceSpec("shop", shop.parent, url=url))
    with pytest.raises(Unreachable, match="its URL has no file path; expected duckdb:///FOLDER/FILE"):
        source.__enter__()


def test_two_sources_on_one_file_are_read_at_once(shop: Path) -> None:
    """Each has its own settings and its own lock, in any order of opening and closing, in threads too."""
    specs = [
        SourceSpec(name, shop.parent, url="duckdb:///shop.duckdb", memory_limit=limit, threads=threads)
        for name, limit, threads in (("utc", "1GB", 1), ("tokyo", "512MB", 2), ("again", "1GB", 1))
    ]

    def count(spec: SourceSpec) -> list[int]:
        counts = []
        for _ in range(5):
            with open_source(spec) as source:
                [row] = source.fetch(source.compile(source.table("orders").count().name("n")))
                counts.append(row["n"])
        return counts

    with open_source(specs[0]) as first:
        with open_source(specs[1]) as second, pytest.raises(QueryFailed):
            second.fetch("SET threads = 4")
        assert first.tables() == open_names(specs[2])
        with ThreadPoolExecutor(3) as threads:
            assert len({tuple(counts) for counts in threads.map(count, specs)}) == 1
        assert first.fetch("SELECT count(*) AS n FROM shop.main.orders") == [{"n": count(specs[1])[0]}]


def open_names(spec: SourceSpec) -> Sequence[str]:
    """Return the names of a source's tables."""
    with open_source(spec) as source:
        return source.tables()


@pytest.mark.parametrize("name", ["main", "memory", "temp", "system", "it's", 'a"b', "x.y"])
def test_any_name_of_a_database_file_is_read(tmp_path: Path, name: str) -> None:
    """Also names that DuckDB has for databases of its own, and those with quotes and dots."""
    with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS id; CREATE VIEW v AS SELECT id FROM t")
    url = f"duckdb:///{quote(name)}.duckdb"
    with open_source(SourceSpec("s", tmp_path, url=url)) as source:
        assert source.tables() == ["t", "v"]
        assert source.fetch("SELECT id FROM v") == [{"id": 1}]


@pytest.mark.parametrize("rows", ["", "(1), (2), (NULL), (3)"])
def test_counts_with_a_condition_need_no_filter(tmp_path: Path, rows: str) -> None:
    """A count of rows that meet a condition is that of FILTER, which DuckDB runs slower; of no rows it is 0."""
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
        if rows:
            connection.execute(f"INSERT INTO orders VALUES {rows}")
        by_filter = "SELECT count(*) AS a, count(*) FILTER (id > 1) AS b, count(*) FILTER (id IS NULL) AS c FROM orders"
        expected = connection.execute(by_filter).fetchall()
    with source_of(path) as source:
        table = source.table("orders")
        counts = {"a": table.count(), "b": table.count(where=table.id > 1), "c": table.count(where=table.id.isnull())}
        sql = source.compile(table.aggregate(**counts))
        assert "FILTER" not in sql
        assert [tuple(row.values()) for row in source.fetch(sql)] == expected
