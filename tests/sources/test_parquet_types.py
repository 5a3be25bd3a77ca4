"""Parquet files of one table with other types: no number is rounded and no zone is guessed."""

from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sources import QueryFailed, SourceSpec, open_source
from sources._contract import Source

_MIXED = "column 'x' of 'lake' has several number types in its files, and no one type holds all values"
_WIDE = "column 'x' of 'lake' has decimals of more than 38 digits"
_BEYOND_DOUBLE = 2**53 + 1


def lake(folder: Path, *types: str) -> Source:
    """Write a file for each SQL value of `x` and return them as one table, which is not open yet."""
    for place, value in enumerate(types):
        path = str(folder / f"{place}.parquet")
        duckdb.sql(f"COPY (SELECT {place} AS id, {value} AS x) TO '{path}'")
    return open_source(SourceSpec("files", folder, files="*.parquet", table="lake"))


@pytest.mark.parametrize(
    "values",
    [
        (f"{_BEYOND_DOUBLE}::BIGINT", "1.5::DOUBLE"),
        (f"{2**24 + 1}::BIGINT + {2**53}", "1.5::FLOAT"),
        ("99999999999999.99::DECIMAL(18, 2)", "1.5::DOUBLE"),
        (f"{'9' * 38}::DECIMAL(38, 0)", "1.11::DECIMAL(9, 2)"),
    ],
)
def test_a_value_that_no_common_type_holds_is_not_rounded(tmp_path: Path, values: tuple[str, str]) -> None:
    """The statement fails with the column's name; what does not read the column is answered."""
    with lake(tmp_path, *values) as source:
        table = source.table("lake")
        with pytest.raises(QueryFailed, match=_MIXED):
            source.fetch(source.compile(table.aggregate(n=table.x.max())))
        assert source.fetch(source.compile(table.aggregate(n=table.id.sum()))) == [{"n": 1}]


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        (("5::BIGINT", "1.5::DOUBLE"), [5.0, 1.5]),
        ((f"{2**24 + 1}::INTEGER", "1.5::FLOAT"), [16777217.0, 1.5]),
        (("NULL::BIGINT", "'nan'::DOUBLE", "'inf'::FLOAT"), [None, "nan", float("inf")]),
        (("1.11::DECIMAL(9, 2)", "1.5::DOUBLE"), [1.11, 1.5]),
        (("7::DECIMAL(38, 0)", "1.11::DECIMAL(9, 2)"), [Decimal(7), Decimal("1.11")]),
        (("7::BIGINT", "1.11::DECIMAL(9, 2)"), [Decimal(7), Decimal("1.11")]),
    ],
)
def test_values_that_a_common_type_holds_are_read(tmp_path: Path, values: tuple[str, ...], seen: list[object]) -> None:
    """A file with whole numbers beside one with floats, as pandas writes them, is one column."""
    with lake(tmp_path, *values) as source:
        rows = source.fetch(source.compile(source.table("lake").order_by("id")))
    assert ["nan" if row["x"] != row["x"] else row["x"] for row in rows] == seen


def test_times_with_and_without_a_zone_are_text(tmp_path: Path) -> None:
    """DuckDB would take the time without a zone for one of UTC; as text, checks see that some have no offset."""
    with lake(tmp_path, "TIMESTAMP '2026-11-25 10:00:00'", "TIMESTAMPTZ '2026-11-25 10:00:00+09'") as source:
        table = source.table("lake")
        assert table.x.type().is_string()
        rows = source.fetch(source.compile(table.order_by("id")))
    assert [row["x"] for row in rows] == ["2026-11-25 10:00:00", "2026-11-25 01:00:00+00"]


def test_a_file_that_lacks_the_column_has_null(tmp_path: Path) -> None:
    """Columns are matched by name, also where a type had to be chosen."""
    duckdb.sql(f"COPY (SELECT 9 AS id) TO '{tmp_path / 'none.parquet'}'")
    with lake(tmp_path, "5::BIGINT", "1.5::DOUBLE") as source:
        rows = source.fetch(source.compile(source.table("lake").order_by("id")))
    assert [row["x"] for row in rows] == [5.0, 1.5, None]


def test_a_decimal_of_more_digits_than_duckdb_has_is_refused(tmp_path: Path) -> None:
    """DuckDB reads 76 digits as a float of 15: a limit in the last digits would hold."""
    numbers = pa.array([Decimal("9" * 76), None], type=pa.decimal256(76, 0))
    pq.write_table(pa.table({"id": [1, 2], "x": numbers}), tmp_path / "a.parquet")
    with open_source(SourceSpec("files", tmp_path, files="a.parquet", table="lake")) as source:
        table = source.table("lake")
        with pytest.raises(QueryFailed, match=_WIDE):
            source.fetch(source.compile(table.aggregate(n=table.x.max())))
        assert source.fetch(source.compile(table.aggregate(n=table.id.sum()))) == [{"n": 3}]
