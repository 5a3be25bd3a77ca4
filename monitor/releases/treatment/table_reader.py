"""Read a table: all of it as a frame whose columns keep their types, or how often each combination of columns comes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from monitor.releases.disclosure.table_ref import TableRef
from monitor.terminal.problem import ExitCode, Problem, Stop
from sources import (
    QueryFailed,
    Source,
    SourceError,
    SourceSpec,
    TableNotFound,
    did_you_mean,
    one_connection,
    open_source,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from ibis.expr import types as ir

_DAY: Final = timedelta(days=1)


def read(place: TableRef, columns: Sequence[str] | None = None) -> "pd.DataFrame":
    """Read a table, or some of its columns, into memory, with Arrow's types.

    Raises:
        Stop: the source or the table cannot be read.
    """
    with reading(place) as (source, table):
        return _frame(source, table if columns is None else table.select(list(columns)))


def columns_in(place: TableRef) -> Sequence[str]:
    """Return the columns of a table.

    Raises:
        Stop: the source or the table cannot be read.
    """
    with reading(place) as (_, table):
        return tuple(table.columns)


def count(place: TableRef, columns: Sequence[str], *, called: str) -> "pd.DataFrame":
    """Return each combination of some columns that a table has, and how often, counted where the table lives.

    `called`: the name of the counts, which is none of `columns`.

    Raises:
        Stop: the source or the table cannot be read, or it has no such column.
    """
    from remedies.generalisation.recoding import one_zero

    with reading(place) as (source, table):
        for name in columns:
            if name not in table.columns:
                message = f"column '{name}' not found{did_you_mean(name, table.columns)}"
                raise Stop(ExitCode.USAGE, Problem("remedy.misfit", message))
        counts = _frame(source, table.group_by(list(columns)).aggregate(**{called: table.count()}))
        for name in columns:  # 0.0 and -0.0 are one value to engines, which return either
            counts[name] = one_zero(counts[name])
        return counts


def distinct_values(source: Source, table: "ir.Table", column: str) -> "pd.Series[Any]":
    """Return each value of a column once.

    Raises:
        SourceError, pyarrow.ArrowException: as `pieces_of`.
    """
    return _frame(source, table.select(column).distinct())[column]


@contextmanager
def reading(place: TableRef) -> "Iterator[tuple[Source, ir.Table]]":
    """Open the source of a table. A file may take its time; what others need too keeps the limit of its queries.

    Raises:
        Stop: the source or the table cannot be read.
    """
    import pyarrow as pa

    try:
        with open_source(_patient(place.target.source)) as source:
            yield source, source.table(place.target.subject.relation)
    except TableNotFound as error:
        raise Stop(ExitCode.USAGE, Problem("remedy.no_table", str(error))) from None
    except SourceError as error:
        raise table_not_read(error) from None
    except pa.ArrowException:
        message = f"'{place.name}' has a column with values of several types; expected one type per column"
        raise Stop(ExitCode.USAGE, Problem("remedy.not_read", message)) from None


@contextmanager
def one_connection_to(place: TableRef) -> Iterator[None]:
    """Let everything that is read of a table in this block come over one connection."""
    with one_connection(_patient(place.target.source)):
        yield


def _patient(spec: SourceSpec) -> SourceSpec:
    return spec if spec.files is None else replace(spec, query_timeout=_DAY)


def pieces_of(source: Source, table: "ir.Table") -> "Iterator[pa.Table]":
    """Yield the rows of a table, some after others, with the types that the engine gives; a UUID is a text.

    Raises:
        SourceError: as `Source.columns`.
        pyarrow.ArrowException: a column holds values of several types.
    """
    import pyarrow as pa

    for piece in source.columns(source.compile(table)):
        yield pa.table([_plain(column.arrow()) for column in piece], names=table.columns)


def schema_of(first: "pa.Table", table: "ir.Table") -> "pa.Schema":
    """Return the types of a table's columns, of which `first` rows were read: the engine's, or what it really gives.

    SQLite says one and gives another: texts for times, 1 for true.
    """
    import pyarrow as pa

    declared = table.schema().to_pyarrow()
    return pa.schema(
        [(name, _kind(first.schema.field(name).type, declared.field(name).type)) for name in table.columns]
    )


def _kind(data_type: "pa.DataType", current_data_type: "pa.DataType") -> "pa.DataType":
    import pyarrow as pa

    differs = any(test(data_type) != test(current_data_type) for test in (pa.types.is_string, pa.types.is_boolean))
    return data_type if differs and not pa.types.is_null(data_type) else current_data_type


def table_not_read(error: SourceError) -> Stop:
    """Return why a table cannot be read.

    It is wrong usage if a statement is refused, as in `risk`: the file is no table, or the type of a column does not
    fit. It is not if the source does not answer.
    """
    code = ExitCode.USAGE if isinstance(error, QueryFailed) else ExitCode.NOT_EVALUATED
    return Stop(code, Problem("remedy.not_read", str(error)))


def changed() -> Stop:
    """Return that a table is not the same at a second reading."""
    message = "the table changed while it was processed; nothing is published"
    return Stop(
        ExitCode.NOT_EVALUATED, Problem("remedy.not_read", message, hint="run it again while nothing writes to it")
    )


def _plain(cells: "pa.Array") -> "pa.Array":
    """Return UUIDs as texts: Arrow can neither tell them apart nor write them to a CSV file."""
    import pyarrow as pa

    if isinstance(cells.type, pa.UuidType):
        return pa.array([None if cell is None else str(cell) for cell in cells.to_pylist()], pa.string())
    return cells


def _frame(source: Source, table: "ir.Table") -> "pd.DataFrame":
    import pandas as pd
    import pyarrow as pa

    pieces = list(pieces_of(source, table))
    whole = (
        pa.concat_tables(pieces, promote_options="permissive") if pieces else table.schema().to_pyarrow().empty_table()
    )
    frame: pd.DataFrame = whole.to_pandas(types_mapper=pd.ArrowDtype)
    return frame
