"""The greatest time of a column by the statistics of Parquet files; only their footers are read."""

from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def newest_of(files: Iterable[Path], column: str, check_time: Callable[[], None]) -> date | None:
    """Return the greatest value; None where there is none. A file without the column has NULL in all of its rows.

    Statistics of times and dates are whole values, unlike those of texts, which writers may cut.

    Raises:
        ValueError: the column is none of the files, not a time, or has no statistics somewhere.
        OSError: a file cannot be read.
    """
    values, is_there = [], False
    for path in files:
        check_time()
        if any(part.partition("=")[0].casefold() == column.casefold() for part in path.parent.parts if "=" in part):
            raise ValueError(f"column '{column}' follows from the names of folders, which have no statistics")
        try:
            footer = pq.read_metadata(path)
        except pa.ArrowException as error:
            raise OSError(type(error).__name__) from None
        at = _place_of(footer, column)
        if at is None:
            continue
        is_there = True
        values += [value for group in range(footer.num_row_groups) for value in _greatest(footer.row_group(group), at)]
    if not is_there:
        raise ValueError(f"column '{column}' is in none of the files, so nothing is said about it")
    if len({type(value) for value in values}) > 1:
        raise ValueError(f"column '{column}' has dates in some files and times in others")
    return max(values, default=None)


def _place_of(footer: pq.FileMetaData, column: str) -> int | None:
    """Return where a file has the column.

    Raises:
        ValueError: it is not of times or dates.
    """
    schema = footer.schema.to_arrow_schema()
    name = next((name for name in schema.names if name.casefold() == column.casefold()), None)
    if name is None:
        return None
    kind = schema.field(name).type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise ValueError(f"column '{column}' is of type {kind} in a file; expected a time or date")
    return next(at for at in range(footer.num_columns) if footer.schema.column(at).path == name)


def _greatest(group: pq.RowGroupMetaData, at: int) -> Iterable[date]:
    """Yield the greatest value of a row group, if it has one.

    Raises:
        ValueError: its statistics do not say.
    """
    statistics = group.column(at).statistics
    if statistics is not None and statistics.has_min_max:
        greatest = statistics.max
        yield greatest.to_pydatetime(warn=False) if hasattr(greatest, "to_pydatetime") else greatest
    elif group.num_rows and (
        statistics is None or not statistics.has_null_count or statistics.null_count < group.num_rows
    ):
        raise ValueError(f"a file has no statistics of column '{group.column(at).path_in_schema}'")
