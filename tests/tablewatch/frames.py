"""One table of orders in every form that `tablewatch.check` takes."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds

ORDERS: Final = {
    "id": [1, 2, 2],
    "email": ["a@x", None, "b@x"],
    "amount": [1.5, -2.0, 3.0],
    "loaded_at": [datetime(2026, 11, 20, tzinfo=UTC)] * 3,
}
CHECKS: Final = (
    {"type": "unique", "columns": ["id"]},
    {"type": "not_null", "columns": ["email"], "max_ratio": 0.5, "warn": {"max_ratio": 0.1}},
    {"type": "range", "column": "amount", "min": 0},
    {"type": "accepted_values", "column": "email", "values": ["a@x", "b@x"]},
    {"type": "sql", "query": "SELECT * FROM data WHERE amount < 0"},
    {"type": "unique", "id": "of-positive", "columns": ["id"], "where": "amount > 0"},
    {"type": "k_anonymity", "quasi_identifiers": ["email"], "k": 2},
    {"type": "freshness", "column": "loaded_at", "max_age": "36500d"},
)
STATUSES: Final = ["fail", "warn", "fail", "pass", "fail", "pass", "fail", "pass"]


def _pandas() -> pd.DataFrame:
    return pd.DataFrame(ORDERS)


def _arrow() -> pa.Table:
    return pa.table(ORDERS)


def _relation() -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.register("orders", _arrow())
    return connection.sql("SELECT * FROM orders")


def _ibis(backend: Any) -> Any:
    backend.create_table("data", _arrow())
    return backend.table("data")


def _csv(folder: Path) -> Path:
    _pandas().to_csv(folder / "data.csv", index=False)
    return folder / "data.csv"


def _parquet(folder: Path) -> Path:
    _pandas().to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


FORMS: Final[Mapping[str, Callable[[Path], Any]]] = {
    "pandas": lambda _: _pandas(),
    "pandas of Arrow types": lambda _: _pandas().convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda _: pl.DataFrame(ORDERS),
    "polars, lazy": lambda _: pl.LazyFrame(ORDERS),
    "Arrow": lambda _: _arrow(),
    "Arrow batch": lambda _: _arrow().to_batches()[0],
    "Arrow stream": lambda _: _arrow().to_reader(),
    "Arrow data set": lambda folder: ds.dataset(_parquet(folder)),
    "DuckDB relation": lambda _: _relation(),
    "Ibis on DuckDB": lambda _: _ibis(ibis.duckdb.connect()),
    "Ibis expression": lambda _: _ibis(ibis.duckdb.connect()).filter(ibis._.id > 0),
    "Ibis on SQLite": lambda _: _ibis(ibis.sqlite.connect()),
    "CSV": _csv,
    "Parquet": lambda folder: str(_parquet(folder)),
    "glob": lambda folder: f"{_parquet(folder).parent}/data*.parquet",
}
