"""Return an answer column by column, as arrays: distinct values, and their codes by row.

Numpy is imported when an answer is taken apart, so that `import sources` stays cheap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


class Column(Protocol):
    """Some rows of one column of an answer."""

    def __len__(self) -> int:
        """Count the rows."""

    def coded(self) -> tuple[Sequence[Any], npt.NDArray[np.int64]]:
        """Return values, each of them seldom more than once, and for each row the place of its value among them.

        Values are Python's own, as `Source.fetch` gives them; NULL is None.
        """

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return a column of whole numbers without NULL as an array."""

    def arrow(self) -> pa.Array:
        """Return the rows as Arrow has them.

        Raises:
            pyarrow.ArrowException: values of several types.
        """


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """A column of Python's own values."""

    cells: Sequence[Any]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.cells)

    def coded(self) -> tuple[Sequence[Any], npt.NDArray[np.int64]]:
        """Return the values that differ for Python, and for each row the place of its own."""
        import numpy as np

        places = _Places()
        try:
            results = [places[cell] for cell in self.cells]
        except TypeError:  # lists and structs cannot be keys
            return self.cells, np.arange(len(self.cells))
        return list(places), np.array(results, dtype=np.int64)

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return whole numbers as an array."""
        import numpy as np

        return np.array(self.cells, dtype=np.int64)

    def arrow(self) -> pa.Array:
        """Return the rows as Arrow has them."""
        import pyarrow as pa

        return pa.array(self.cells)


@dataclass(frozen=True, slots=True)
class ArrowColumn:
    """A column as Arrow has it."""

    array: pa.Array

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.array)

    def coded(self) -> tuple[Sequence[Any], npt.NDArray[np.int64]]:
        """Return the distinct values, and for each row the place of its own."""
        import numpy as np

        result = self.array.dictionary_encode(null_encoding="encode")
        return result.dictionary.to_pylist(), result.indices.to_numpy().astype(np.int64)

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return whole numbers as an array."""
        import numpy as np

        values: npt.NDArray[np.int64] = self.array.to_numpy(zero_copy_only=False).astype(np.int64)
        return values

    def arrow(self) -> pa.Array:
        """Return the rows as they are."""
        return self.array


def plain_columns(rows: Sequence[tuple[Any, ...]]) -> Sequence[Column]:
    """Turn rows into columns."""
    return [PlainColumn(cells) for cells in zip(*rows, strict=True)]


class _Places(dict[Any, int]):
    """Numbers values in the order in which they come."""

    def __missing__(self, value: object) -> int:
        count = self[value] = len(self)
        return count


Columns = Iterator[Sequence[Column]]
"""Some rows after others, each time all columns."""
