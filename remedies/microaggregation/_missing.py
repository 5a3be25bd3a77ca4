"""Keep records apart whose missing cells differ: what is missing is a quasi-identifier like any other.

Records with the same columns missing form a block, and only records of one block are grouped. A pattern that fewer than
k records have joins another: cells that are missing there are blanked, cells that are missing here are filled. No
number stands for "missing" in a distance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from remedies.microaggregation.numbers import Floats, Mask

Rows = npt.NDArray[np.int64]

_DONORS: Final = 4096
_CHUNK: Final = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Records that may be grouped with one another. `rows` (m,), ascending; `missing` (d,): columns without values."""

    rows: Rows
    missing: Mask


def blocks(missing: Mask, k: int) -> Iterator[Block]:
    """Split the records by what they miss, each block of at least k of them.

    A rare pattern joins the one where the fewest of its cells are blanked; of these, where the fewest are filled; of
    these, the most frequent. O(n d + p q d) for p rare and q frequent patterns.

    Args:
        missing: (n, d), n >= k.
        k: the smallest group.
    """
    patterns, pattern, sizes = np.unique(missing, axis=0, return_inverse=True, return_counts=True)
    order = np.lexsort((np.arange(len(sizes)), -sizes))
    frequent = order[: max(1, int((sizes >= k).sum()))]  # if none is, the commonest takes all
    home = np.arange(len(sizes))
    rare = order[len(frequent) :]
    for start in range(0, len(rare), _CHUNK):
        chunk = rare[start : start + _CHUNK]
        home[chunk] = frequent[np.argmin(_costs(patterns[chunk], patterns[frequent]), axis=1)]
    block = home[pattern.reshape(-1)]
    rows = np.argsort(block, kind="stable")
    for item in np.split(rows, np.flatnonzero(np.diff(block[rows])) + 1):
        yield Block(item, patterns[block[item[0]]])


def _costs(rare: Mask, frequent: Mask) -> Floats:
    """Return what each rare pattern (p, d) loses in each frequent one (q, d): blanked cells first, then filled ones."""
    columns = rare.shape[1]
    blanked = (~rare).astype(np.float64) @ frequent.T.astype(np.float64)
    filled = rare.astype(np.float64) @ (~frequent).T.astype(np.float64)
    costs: Floats = blanked * (columns + 1) + filled
    return costs


def fill(codes: Floats, missing: Mask, axes: Floats, axis_of: Rows) -> Floats:
    """Return codes (m, d) in which each missing cell has that of the nearest record without missing cells.

    "Nearest" by the axes of the columns that the record does have. Of more than 4096 complete records every n-th is
    asked, so that the cost is O(m).

    Args:
        codes: (m, d); what is missing counts for nothing.
        missing: (m, d).
        axes: (m, a), the coordinates of all columns.
        axis_of: (a,), the column of each axis.
    """
    complete = np.flatnonzero(~missing.any(axis=1))
    donors = complete[:: max(1, -(-len(complete) // _DONORS))]
    filled = codes.copy()
    patterns, pattern = np.unique(missing, axis=0, return_inverse=True)
    pattern = pattern.reshape(-1)
    for number, gone in enumerate(patterns):
        if not gone.any():
            continue
        rows = np.flatnonzero(pattern == number)
        near = donors[_nearest(axes[rows][:, ~gone[axis_of]], axes[donors][:, ~gone[axis_of]])]
        filled[np.ix_(rows, gone)] = codes[np.ix_(near, gone)]
    return filled


def _nearest(points: Floats, others: Floats) -> Rows:
    squares = (others**2).sum(axis=1)
    parts = np.array_split(points, -(-len(points) // _CHUNK))
    return np.concatenate([np.argmin(squares - 2.0 * part @ others.T, axis=1) for part in parts])
