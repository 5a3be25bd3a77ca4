"""Group records whose columns are of mixed kinds, some with missing cells, and say what is given out for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies.microaggregation._missing import Block, blocks, fill
from remedies.microaggregation.attributes import Attribute, Labels
from remedies.microaggregation.numbers import Floats, Mask

if TYPE_CHECKING:
    from remedies.microaggregation.result import Microaggregation

Partition: TypeAlias = "Callable[[Floats, int], Microaggregation]"
"""Groups records by their coordinates (m, a), which are standardised and weighted; and the number of the block."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """What is given out. `labels` (n,); `codes` and `missing` (n, d); one result a block, in the blocks' order."""

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
        given, axes = _prepared(attributes, codes, missing, block, weights)
        microaggregation = partition(axes, number)
        groups = 1 + int(microaggregation.labels.max())
        for column in np.flatnonzero(~block.missing).tolist():
            centroid = attributes[column].centroid(given[:, column], microaggregation.labels, groups)
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
    given = codes[block.rows]
    gaps = missing[block.rows] & ~block.missing
    axes, axis_of = _axes(attributes, given, present, weights)
    if gaps.any():
        given = fill(given, gaps, axes, axis_of)
        axes, _ = _axes(attributes, given, present, weights)
    return given, axes


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
