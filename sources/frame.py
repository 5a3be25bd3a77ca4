"""Tables in memory: Arrow data, registered with a DuckDB of our own; nothing is copied and nothing is written.

What can be read only once (a stream of Arrow batches) is read when its table is first asked for, into a temporary table
that DuckDB keeps within its memory limit, spilling to a folder of the pass. `arrow_data` makes Arrow of what people
have: pandas and polars frames, DuckDB relations, and all that speaks Arrow's C stream interface.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from sources._arrow_tables import ArrowTables
from sources._contract import QueryFailed, Source
from sources._engine import CatalogueEntry

_BATCH: Final = 100_000
_MOST_DIGITS: Final = 38
_ONLY_POLARS: Final = {"Object": "Python objects", "Int128": "numbers of 128 bits", "UInt128": "numbers of 128 bits"}


class FrameSource(ArrowTables):
    """Arrow data by the name of its table: tables, data sets, and streams that are read once."""

    types_declared = False

    def _list(self) -> Iterable[CatalogueEntry]:
        return (CatalogueEntry("", "", name, bare=True) for name in self._spec.frames or {})

    def _data(self, entry: CatalogueEntry) -> Iterable[pa.Table | ds.Dataset | pa.RecordBatchReader]:
        return [(self._spec.frames or {})[entry.table]]


def arrow_data(data: Any) -> pa.Table | pa.RecordBatchReader | ds.Dataset:
    """Return a frame as Arrow data with distinct names of columns.

    Raises:
        QueryFailed: it is no table, or a column of it has no type.
    """
    library = type(data).__module__.partition(".")[0].removeprefix("_")
    if library == "pandas":
        converted = _of_pandas(data)
    elif library == "polars":
        converted = _of_polars(data)
    elif library == "duckdb" and hasattr(data, "to_arrow_reader"):
        converted = data.to_arrow_reader(_BATCH)
    elif library == "duckdb" and hasattr(data, "fetch_record_batch"):
        converted = data.fetch_record_batch(_BATCH)
    elif isinstance(data, pa.Table | pa.RecordBatchReader | ds.Dataset):
        converted = data
    elif isinstance(data, pa.RecordBatch):
        converted = pa.Table.from_batches([data])
    elif hasattr(data, "__arrow_c_stream__") and not isinstance(data, pa.ChunkedArray):
        converted = pa.RecordBatchReader.from_stream(data)
    else:
        raise QueryFailed(_no_table(data))
    _refuse_alike(converted.schema.names)
    _refuse_long_decimals(converted.schema)
    return _widened(converted) if isinstance(converted, pa.Table) else converted


def _widened(table: pa.Table) -> pa.Table:
    """Return a table of numbers that DuckDB has: none of 16 bits with a point, no decimal of 256 bits."""
    fields = [field.with_type(_known_to_duckdb(field.type)) for field in table.schema]
    return table if fields == list(table.schema) else table.cast(pa.schema(fields))


def _known_to_duckdb(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_float16(kind):
        return pa.float32()
    return pa.decimal128(kind.precision, kind.scale) if pa.types.is_decimal256(kind) else kind


def _refuse_long_decimals(schema: pa.Schema) -> None:
    """Refuse decimals that DuckDB does not have.

    Raises:
        QueryFailed: a column has more digits.
    """
    for field in schema:
        if pa.types.is_decimal(field.type) and field.type.precision > _MOST_DIGITS:
            message = (
                f"column '{field.name}' has decimals of {field.type.precision} digits, DuckDB at most {_MOST_DIGITS}"
            )
            raise QueryFailed(f"{message}; cast it")


def _of_pandas(frame: Any) -> pa.Table:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise QueryFailed(_no_table(frame))
    _refuse_alike([str(name) for name in frame.columns])
    columns = {str(name): _column(frame.iloc[:, at], str(name)) for at, name in enumerate(frame.columns)}
    return pa.table(columns) if columns else pa.Table.from_pandas(frame, preserve_index=False)


def _column(series: Any, name: str) -> pa.Array | pa.ChunkedArray:
    if hasattr(series, "sparse"):
        series = series.sparse.to_dense()
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        message = f"column '{name}' ({series.dtype}) has values of several types, or of one that Arrow does not have"
        hint = f"convert it, such as frame['{name}'] = frame['{name}'].astype('str')"
        raise QueryFailed(f"{message} ({type(error).__name__}); {hint}") from None


def _of_polars(frame: Any) -> pa.Table:
    if hasattr(frame, "collect"):
        frame = frame.collect()
    if not hasattr(frame, "to_arrow") or not hasattr(frame, "columns"):
        raise QueryFailed(_no_table(frame))
    for name, kind in frame.schema.items():
        if (values := _ONLY_POLARS.get(str(kind))) is not None:
            raise QueryFailed(f"column '{name}' holds {values}, which Arrow does not have; cast it, or drop it")
    table: pa.Table = frame.to_arrow()
    return table


def _no_table(data: Any) -> str:
    kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}".removeprefix("builtins.")
    hint = "; write .to_frame()" if type(data).__name__ == "Series" else ""
    expected = "a pandas, polars or Arrow table, a DuckDB relation, an Ibis table, or a path of CSV or Parquet files"
    return f"a {kind} is not a table{hint}; expected {expected}"


def _refuse_alike(names: Sequence[str]) -> None:
    """Refuse names that DuckDB would rename: it knows no case.

    Raises:
        QueryFailed: two are alike, or there are none.
    """
    if not names:
        raise QueryFailed("the table has no columns")
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.casefold(), name)
        if len(first) < len(names) and names.count(name) > 1:
            raise QueryFailed(f"two columns are called '{name}'; rename one of them")
        if other != name:
            raise QueryFailed(f"columns '{other}' and '{name}' differ only in case, which DuckDB ignores; rename one")


SOURCE: Final[type[Source]] = FrameSource
