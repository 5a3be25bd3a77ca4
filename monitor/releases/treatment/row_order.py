"""Put the rows of an output in random order, in bounded memory: where a row lies in a sorted table tells its values.

    rows ─> held in memory ─> too many? ─> each row into one of 64 files, drawn uniformly ─> file after file, permuted

A uniform draw of the file for each row, and a uniform permutation within each file, make a uniform permutation of all
rows. A file that is still too large is divided again. All randomness is bytes of the operating system.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from remedies.differential_privacy.random_bytes import many_below, random_order

if TYPE_CHECKING:
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
        numbers = many_below(_FILES, len(rows))
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
        yield whole.take(random_order(len(whole)))
