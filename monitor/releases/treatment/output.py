"""Write a treated table as a file that is complete and was read again, or not at all.

Every output of a remedy goes through `row_writer`: it says in which order the rows stand, and protects CSV files from
spreadsheets. Nothing else of a file tells where a row lay in the input: no index, no metadata of pandas or Arrow, no
statistics, no dictionary that lists values in another order than the rows.

The order is random, in bounded memory: where a row lies in a sorted table tells its values.

    rows ─> held in memory ─> too many? ─> each row into one of 64 files, drawn uniformly ─> file after file, permuted

A uniform draw of the file for each row, and a uniform permutation within each file, make a uniform permutation of all
rows. A file that is still too large is divided again. All randomness is bytes of the operating system.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from monitor.clock import Clock
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.table_reader import changed, pieces_of, reading, schema_of
from monitor.releases.treatment.verify import WrittenFile, k_check, reached_in
from monitor.terminal.output_file import ProtectedFiles, check_target, matches, refused, write_file
from monitor.terminal.problem import Stop
from monitor.terminal.spreadsheet import check_cells, check_names, escape_cells
from remedies import RowOrder
from remedies.differential_privacy.random_bytes import many_below, random_order

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_FILES: Final = 64
IN_MEMORY: Final = 128 * 10**6
"""Bytes of rows that are permuted in memory; permuting takes about three times as much."""
_BATCH: Final = 65_536


class Shuffle:
    """Takes the rows of a table in pieces, and gives all of them back in uniformly random order.

    Args:
        folder: does not exist yet; it is made when the rows do not fit in memory, and takes as much as they.
        memory: bytes of rows that are permuted in memory at once.
    """

    def __init__(self, folder: Path, *, memory: int = IN_MEMORY) -> None:
        self._folder, self._memory = folder, memory
        self._held: list[pa.Table] = []
        self._bytes = 0
        self._files: _Files | None = None

    def add(self, rows: "pa.Table") -> None:
        """Take rows."""
        if self._files is None and self._bytes + rows.nbytes > self._memory:
            self._files = _Files(self._folder, rows.schema)
            for held in self._held:
                self._files.scatter(held)
            self._held = []
        if self._files is not None:
            self._files.scatter(rows)
            return
        self._held.append(rows)
        self._bytes += rows.nbytes

    def take(self) -> "Iterator[pa.Table]":
        """Yield all rows, in pieces, and forget them."""
        if self._files is None:
            yield from _permuted(self._held)
            self._held = []
            return
        self._files.close()
        for path, rows_in, size in self._files.parts():
            if size <= self._memory or rows_in == 1:
                yield from _permuted(list(_read(path)))
                path.unlink()
                continue
            part = Shuffle(path.with_suffix(".parts"), memory=self._memory)
            for rows in _read(path):
                part.add(rows)
            path.unlink()
            yield from part.take()


class _Files:
    """Files of rows, to which each row is assigned at random."""

    def __init__(self, folder: Path, schema: "pa.Schema") -> None:
        import pyarrow as pa

        folder.mkdir(mode=0o700)
        self._paths = [folder / str(number) for number in range(_FILES)]
        self._writers = [pa.ipc.new_stream(path, schema) for path in self._paths]
        self._rows, self._sizes = [0] * _FILES, [0] * _FILES

    def scatter(self, rows: "pa.Table") -> None:
        """Write each row to a file of which each is equally likely."""
        for first in range(0, len(rows), _BATCH):
            self._scatter(rows.slice(first, _BATCH))

    def _scatter(self, rows: "pa.Table") -> None:
        numbers = many_below(_FILES, len(rows))  # randomness: order
        order = np.argsort(numbers, kind="stable")
        sorted_rows = rows.take(order).combine_chunks()
        edges = np.searchsorted(numbers[order], np.arange(_FILES + 1, dtype=np.uint64))
        for number, writer in enumerate(self._writers):
            part = sorted_rows.slice(edges[number], edges[number + 1] - edges[number])
            if len(part):
                writer.write_table(part)
                self._rows[number] += len(part)
                self._sizes[number] += part.nbytes

    def close(self) -> None:
        """End the files."""
        for writer in self._writers:
            writer.close()

    def parts(self) -> Sequence[tuple[Path, int, int]]:
        """Return the files, each with the number of its rows, and the bytes that these take in memory."""
        return list(zip(self._paths, self._rows, self._sizes, strict=True))


def _read(path: Path) -> "Iterator[pa.Table]":
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as batches:
        for batch in batches:
            yield pa.Table.from_batches([batch])


def _permuted(pieces: "Sequence[pa.Table]") -> "Iterator[pa.Table]":
    import pyarrow as pa

    if pieces:
        whole = pa.concat_tables(pieces).combine_chunks()
        yield whole.take(random_order(len(whole)))  # randomness: order


_ENDS: Final = (".csv", ".parquet")
_CODE: Final = "remedy.output"
_ROW_GROUP: Final = 100_000
"""Rows that a row group of a Parquet file has at least, but the last."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class OutputColumns:
    """The file to write, the columns that are left out of it, and the order of its rows."""

    out: Path
    drop: Sequence[str] = ()
    order: RowOrder = RowOrder.RANDOM


def check_place(out: Path, *, text: str, force: bool, protected: ProtectedFiles) -> None:
    """Check that a file can be written there, before any work is done. `text`: the table, or the file, that is read.

    Raises:
        Stop: it cannot, or it exists and `force` is not given, or it is what is read.
    """
    if out.suffix not in _ENDS:
        raise _refused(f"'{out}' is neither a .csv nor a .parquet file", "use the extension .csv or .parquet")
    check_target(out, protected=protected.reading(text, use="the input file"), force=force, code=_CODE)


def check_not_read(out: Path, place: TableRef) -> None:
    """Check that a file is none of those that a table is read from, by its name, a pattern or the configuration.

    Nor may it become one: a table that is read from all files of a folder would hold what was made of it.

    Raises:
        Stop: it is one of them, or would be.
    """
    source = place.target.source
    if source.files is not None and matches(os.path.join(source.base.resolve(), source.files), out):  # noqa: PTH118 - a glob
        text = "is" if out.exists() else "would be"
        raise _refused(f"'{out}' {text} an input file", "choose another folder or file name")


def write_verified(frame: "pd.DataFrame", out: Path, prove: Callable[[Path], Found], *, order: RowOrder) -> Found:
    """Write a frame as CSV or Parquet, and return what `prove` finds in the very bytes, before the file gets its name.

    Columns, types and rows are the frame's; no index, no metadata of pandas, no statistics of columns.

    Raises:
        Stop: the file cannot be written, or `prove` refuses it; nothing is left behind.
    """
    return publish(out, lambda draft: write_frame(frame, draft, order=order), prove)


def write_frame(frame: "pd.DataFrame", draft: Path, *, order: RowOrder) -> None:
    """Write a frame that is in memory, without its index, through `row_writer`.

    Raises:
        Stop: as `row_writer`. OSError: the file cannot be written.
    """
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    with row_writer(draft, table.schema, order=order, memory=None) as write:
        write(table)


def publish(out: Path, write: Callable[[Path], None], prove: Callable[[Path], Found]) -> Found:
    """Let `write` make a draft, and return what `prove` finds in it, before the file gets its name.

    Raises:
        Stop: the file cannot be written, or `prove` refuses it; nothing is left behind.
    """
    return write_file(out, write, prove, replace=True, code=_CODE)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """How a table becomes another one: `schema` of the file from that of the table, and rows from rows.

    `treat` takes a piece of the table, the table's schema and that of the file. `rows`: how many the table had when it
    was measured.
    """

    schema: "Callable[[pa.Schema], pa.Schema]"
    treat: "Callable[[pa.Table, pa.Schema, pa.Schema], pa.Table]"
    rows: int


def rewrite(draft: Path, place: TableRef, rewriting: Rewriting, *, leaving: OutputColumns) -> WrittenFile:
    """Read a table again, piece by piece, and write what is made of it; return how the file is to be read again.

    Raises:
        Stop: it cannot be read, or has not as many rows as it had.
    """
    rows = 0
    with reading(place) as (source, whole):
        table = whole.drop(*leaving.drop)
        pieces = pieces_of(source, table)
        piece = next(pieces, None)
        if piece is None:
            raise changed()
        before = schema_of(piece, table)
        after = rewriting.schema(before)
        with row_writer(draft, after, order=leaving.order) as write:
            while piece is not None:
                rows += len(piece)
                write(rewriting.treat(piece, before, after))
                piece = next(pieces, None)
    if rows != rewriting.rows:
        raise changed()
    return WrittenFile.of(after)


def verify_k(
    columns: Sequence[str], *, k: int, clock: Clock, written: WrittenFile | None = None
) -> Callable[[Path], int]:
    """Return what counts, in a file, how many records are alike at least: by the check `k_anonymity`, in the engine.

    The function raises Stop where these are fewer than k, or cannot be counted.
    """

    def prove(path: Path) -> int:
        (result,) = (written or WrittenFile()).place(path).ask([k_check(columns, k)], clock)
        return int(reached_in(result, columns)["k"])

    return prove


@contextmanager
def row_writer(
    draft: Path, schema: "pa.Schema", *, order: RowOrder, memory: int | None = IN_MEMORY
) -> "Iterator[Callable[[pa.Table | pa.RecordBatch], None]]":
    """Return a function that takes rows of an output; afterwards they are in a CSV or Parquet file, and on disk.

    Args:
        draft: the file; rows that do not fit in memory lie in its folder meanwhile, which only its owner can read.
        schema: of the rows that are given.
        order: of the rows in the file.
        memory: bytes of rows that are held at once; None if all of them are in memory anyway.

    Raises:
        Stop: a CSV file cannot hold a column, or a spreadsheet would run its name.
    """
    import pyarrow as pa

    plain = pa.schema([(item.name, _plain_type(item.type)) for item in schema])
    with _file_writer(draft, plain) as put:
        if order is RowOrder.INPUT:
            yield lambda rows: put(_as_table(rows).cast(plain))
        else:
            shuffle = Shuffle(draft.parent / "shuffle", memory=sys.maxsize if memory is None else memory)
            yield lambda rows: shuffle.add(_as_table(rows).cast(plain))
            for piece in _regrouped(shuffle.take()):
                put(piece)
    check_cells(draft, plain.names)


@contextmanager
def _file_writer(draft: Path, schema: "pa.Schema") -> "Iterator[Callable[[pa.Table], None]]":
    if draft.suffix == ".parquet":
        from pyarrow import parquet

        with parquet.ParquetWriter(
            draft, schema, write_statistics=False, store_schema=False, compression="zstd"
        ) as writer:
            yield writer.write_table
    else:
        from pyarrow import csv

        _check_csv(schema)
        check_names(schema.names)
        with csv.CSVWriter(draft, schema) as rows:
            yield lambda table: rows.write_table(_escaped(table))
    with draft.open("rb") as written:
        os.fsync(written.fileno())


def _as_table(rows: "pa.Table | pa.RecordBatch") -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows


def _plain_type(kind: "pa.DataType") -> "pa.DataType":
    """Return the type of a dictionary's values: it may list values that no row has, in the order of the input."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _regrouped(pieces: "Iterable[pa.Table]") -> "Iterator[pa.Table]":
    """Join small pieces, since each becomes a row group of a Parquet file."""
    import pyarrow as pa

    tables: list[pa.Table] = []
    for piece in pieces:
        tables.append(piece)
        if sum(map(len, tables)) >= _ROW_GROUP:
            yield pa.concat_tables(tables)
            tables = []
    if tables:
        yield pa.concat_tables(tables)


def _escaped(table: "pa.Table") -> "pa.Table":
    import pyarrow as pa

    return pa.table([escape_cells(column) for column in table.columns], schema=table.schema)


def _check_csv(schema: "pa.Schema") -> None:
    """Check that a CSV file can hold these columns.

    Raises:
        Stop: it cannot.
    """
    import pyarrow as pa

    tests = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    for field in schema:
        if any(test(field.type) for test in tests):
            message = f"a CSV file cannot contain column '{field.name}' of type {field.type}"
            raise _refused(message, "write a .parquet file, or drop the column")


def _refused(message: str, hint: str) -> Stop:
    return refused(message, hint, code=_CODE)
