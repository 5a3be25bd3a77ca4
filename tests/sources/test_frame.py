"""Tables of this process as sources: Arrow data, and Ibis tables where they live."""

from contextlib import AbstractContextManager
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources import QueryFailed, Source, SourceError, SourceSpec, dialect_of, open_source
from sources.frame import arrow_data
from sources.ibis_table import as_stream, name_of, sql_backend
from tests.tiers import examples

_ODD = {
    "category": pd.Categorical([1, 2, None]),
    "date": [date(2020, 1, 1), None, date(2021, 1, 1)],
    "decimal": [Decimal("1.10"), None, Decimal(3)],
    "dict": [{"a": 1}, {"a": 2}, None],
    "decimal of 256 bits": pd.array([Decimal("1.10"), None, Decimal(3)], dtype=pd.ArrowDtype(pa.decimal256(20, 2))),
    "halves": np.array([1, 2, np.nan], dtype="float16"),
    "interval": [*pd.interval_range(0, 2), None],
    "list": [[1], [2], None],
    "nothing": [None] * 3,
    "nullable": pd.array([1, None, 3], dtype="Int64"),
    "period": pd.PeriodIndex(["2020-01", "2020-02", None], freq="M"),
    "sparse": pd.arrays.SparseArray([0.0, 1.0, np.nan]),
    "text": ["a", None, "b"],
    "time": [time(1), None, time(2)],
    "truth": [True, None, False],
    "unsigned": pd.array([2**64 - 1, 1, None], dtype="UInt64"),
}


def _source(**frames: Any) -> AbstractContextManager[Source]:
    return open_source(SourceSpec("memory", Path(), frames=frames))


def _rows(source: Source, name: str = "data") -> list[dict[str, Any]]:
    return [dict(row) for row in source.fetch(source.compile(source.table(name)))]


@pytest.mark.parametrize("kind", _ODD)
def test_columns_of_every_type_can_be_counted(kind: str) -> None:
    """Of pandas' own types too; what is missing there is NULL."""
    frame = pd.DataFrame({"x": _ODD[kind]})
    with _source(data=arrow_data(frame)) as source:
        table = source.table("data")
        (row,) = source.fetch(source.compile(table.aggregate(rows=table.count(), values=table.x.count())))
    assert row == {"rows": 3, "values": int(frame["x"].notna().sum())}


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(), st.none() | st.text()), max_size=5))
def test_values_arrive_as_they_are(rows: list[tuple[int, float, str | None]]) -> None:
    """From pandas and from polars; a NaN of pandas is missing, one of polars is a value."""
    columns = {name: [row[at] for row in rows] for at, name in enumerate("ixt")}
    table = pl.DataFrame(columns, schema={"i": pl.Int64, "x": pl.Float64, "t": pl.String})
    with _source(data=arrow_data(table)) as source:
        fetched = _rows(source)
    assert [repr(tuple(row.values())) for row in fetched] == [repr(row) for row in rows]
    frame = pd.DataFrame({"i": pd.Series(columns["i"], dtype="int64"), "x": pd.Series(columns["x"], dtype="float64")})
    expected = [None if number != number else number for number in columns["x"]]  # noqa: PLR0124 - NaN
    with _source(data=arrow_data(frame)) as source:
        assert [row["x"] for row in _rows(source)] == expected


def test_a_stream_is_read_once_and_asked_often() -> None:
    """It is a table of the connection then, and a statement may name it before it was asked for."""
    with _source(data=pa.table({"a": [1, 2]}).to_reader(), other=pa.table({"b": [3]}).to_reader()) as source:
        assert source.fetch("SELECT sum(a) AS s FROM data, other") == [{"s": 3}]
        assert [_rows(source) for _ in range(2)] == [[{"a": 1}, {"a": 2}]] * 2
        assert source.tables() == ["data", "other"]


def test_no_file_can_be_read(tmp_path: Path) -> None:
    """The connection has the tables that it was given, and nothing else."""
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n", encoding="utf-8")
    for statement in (f"SELECT * FROM '{secret}'", f"SELECT * FROM read_csv('{secret}')", "DROP VIEW data"):
        with _source(data=pa.table({"a": [1]})) as source, pytest.raises(SourceError, match="memory") as caught:
            source.fetch(statement)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pa.table([pa.array([1]), pa.array([2])], names=["a", "A"]), "'a' and 'A' differ only in case"),
        (pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "two columns are called 'a'"),
        (pa.table({}), "the table has no columns"),
        (pa.chunked_array([[1]]), "a pyarrow.ChunkedArray is not a table"),
        (pd.DataFrame({"x": [1, "canary"]}), "column 'x' (object) has values of several types"),
        (pd.DataFrame({"x": [1j]}), "column 'x' (complex128)"),
        (pd.DataFrame({"x": [Decimal("9" * 40)]}), "column 'x' has decimals of 40 digits, DuckDB at most 38"),
        (pl.DataFrame({"x": [2**100]}, schema={"x": pl.Int128}), "column 'x' holds numbers of 128 bits"),
    ],
)
def test_what_is_no_table_is_refused(data: Any, message: str) -> None:
    """In words that say what to do, without a value."""
    with pytest.raises(QueryFailed) as caught:
        arrow_data(data)
    assert message in str(caught.value)
    assert "canary" not in str(caught.value)


def test_an_ibis_table_is_asked_where_it_lives() -> None:
    """Over its connection, which stays open; of SQLite, whose connections stay in their thread, it is read."""
    duck, lite = ibis.duckdb.connect(), ibis.sqlite.connect()
    for backend in (duck, lite):
        backend.create_table("orders", pa.table({"id": [1, 2]}))
    orders = duck.table("orders")
    assert sql_backend(orders, orders.filter(orders.id > 1)) is duck
    assert sql_backend(lite.table("orders")) is None
    assert sql_backend(orders, ibis.duckdb.connect().create_table("t", schema={"a": "int"})) is None
    assert (name_of(orders), name_of(orders.filter(orders.id > 1))) == ("orders", None)
    with open_source(SourceSpec("memory", Path(), frames={"big": orders.filter(orders.id > 1)})) as source:
        assert (source.dialect, source.tables(), _rows(source, "big")) == ("duckdb", ["big"], [{"id": 2}])
        with pytest.raises(QueryFailed):
            source.fetch("DELETE FROM orders")
    assert duck.raw_sql("SELECT count(*) FROM orders").fetchall() == [(2,)]
    assert as_stream(lite.table("orders")).read_all().num_rows == 2


def test_a_spec_of_frames_is_like_any_other() -> None:
    """It has one place, and its dialect is known without opening it."""
    spec = SourceSpec("memory", Path(), frames={"data": pa.table({"a": [1]})})
    assert dialect_of(spec) == "duckdb"
    with pytest.raises(ValueError, match="exactly one of"):
        SourceSpec("memory", Path(), files="*.csv", frames={})


def test_nan_is_greater_than_every_number_in_a_frame_too() -> None:
    """Arrow, which DuckDB asks for the rows of a comparison, takes it for no number at all."""
    data = pa.table({"x": [1.0, float("nan"), None, 5.0]})
    expected = {"x > 2": 2, "x < 2": 1, "x >= 5": 2, "x <> 1": 2, "x = 'nan'::DOUBLE": 1, "x BETWEEN 0 AND 9": 2}
    with _source(data=data) as source:
        results = {text: source.fetch(f"SELECT count(*) AS n FROM data WHERE {text}") for text in expected}
    assert {text: row["n"] for text, [row] in results.items()} == expected
