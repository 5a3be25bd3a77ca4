"""NaN in Parquet, whose statistics leave it out, is counted by every text that compares floats."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import sqlglot

import tablewatch as tw
from sources import SourceSpec, open_source
from sources._floats import hide_in_query

_NAN = float("nan")
_ROWS = pa.table(
    {
        "b": pa.array([1.0, _NAN, None]),
        "f": pa.array([1.0, _NAN, None], pa.float32()),
        "s": pa.array([{"x": 1.0}, {"x": _NAN}, None], pa.struct([("x", pa.float64())])),
        "l": pa.array([[1.0], [_NAN], None], pa.list_(pa.float64())),
    }
)
_ONE_ROW = [f"{x} {rest}" for x in ("b", "f", "s.x", "l[1]") for rest in ("> 1", "<= 1", "<> 1", "= 'nan'", "IN (1)")]


def _files(folder: Path) -> Any:
    pq.write_table(_ROWS, folder / "t.parquet")
    return str(folder / "t.parquet")


def _files_of_other_types(folder: Path) -> Any:
    pq.write_table(_ROWS, folder / "1.parquet")
    pq.write_table(pa.table({"b": pa.array([], pa.int32()), "f": pa.array([], pa.float64())}), folder / "2.parquet")
    return str(folder / "*.parquet")


def _ibis_table(folder: Path) -> Any:
    return ibis.duckdb.connect().read_parquet(_files(folder), table_name="t")


def _data_set(folder: Path) -> Any:
    return ds.dataset(_files(folder))


@pytest.mark.parametrize("data", [_files, _files_of_other_types, _ibis_table, _data_set])
def test_a_query_counts_nan_in_parquet(data: Callable[[Path], Any], tmp_path: Path) -> None:
    """Each comparison is true of one row: NaN is greater than every number, and equal to itself."""
    checks = [
        {"type": "sql", "id": f"q{at}", "query": f"SELECT * FROM t WHERE {one}"} for at, one in enumerate(_ONE_ROW)
    ]
    report = tw.check(data(tmp_path), checks, name="t")
    counts = {one: result.observed.get("violations") for one, result in zip(_ONE_ROW, report.results, strict=True)}
    assert counts == dict.fromkeys(_ONE_ROW, 1)


@pytest.mark.parametrize("data", [_files, _ibis_table])
@pytest.mark.parametrize(
    ("check", "key", "seen"),
    [
        ({"type": "volume", "min": 0, "on_empty": "pass"}, "rows", 1),
        ({"type": "unique", "columns": ["b"]}, "rows", 1),
        ({"type": "accepted_values", "column": "b", "values": [2.0]}, "violations", 1),
        ({"type": "metric", "column": "b", "aggregate": "distinct", "max": 9}, "value", 1),
        ({"type": "functional_dependency", "determinant": ["f"], "dependent": "b"}, "rows", 1),
    ],
)
@pytest.mark.parametrize("where", ["b > 1", "b <= 1"])
def test_a_condition_counts_nan_in_parquet(
    data: Callable[[Path], Any], check: dict[str, Any], key: str, seen: int, where: str, tmp_path: Path
) -> None:
    """A check with a condition that is alone in its statement sees the rows that the condition is true of."""
    [result] = tw.check(data(tmp_path), [{**check, "where": where}], name="t").results
    assert result.observed.get(key) == seen, result


@pytest.mark.parametrize("blind", [False, True])
def test_greatest_and_joined_values_include_nan(blind: bool, tmp_path: Path) -> None:
    """Neither a maximum, nor an order, nor the limits that a join hands to a scan leave NaN out."""
    _files(tmp_path)
    with open_source(SourceSpec("files", tmp_path, files="t.parquet", blind=blind)) as source:
        source.table("t")
        [row] = source.fetch("SELECT max(b) AS a FROM t")
        [joined] = source.fetch("SELECT count(*) AS n FROM t JOIN (SELECT 'nan'::DOUBLE AS b) USING (b)")
        [first] = source.fetch("SELECT b FROM t ORDER BY b DESC NULLS LAST LIMIT 1")
    assert [str(row["a"]), joined["n"], str(first["b"])] == ["nan", 1, "nan"]


def test_values_are_read_as_they_are(tmp_path: Path) -> None:
    """Zero keeps its sign, a record without values is no NULL, and NULL stays NULL."""
    rows = pa.table({"x": pa.array([-0.0, None]), "s": pa.array([{"y": None}, None], pa.struct([("y", pa.float32())]))})
    pq.write_table(rows, tmp_path / "t.parquet")
    with open_source(SourceSpec("files", tmp_path, files="t.parquet")) as source:
        source.table("t")
        assert [(str(row["x"]), row["s"]) for row in source.fetch("SELECT * FROM t")] == [
            ("-0.0", {"y": None}),
            ("None", None),
        ]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("WITH t AS (SELECT 7 AS b) SELECT * FROM t WHERE b > 1", 1),
        ("WITH t AS (SELECT * FROM t WHERE b > 1) SELECT * FROM t", 1),
        ("WITH RECURSIVE r AS (SELECT 1.0 AS b UNION ALL SELECT b + 1 FROM r WHERE b < 3) SELECT * FROM r", 3),
        ("SELECT memory.main.t.b FROM memory.main.t WHERE main.t.b > 1", 1),
        ("SELECT one.b FROM t AS one JOIN t AS two ON one.b = two.b AND one.b > 1", 1),
        ("SELECT x.e FROM t, LATERAL (SELECT unnest(t.l) AS e) x WHERE x.e > 1", 1),
        ("SELECT b FROM t WHERE b > 1 UNION ALL (SELECT b FROM (SELECT * FROM t) WHERE b > 1)", 2),
        ("SELECT b FROM 't.parquet' WHERE b > 1", 1),
    ],
)  # fmt: skip
def test_a_query_over_a_connection_of_the_user_keeps_its_meaning(
    query: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each relation is read by its columns, whatever hides or renames it."""
    monkeypatch.chdir(tmp_path)
    _files(tmp_path)
    connection = duckdb.connect()
    connection.execute("CREATE VIEW t AS FROM 't.parquet'")
    text = hide_in_query(query, _tree(query), partial(_types, connection))
    assert len(connection.execute(text).fetchall()) == rows


def _types(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    try:
        return {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE FROM {relation}").fetchall()}
    except duckdb.Error:
        return {}


def _tree(query: str) -> Any:
    return sqlglot.parse_one(query, read="duckdb")
