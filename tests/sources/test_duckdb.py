"""What a locked DuckDB connection refuses.

It is tried on the connection itself, behind the door that takes one SELECT only.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from sources import QueryFailed, SourceSpec, Unreachable
from sources._duckdb import DuckdbSource
from sources.duckdb_file import DuckdbFile
from sources.files import Files


@pytest.fixture(params=["files", "duckdb"])
def locked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DuckdbSource]:
    """Yield an open source of each kind that DuckDB reads."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.csv").write_text("id\n1\n")
    (tmp_path / "in" / "beside.csv").write_text("id\n1\n")
    (tmp_path / "in" / "orders.csv").write_text("id\n1\n2\n")
    with duckdb.connect(str(tmp_path / "in" / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id")
    declared = (
        Files(SourceSpec("shop", tmp_path, files="in/orders.csv", memory_limit="60MB", threads=2))
        if request.param == "files"
        else DuckdbFile(SourceSpec("shop", tmp_path, url="duckdb:///in/shop.duckdb", memory_limit="60MB", threads=2))
    )
    with declared as source:
        yield source


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_csv('{folder}/out/secret.csv')",
        "SELECT * FROM read_csv('{folder}/in/../out/secret.csv')",
        "SELECT * FROM read_csv('{folder}/in/beside.csv')",
        "SELECT * FROM sniff_csv('/etc/passwd')",
        "SELECT * FROM read_parquet('https://localhost:9/x.parquet')",
        "COPY (SELECT 1) TO '{folder}/out/planted.csv'",
        "COPY (SELECT 1) TO '{folder}/in/planted.csv'",
        "EXPORT DATABASE '{folder}/out/planted'",
        "ATTACH '{folder}/out/planted.duckdb'",
        "ATTACH '{folder}/in/planted.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET memory_limit = '10GB'",
        "SET TimeZone = 'Asia/Tokyo'",
        "RESET threads",
        "SET allowed_directories = ['/']",
        "SET allowed_paths = ['/etc/passwd']",
        "SET temp_directory = '{folder}/out'",
    ],
)
def test_the_lock_refuses(locked: DuckdbSource, tmp_path: Path, statement: str) -> None:
    """Files that were not declared cannot be read or written, extensions not loaded, settings not changed."""
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(duckdb.Error):
        locked._connection.execute(statement.format(folder=tmp_path)).fetchall()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_declared_file_cannot_be_overwritten(tmp_path: Path) -> None:
    """The lock would let COPY write to the log beside a database file; the door in front of it does not."""
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id")
    log = tmp_path / "shop.duckdb.wal"
    with DuckdbFile(SourceSpec("shop", tmp_path, url="duckdb:///shop.duckdb")) as source:
        with pytest.raises(QueryFailed, match="only one SELECT"):
            source.fetch(f"COPY orders TO '{log}'")
        with pytest.raises(QueryFailed):
            source.fetch(f"SELECT * FROM query('COPY orders TO ''{log}''')")
    assert not log.exists()


def test_time_zones_work_under_the_lock(locked: DuckdbSource) -> None:
    """Zones are built in, and the session's is UTC."""
    asked = (
        "SELECT MAKE_TIMESTAMPTZ(2026, 1, 1, 9, 0, 0, 'Asia/Tokyo') AS made, "
        "'2026-01-01 09:00:00+09'::TIMESTAMPTZ AS read, TIMESTAMP '2026-01-01 00:00:00'::TIMESTAMPTZ AS naive"
    )
    [row] = locked.fetch(asked)
    assert set(row.values()) == {datetime(2026, 1, 1, tzinfo=UTC)}


def test_large_work_spills_into_a_private_folder_that_goes_away(locked: DuckdbSource) -> None:
    """What does not fit into memory_limit goes to a folder that only this account can enter, until the pass ends."""
    [(folder,)] = locked._connection.execute("SELECT current_setting('temp_directory')").fetchall()
    assert Path(folder).stat().st_mode & 0o077 == 0
    [row] = locked.fetch(
        "SELECT count(*) AS n FROM (SELECT repeat('x', 50) || i::VARCHAR AS c FROM range(2000000) t(i) ORDER BY c)"
    )
    assert row == {"n": 2_000_000}
    locked.__exit__(None, None, None)
    assert not Path(folder).exists()


def test_work_beyond_all_limits_names_the_setting(locked: DuckdbSource) -> None:
    """A statement that cannot do with memory_limit says so."""
    with pytest.raises(QueryFailed, match="more memory than memory_limit allows"):
        locked.fetch("SELECT length(string_agg(repeat(i::VARCHAR, 500), ',')) AS n FROM range(1000000) t(i)")


def test_impossible_settings_are_reported(tmp_path: Path) -> None:
    """A memory limit that DuckDB does not understand is named; the source is not opened without it."""
    (tmp_path / "a.csv").write_text("id\n1\n")
    source = Files(SourceSpec("shop", tmp_path, files="a.csv", memory_limit="plenty"))
    with pytest.raises(Unreachable, match="see memory_limit and threads"), source:
        pass


def test_no_progress_is_written(locked: DuckdbSource) -> None:
    """DuckDB draws a bar on standard output, where a report may be read, in a process without a script: never here."""
    assert locked.fetch("SELECT current_setting('enable_progress_bar') AS bar") == [{"bar": False}]


KINDS = (
    "NULL::BIGINT AS a, 7::UTINYINT AS b, 1.50::DECIMAL(9, 2) AS c, 'x' AS d, true AS e, 1.5::DOUBLE AS f, "
    "DATE '2026-01-02' AS g, TIMESTAMP '2026-01-02 03:04:05.000006' AS h, 'z'::BLOB AS i, "
    "TIMESTAMPTZ '2026-01-02 03:04:05+09' AS j"
)
OTHERS = (
    "uuid()",
    "[1, NULL]",
    "{'a': 1}",
    "INTERVAL 1 MONTH",
    "170141183460469231731687303715884105727::HUGEINT",
    "TIME '01:02:03'",
    "'x'::ENUM('x', 'y')",
    "TIMESTAMP_NS '2026-01-02 03:04:05.123456789'",
    "'101'::BIT",
)


@pytest.mark.parametrize("kinds", [KINDS, *OTHERS])
def test_columns_of_every_type_hold_what_rows_hold(locked: DuckdbSource, kinds: str) -> None:
    """Values of every type of DuckDB are the same, and of the same Python type, taken by columns and by rows."""
    statement = f"WITH one AS MATERIALIZED (SELECT {kinds}) SELECT * FROM one UNION ALL SELECT * FROM one"
    statement = statement.replace("uuid()", "'00000000-0000-0000-0000-00000000000a'::UUID")
    rows = [row for piece in locked.pieces(statement) for row in piece]
    found = []
    for columns in locked.columns(statement):
        coded = [column.coded() for column in columns]
        found += list(zip(*([values[number] for number in places] for values, places in coded), strict=True))
    assert found == rows
    assert [list(map(type, row)) for row in found] == [list(map(type, row)) for row in rows]
