"""What a source tells of the rows and bytes that its statements read."""

from pathlib import Path

import duckdb
import pytest

from sources import NOTHING_TOLD, ReadVolume, Source, SourceSpec, open_source

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


def test_the_rows_and_bytes_of_a_csv_file_are_told(folder: Path) -> None:
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
    """DuckDB counts only a part of what it reads of Parquet: the rows are told, the bytes are not."""
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
