"""SQLite files, which may come from anywhere."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
import sqlalchemy as sa

from sources import QueryFailed, SourceSpec, TimedOut, Unreachable, open_source
from sources._contract import Source
from tests.sources.conftest import fetched

Make = Callable[..., Path]
_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return what makes a SQLite file by a script."""

    def written(script: str, name: str = "shop.sqlite") -> Path:
        connection = sqlite3.connect(tmp_path / name)
        connection.executescript(script)
        connection.close()
        return tmp_path / name

    return written


def source_of(path: Path, **rest: timedelta) -> Source:
    """Declare the source."""
    return open_source(SourceSpec("shop", path.parent, url=f"sqlite:///{quote(path.name)}", **rest))  # type: ignore[arg-type]  # times only


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    """A file that is not there is Unreachable, and is not there afterwards either."""
    with pytest.raises(Unreachable, match="does not exist; expected an existing database file"):
        source_of(tmp_path / "shop.sqlite").__enter__()
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_user_is_denied(make: Make) -> None:
    """A process that may not read the file gets an error that says what to do; root is tried without that right."""
    path = make("CREATE TABLE t (a)")
    path.chmod(0)
    code = (
        "import sys; from pathlib import Path; from sources import SourceSpec, SourceError, open_source\n"
        "try: open_source(SourceSpec('shop', Path(sys.argv[1]), url='sqlite:///shop.sqlite')).__enter__()\n"
        "except SourceError as error: print(type(error).__name__, error)"
    )
    rights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = [*rights, sys.executable, "-c", code, str(path.parent)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=_ROOT).stdout
    assert said.startswith("PermissionDenied source 'shop': "), said
    assert "cannot be read: permission denied; check the permissions of the file" in said


def test_the_guards_are_on(make: Make) -> None:
    """The connection reads only, mistrusts what the file defines, and checks cells."""
    with source_of(make("CREATE TABLE t (a)")) as source:
        asked = source._connection.execute  # type: ignore[attr-defined]  # looks behind the door
        settings = {
            name: asked(f"PRAGMA {name}").fetchone()[0] for name in ("query_only", "trusted_schema", "cell_size_check")
        }
        assert settings == {"query_only": 1, "trusted_schema": 0, "cell_size_check": 1}
        for write in ("INSERT INTO t VALUES (1)", "CREATE TABLE u (a)", "DROP TABLE t", "PRAGMA user_version = 3"):
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                asked(write)
        asked("PRAGMA query_only = OFF")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):  # the file itself is open for reading only
            asked("INSERT INTO t VALUES (1)")


@pytest.mark.parametrize("content", [b"canary " * 1000, b"SQLite format 3\0" + b"\xff" * 4080])
def test_a_file_that_is_no_sqlite_is_unreachable(tmp_path: Path, content: bytes) -> None:
    """Junk is reported as such, without its content."""
    path = tmp_path / "shop.sqlite"
    path.write_bytes(content)
    with pytest.raises(Unreachable, match="the file cannot be read as SQLite: SQLITE_NOTADB") as caught:
        source_of(path).__enter__()
    assert "canary" not in str(caught.value)


def test_a_damaged_page_is_unreachable(make: Make) -> None:
    """A file whose pages are damaged opens, and the statement that meets the damage says so."""
    path = make(
        "CREATE TABLE t (a TEXT); WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 5000) "
        "INSERT INTO t SELECT 'canary ' || n FROM r;"
    )
    with path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xa5" * 4096 * 4)
    with source_of(path) as source, pytest.raises(Unreachable, match="SQLITE_CORRUPT") as caught:
        source.fetch("SELECT max(a) AS a FROM t")
    assert "canary" not in str(caught.value)


def test_a_file_with_a_broken_schema_is_unreachable(make: Make) -> None:
    """A hostile definition of a table is a reason not to read the file."""
    path = make(
        "CREATE TABLE t (a); PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a, canary';"
    )
    with pytest.raises(Unreachable, match="SQLITE_CORRUPT") as caught, source_of(path) as source:
        source.tables()
    assert "canary" not in str(caught.value)


def test_a_folder_or_pipe_is_no_file(tmp_path: Path) -> None:
    """A folder and a named pipe are refused before SQLite would wait for them."""
    os.mkfifo(tmp_path / "shop.sqlite")
    (tmp_path / "folder").mkdir()
    for name in ("shop.sqlite", "folder"):
        with pytest.raises(Unreachable, match="is not a file"):
            source_of(tmp_path / name).__enter__()


def test_a_lock_is_waited_for_and_reported(make: Make) -> None:
    """A file that stays locked for longer than lock_timeout is TimedOut."""
    path = make("CREATE TABLE t (a)")
    owner = sqlite3.connect(path)
    owner.execute("BEGIN EXCLUSIVE")
    with pytest.raises(TimedOut, match=r"the file was locked for more than 0.05 s; see lock_timeout"):
        source_of(path, lock_timeout=timedelta(milliseconds=50)).__enter__()
    owner.rollback()
    owner.close()


def test_a_file_that_is_being_written_is_read(make: Make) -> None:
    """With a write-ahead log the last commit is read while the owner writes on."""
    path = make("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    owner = sqlite3.connect(path, isolation_level=None)
    owner.execute("BEGIN IMMEDIATE")
    owner.execute("INSERT INTO t VALUES (2)")
    with source_of(path) as source:
        assert source.fetch("SELECT count(*) AS n FROM t") == [{"n": 1}]
    owner.execute("COMMIT")
    owner.close()


def test_a_view_that_never_ends_is_stopped(make: Make) -> None:
    """Even reading the columns of a hostile view is under query_timeout."""
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT sum(n) AS total FROM r"
    path = make(f"CREATE VIEW endless AS {endless}")
    with source_of(path, query_timeout=timedelta(milliseconds=100)) as source, pytest.raises(TimedOut):
        source.table("endless")


def test_columns_without_a_type_are_read(make: Make) -> None:
    """Computed columns of a view have no declared type: its first row tells it; without one they still are there."""
    path = make(
        "CREATE TABLE t (a INT, b TEXT); CREATE VIEW empty AS SELECT a + 1 AS c, b FROM t; "
        "CREATE TABLE u (a INT); INSERT INTO u VALUES (1); CREATE VIEW full AS SELECT a + 1 AS c FROM u"
    )
    with source_of(path) as source:
        assert source.table("full").schema()["c"].is_integer()
        empty = source.table("empty")
        wanted = empty.aggregate(rows=empty.count(), missing=empty.c.isnull().sum())
        assert source.fetch(source.compile(wanted)) == [{"rows": 0, "missing": None}]


def test_text_that_is_no_utf8_does_not_stop_the_rest(make: Make) -> None:
    """A cell of bytes that are no text is read with marks in their place."""
    with source_of(make("CREATE TABLE t (a TEXT); INSERT INTO t VALUES (CAST(x'ff41' AS TEXT))")) as source:
        assert source.fetch("SELECT a FROM t") == [{"a": "�A"}]


def test_names_of_any_kind_are_found(make: Make) -> None:
    """Reserved words, quotes and dots in names are names; the inner tables of SQLite are not listed."""
    path = make(
        'CREATE TABLE "select" ("a""b" INT, UNIQUE("a""b")); '
        'CREATE TABLE "x""; DROP TABLE t; --" (i INTEGER PRIMARY KEY AUTOINCREMENT);'
        'CREATE TABLE "sales.orders" (id INT); CREATE TABLE t (id INT); INSERT INTO t VALUES (1)'
    )
    with source_of(path) as source:
        assert source.tables() == ["sales.orders", "select", "t", 'x"; DROP TABLE t; --']
        for name in source.tables():
            source.fetch(source.compile(source.table(name).count().name("n")))
        assert source.fetch(source.compile(source.table("main.t").count().name("n"))) == [{"n": 1}]


def test_an_operation_that_sqlite_lacks_is_reported(make: Make) -> None:
    """An expression that cannot be said in SQLite is QueryFailed, not a crash."""
    with source_of(make("CREATE TABLE t (a TEXT)")) as source:
        table = source.table("t")
        with pytest.raises(QueryFailed, match="sqlite does not support this expression"):
            source.compile(table.select(x=table.a.levenshtein(table.a)))


def test_a_refused_statement_tells_sqlites_code(make: Make) -> None:
    """A statement that SQLite cannot run is QueryFailed with its code."""
    with source_of(make("CREATE TABLE t (a TEXT)")) as source, pytest.raises(QueryFailed, match="SQLITE_ERROR"):
        source.fetch("SELECT canary FROM t")


def test_great_expectations_gets_a_url_that_only_reads(make: Make) -> None:
    """The URL for SQLAlchemy reads the file, whatever its name, cannot write it, and makes no other."""
    path = make("CREATE TABLE t (a); INSERT INTO t VALUES (1)", name="we ird#?%41'é.sqlite")
    with source_of(path) as source:
        url = source.sqlalchemy_url()
    assert url is not None
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM t")).scalar() == 1
        with pytest.raises(sa.exc.OperationalError, match="readonly"):
            connection.execute(sa.text("INSERT INTO t VALUES (2)"))
    engine.dispose()
    assert [found.name for found in path.parent.iterdir()] == [path.name]


@pytest.mark.reference_data
def test_chinook_is_read_as_published(reference_data: Path) -> None:
    """Chinook's tables have their published rows, keys and NULLs."""
    with source_of(reference_data / "chinook" / "Chinook_Sqlite.sqlite") as source:
        assert {"Customer", "PlaylistTrack", "Track"} <= set(source.tables())
        customer, track, listed = (source.table(name) for name in ("Customer", "Track", "PlaylistTrack"))
        nulls = {name: customer[name].isnull().sum() for name in ("Company", "State", "Fax", "Phone", "PostalCode")}
        [people] = source.fetch(source.compile(customer.aggregate(rows=customer.count(), **nulls)))
        [music] = source.fetch(
            source.compile(track.aggregate(rows=track.count(), composer=track.Composer.isnull().sum()))
        )
        keys = listed.distinct(on=["PlaylistId", "TrackId"]).count().name("n")
        [lists] = source.fetch(source.compile(keys))
    assert people == {"rows": 59, "Company": 49, "State": 29, "Fax": 47, "Phone": 1, "PostalCode": 4}
    assert music == {"rows": 3503, "composer": 977}
    assert lists == {"n": 8715}


@pytest.mark.parametrize("checks", [1, 20])
def test_rows_that_are_slow_are_stopped(make: Make, checks: int) -> None:
    """A statement of few steps, each of which takes long, ends with query_timeout, with many columns of checks too."""
    path = make(
        "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10);"
        "CREATE VIEW slow AS SELECT instr(zeroblob(100000 + t.a), zeroblob(50000) || x'01') AS x "
        "FROM t, t AS u, t AS v;"
    )
    columns = ", ".join(f"sum(x + {number}) AS c{number}" for number in range(checks))
    with source_of(path, query_timeout=timedelta(milliseconds=200)) as source:
        with pytest.raises(TimedOut, match=r"no answer within 0\.2 s; see query_timeout"):
            source.fetch(f"SELECT {columns} FROM slow")
        assert fetched(source, "SELECT count(*) AS n FROM t") == [{"n": 10}]
