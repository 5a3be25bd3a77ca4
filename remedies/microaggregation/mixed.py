"""Group records whose columns are of mixed kinds, some with missing cells.

Records with the same columns missing form a block, and only records of one block are grouped. A pattern that fewer than
k records have joins another: cells that are missing there are blanked, cells that are missing here are filled. No
number stands for "missing" in a distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies.microaggregation.attributes import Attribute, Labels
from remedies.microaggregation.numbers import Floats, Mask

if TYPE_CHECKING:
    from remedies.microaggregation._loss import Microaggregation

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
    for number, blank in enumerate(patterns):
        if not blank.any():
            continue
        rows = np.flatnonzero(pattern == number)
        near = donors[_nearest(axes[rows][:, ~blank[axis_of]], axes[donors][:, ~blank[axis_of]])]
        filled[np.ix_(rows, blank)] = codes[np.ix_(near, blank)]
    return filled


def _nearest(points: Floats, others: Floats) -> Rows:
    squares = (others**2).sum(axis=1)
    parts = np.array_split(points, -(-len(points) // _CHUNK))
    return np.concatenate([np.argmin(squares - 2.0 * part @ others.T, axis=1) for part in parts])


Partition: TypeAlias = "Callable[[Floats, int], Microaggregation]"
"""Groups records by their coordinates (m, a), which are standardised and weighted; and the number of the block."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """The output of grouping. `labels` (n,); `codes` and `missing` (n, d); one result a block, in the blocks' order."""

    labels: Labels
    codes: Floats
    missing: Mask
    results: Sequence[Microaggregation]


def group_records(
    attributes: Sequence[Attribute], *, k: int, weights: Mapping[str, float], partition: Partition
) -> Grouped:
    """Group the records of a table, and give each the centroid of its group.

    Args:
        attributes: d columns of n records, n >= k.
        k: the smallest group.
        weights: factor of a column's squared distances, by its name; 1 where none is named.
        partition: how records of one block are grouped.
    """
    codes = np.column_stack([attribute.codes for attribute in attributes])
    missing = np.column_stack([attribute.missing for attribute in attributes])
    labels = np.zeros(len(codes), dtype=np.int64)
    results: list[Microaggregation] = []
    for number, block in enumerate(blocks(missing, k)):
        filled, axes = _prepared(attributes, codes, missing, block, weights)
        microaggregation = partition(axes, number)
        groups = 1 + int(microaggregation.labels.max())
        for column in np.flatnonzero(~block.missing).tolist():
            centroid = attributes[column].centroid(filled[:, column], microaggregation.labels, groups)
            codes[block.rows, column] = centroid[microaggregation.labels]
        labels[block.rows] = microaggregation.labels + (int(labels.max()) + 1 if results else 0)
        missing[block.rows] = block.missing
        results.append(microaggregation)
    return Grouped(labels, codes, missing, results)


def _prepared(
    attributes: Sequence[Attribute], codes: Floats, missing: Mask, block: Block, weights: Mapping[str, float]
) -> tuple[Floats, Floats]:
    """Return the codes of a block (m, d) with its gaps filled, and the coordinates of the columns it has."""
    present = [column for column in range(len(attributes)) if not block.missing[column]]
    filled = codes[block.rows]
    gaps = missing[block.rows] & ~block.missing
    axes, axis_of = _axes(attributes, filled, present, weights)
    if gaps.any():
        filled = fill(filled, gaps, axes, axis_of)
        axes, _ = _axes(attributes, filled, present, weights)
    return filled, axes


def _axes(
    attributes: Sequence[Attribute], codes: Floats, present: Sequence[int], weights: Mapping[str, float]
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the coordinates (m, a) of the columns that are there, and the column of each."""
    parts = [attributes[column].axes(codes[:, column]) for column in present]
    scaled = [
        part * np.sqrt(weights.get(attributes[column].name, 1.0)) for column, part in zip(present, parts, strict=True)
    ]
    whole = np.concatenate([np.empty((len(codes), 0)), *scaled], axis=1)
    return whole, np.repeat(np.array(present, dtype=np.int64), [part.shape[1] for part in parts])
