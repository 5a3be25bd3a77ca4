"""Delta and Iceberg tables: what is read of them, at which version, and how values come."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sources import QueryFailed, SourceSpec, Unreachable, is_same_table, table_identity
from sources import open_source as opened
from tests.sources.lake import LAKES, LONG, MOMENT, ROWS, WALL, count, lake, write

_UTC = "zoneinfo.ZoneInfo(key='UTC')"
pytestmark = pytest.mark.parametrize("kind", LAKES)


def _bytes_read() -> int:
    """Return the bytes that this process has read of files so far, cached or not."""
    return int(dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())["rchar"])


def _wide(rows: int) -> pa.Table:
    random = np.random.default_rng(1)
    columns = {f"c{at}": random.integers(0, 2**62, rows) for at in range(10)}
    return pa.table({**columns, "part": np.arange(rows) // (rows // 5)})


def test_every_value_comes_as_it_was_written(kind: str, tmp_path: Path) -> None:
    """Decimals of 38 digits, moments, wall clocks, NaN, infinity and Unicode; types are those of the table."""
    write(kind, tmp_path, "orders", pa.table(dict(ROWS)), by="day")
    with opened(lake(kind, tmp_path)) as source:
        assert source.types_declared
        assert source.tables() == ["orders"]
        table = source.table("orders")
        kinds = [str(of) for of in table.schema().values()]
        rows = source.fetch(source.compile(table.order_by(ibis.asc(table.id, nulls_first=False))))
    assert kinds == ["int64", "date", "float64", "decimal(38, 9)", "timestamp('UTC', 6)", "timestamp(6)", "string"]
    expected = pa.table(dict(ROWS)).to_pylist()
    assert str([dict(row) for row in rows]).replace("<UTC>", _UTC) == str(expected)


@pytest.mark.parametrize("by", [None, "day", "note", "amount"])
def test_comparisons_hold_for_nan_decimals_and_times_as_in_duckdb(kind: str, by: str | None, tmp_path: Path) -> None:
    """Arrow and the bounds of files leave out no row that DuckDB, which takes NaN for the greatest, would find."""
    data = pa.table(dict(ROWS))
    # The log of Delta has one word for NULL and the empty text, and deltalake cannot write negative decimals there.
    data = data.slice(0, {"note": 4, "amount": 2}.get(by or "", 5))
    write(kind, tmp_path, "orders", data, by=by)
    comparisons = [
        f"{column} {sign} {value}"
        for column, value in (
            ("x", 1.5), ("x", "'nan'::DOUBLE"), ("id", 3), ("amount", f"{LONG}::DECIMAL(38, 9)"),
            ("day", "DATE '2026-01-02'"),
            ("at", f"TIMESTAMPTZ '{MOMENT}'"), ("wall", f"TIMESTAMP '{WALL}'"), ("note", "'é'"),
        )
        for sign in ("<", "<=", "=", ">=", ">", "<>", "IS DISTINCT FROM")
    ]  # fmt: skip
    comparisons = [text.replace("at ", '"at" ', 1) if text.startswith("at ") else text for text in comparisons]
    with opened(lake(kind, tmp_path)) as source, opened(_in_duckdb(tmp_path, data)) as oracle:
        assert {text: count(source, text) for text in comparisons} == {
            text: count(oracle, text) for text in comparisons
        }


def _in_duckdb(folder: Path, data: pa.Table) -> SourceSpec:
    import duckdb

    with duckdb.connect(str(folder / "oracle.duckdb")) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("data", data)
        connection.execute("CREATE TABLE orders AS FROM data")
    return SourceSpec("oracle", folder, url="duckdb:///oracle.duckdb")


def test_a_statement_reads_the_columns_that_it_names(kind: str, tmp_path: Path) -> None:
    """Two columns of eleven are less than a third of the bytes, and a count of rows is one."""
    write(kind, tmp_path, "orders", _wide(200_000))
    with opened(lake(kind, tmp_path)) as source:
        source.table("orders")
        read = []
        for what in ("count(*)", "max(c1), max(c2)", ", ".join(f"max(c{at})" for at in range(10))):
            before = _bytes_read()
            source.fetch(f"SELECT {what} FROM orders")
            read.append(_bytes_read() - before)
    rows, two, ten = read
    assert rows < ten / 8
    assert ten / 8 < two < ten / 3


def test_a_filter_on_a_partition_column_opens_its_files_only(kind: str, tmp_path: Path) -> None:
    """The files of other partitions may be broken; their rows are not needed, and they are not opened."""
    write(kind, tmp_path, "orders", _wide(1000), by="part")
    for file in tmp_path.rglob("part=*/*.parquet"):
        if "part=3" not in str(file):
            file.write_bytes(b"no Parquet")
    with opened(lake(kind, tmp_path)) as source:
        table = source.table("orders")
        part = table.filter(table.part == 3)
        [row] = source.fetch(source.compile(part.aggregate(n=part.count(), m=part.c1.max())))
        assert row["n"] == 200
        with pytest.raises(QueryFailed, match="cannot be read to its end: a file is missing or broken"):
            source.fetch("SELECT max(c1) AS m FROM orders WHERE part >= 2")


def test_whole_numbers_and_days_leave_out_files_too(kind: str, tmp_path: Path) -> None:
    """A file whose least and greatest value exclude a comparison is not opened: what came after a day, say."""
    for at in range(3):
        write(kind, tmp_path, "orders", pa.table({"id": [at], "day": [date(2026, 1, 1 + at)]}))
    newest = max(tmp_path.rglob("*.parquet"), key=lambda file: pq.read_table(file)["id"][0].as_py())
    for file in tmp_path.rglob("*.parquet"):
        if file != newest and not {"_delta_log", "metadata"} & set(file.parts):
            file.write_bytes(b"no Parquet")
    with opened(lake(kind, tmp_path)) as source:
        assert count(source, "day > DATE '2026-01-02'") == count(source, "id = 2") == 1


def test_all_statements_of_a_pass_see_one_version(kind: str, tmp_path: Path) -> None:
    """Rows that are added while a source is open are seen by the next pass."""
    write(kind, tmp_path, "orders", pa.table({"id": [1, 2]}))
    with opened(lake(kind, tmp_path)) as source:
        source.table("orders")
        write(kind, tmp_path, "orders", pa.table({"id": [3]}))
        assert count(source, "id > 0") == 2
    with opened(lake(kind, tmp_path)) as source:
        assert count(source, "id > 0") == 3


def test_a_table_without_rows_has_its_columns(kind: str, tmp_path: Path) -> None:
    """It was made, and nothing was written to it yet."""
    write(kind, tmp_path, "orders", pa.table(dict(ROWS)).slice(0, 0))
    with opened(lake(kind, tmp_path)) as source:
        assert list(source.table("orders").columns) == list(ROWS)
        assert count(source, "true") == 0


def test_files_that_are_removed_during_a_pass_are_an_error(kind: str, tmp_path: Path) -> None:
    """As a clean-up of old versions does it; nothing is counted without them."""
    write(kind, tmp_path, "orders", pa.table({"id": [1]}))
    with opened(lake(kind, tmp_path)) as source:
        source.table("orders")
        for file in (file for file in tmp_path.rglob("*.parquet") if file.name.startswith(("part-", "0000"))):
            file.unlink()
        with pytest.raises(QueryFailed, match="a file is missing or broken"):
            count(source, "id > 0")


def test_a_statement_finds_tables_that_no_check_names(kind: str, tmp_path: Path) -> None:
    """A `sql` check may join them."""
    for name in ("orders", "refunds"):
        write(kind, tmp_path, name, pa.table({"id": [1, 2]}))
    with opened(lake(kind, tmp_path)) as source:
        source.table("orders")
        assert source.fetch("SELECT count(*) AS n FROM orders JOIN refunds USING (id)") == [{"n": 2}]


def test_a_source_without_tables_is_unreachable(kind: str, tmp_path: Path) -> None:
    """Nothing is made where nothing is."""
    with (
        pytest.raises(Unreachable, match=r"holds a Delta table|does not exist"),
        opened(lake(kind, tmp_path)) as source,
    ):
        source.tables()
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_the_same_in_other_words(kind: str, tmp_path: Path) -> None:
    """The files of which it consists, read as files, are the same table; another table is not."""
    for name in ("orders", "refunds"):
        write(kind, tmp_path, name, pa.table({"id": [1, 2]}))
    spec = lake(kind, tmp_path)
    marks = table_identity(spec, "orders")
    assert not is_same_table(marks, table_identity(spec, "refunds"))
    assert is_same_table(marks, table_identity(replace(spec, name="other"), "orders", connect=False))
    files = SourceSpec("files", tmp_path, files="**/orders/**/*.parquet", table="all")
    assert is_same_table(marks, table_identity(files, "all"))
