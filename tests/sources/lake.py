"""Delta and Iceberg tables for tests, as Arrow tables are written to them."""

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sources import IcebergCatalog, Source, SourceSpec

KINDS = ("delta", "iceberg")
LAKES = tuple(pytest.param(kind, marks=getattr(pytest.mark, kind)) for kind in KINDS)
"""Each of `KINDS` as a parameter that needs its library."""
WALL, MOMENT = datetime(2026, 3, 29, 2, 30, 0, 123456), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)  # noqa: DTZ001 - a wall clock
LONG = Decimal("12345678901234567890123456789.012345678")
ROWS: Mapping[str, pa.Array] = {
    "id": pa.array([1, 2, 3, 4, None], pa.int64()),
    "day": pa.array([date(2026, 1, 1)] * 2 + [date(2026, 1, 2)] * 2 + [None]),
    "x": pa.array([1.5, math.nan, None, math.inf, -0.0]),
    "amount": pa.array([LONG, None, LONG.copy_negate(), Decimal(1), Decimal("0.000000001")], pa.decimal128(38, 9)),
    "at": pa.array([MOMENT, None, MOMENT, datetime(1, 1, 1, tzinfo=UTC), MOMENT], pa.timestamp("us", "UTC")),
    "wall": pa.array([WALL, None, WALL, datetime(9999, 12, 31, 23, 59, 59, 999999), WALL], pa.timestamp("us")),  # noqa: DTZ001 - a wall clock
    "note": pa.array(["é", "e\u0301", None, "日本 'x\"", ""]),
}


def lake(kind: str, folder: Path, *, name: str = "orders", **changes: Any) -> SourceSpec:
    """Return a source of the tables that `write` has put into a folder."""
    if kind == "delta":
        return SourceSpec(name, folder, delta="*", **changes)
    return SourceSpec(name, folder, iceberg=IcebergCatalog(uri="sqlite:///lake.db", namespace="shop"), **changes)


def write(kind: str, folder: Path, name: str, data: pa.Table, *, by: str | None = None) -> Any:
    """Append rows to a table, which is made where it is missing, partitioned `by` a column; return the table."""
    return _write_delta(folder / name, data, by) if kind == "delta" else _write_iceberg(folder, name, data, by)


def _write_delta(path: Path, data: pa.Table, by: str | None) -> Any:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, data, partition_by=by, mode="append")
    return DeltaTable(path)


def _write_iceberg(folder: Path, name: str, data: pa.Table, by: str | None) -> Any:
    from pyiceberg.exceptions import NoSuchTableError

    catalog = iceberg_catalog(folder)
    catalog.create_namespace_if_not_exists("shop")
    try:
        table = catalog.load_table(f"shop.{name}")
    except NoSuchTableError:
        table = catalog.create_table(f"shop.{name}", data.schema)
        if by is not None:
            with table.update_spec() as spec:
                spec.add_identity(by)
    table.append(data)
    return table


def count(source: Source, where: str) -> int:
    """Return how many orders a condition holds for."""
    [row] = source.fetch(f"SELECT count(*) AS n FROM orders WHERE {where}")
    return int(row["n"])


def iceberg_catalog(folder: Path) -> Any:
    """Return a catalogue that may write; close it where that matters."""
    from pyiceberg.catalog import load_catalog

    return load_catalog("default", uri=f"sqlite:///{folder}/lake.db", warehouse=f"file://{folder}/warehouse")
