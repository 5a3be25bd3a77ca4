"""What a recoding has lost, measured in the ways of the literature; in all but precision, less is better."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from checks import Json
from remedies._errors import Misfit
from remedies.generalisation.recoding import INTERVAL, Recoding
from remedies.generalisation.representatives import (
    ReleasedCells,
    Representative,
    cells_of,
    is_everything,
    is_numeric,
    squared_differences,
)

INFINITE: Final = "infinite"
"""How an infinite number is written in JSON, which knows none."""


@dataclass(frozen=True, slots=True)
class CellUtilities:
    """Measures that are taken cell by cell: of a column, or of all columns together.

    `steps`: the levels gone up, summed over columns; None of a local recoding.
    `precision`: 1 - mean of level / height over the cells (Sweeney 2002, "Achieving k-anonymity privacy protection
    using generalization and suppression", definition of Prec): 1 nothing lost, 0 all. A cell of a suppressed row counts
    as at full height. None where a label has no level: an interval that was cut along the numbers.
    `entropy_bits`: non-uniform entropy, -sum over the cells of log2(rows with the leaf / rows with a leaf under the
    label), rows of the input (de Waal & Willenborg 1999; Gionis & Tassa 2009, definition 4.3). A suppressed row has the
    label of everything. `entropy`: the share of what there is to lose, 0 to 1.
    `loss`: mean of (hierarchy lines under the label - 1) / (lines - 1), 1 for a cell of a suppressed row (Iyengar 2002,
    "Transforming data to satisfy privacy constraints", 2.2), 0 to 1. Over all columns the geometric mean of 1 + loss,
    minus 1.
    `euclid`: sum of the squared differences between numbers and their labels' representatives; no root is taken. None
    of columns that hold no numbers.
    `kl_nats`: Kullback-Leibler divergence of the column's distribution from what the released labels say when the rows
    of each are spread evenly over its leaves, in nats; suppressed rows are missing there. The leaves are the values
    that the table has. `math.inf` where a value is under no label that is left. Over all columns the sum.
    """

    steps: int | None
    precision: float | None
    entropy_bits: float
    entropy: float
    loss: float
    euclid: float | None
    kl_nats: float


@dataclass(frozen=True, slots=True)
class Utilities:
    """The information loss of a recoding.

    `discernibility`: each released row costs the size of its class, each suppressed one the size of the table (Bayardo
    & Agrawal 2005, equation 1). `average_class_size`: released rows / classes; `class_size_by_k`: that / k (LeFevre,
    DeWitt & Ramakrishnan 2006, C_AVG); None where nothing is released or k is not said. `representative`: of labels,
    in `euclid`.
    """

    columns: Mapping[str, CellUtilities]
    total: CellUtilities
    rows: int
    rows_suppressed: int
    classes: int
    smallest_class: int | None
    discernibility: int
    average_class_size: float | None
    class_size_by_k: float | None
    representative: Representative

    def as_json(self) -> Mapping[str, Json]:
        """Return it as plain data; an infinite number is the text `infinite`."""
        return {name: _json(value) for name, value in asdict(self).items()}


def utilities(
    recoding: Recoding,
    *,
    k: int | None = None,
    representative: Representative = "midpoint",
    numeric: Collection[str] | None = None,
) -> Utilities:
    """Measure what a recoding has lost, per column and in total.

    Args:
        recoding: what became of the table.
        k: what the average class size is divided by.
        representative: the number that stands for a label in `euclid`.
        numeric: the columns that hold numbers, maybe written as texts; by default those whose values are numbers.

    Raises:
        Misfit: a column of `numeric` is not there, or holds what is no number.
    """
    names = recoding.frequencies.columns
    unknown = sorted(set(numeric or ()) - set(names))
    if unknown:
        raise Misfit(f"column '{unknown[0]}' is not a quasi-identifier here; expected some of {', '.join(names)}")
    every = [cells_of(recoding, place) for place in range(len(names))]
    if numeric is None:
        numeric = [cells.column.domain.column for cells in every if is_numeric(cells.column.domain)]
    return measured(every, recoding.levels, recoding.class_sizes(), k=k, representative=representative, numeric=numeric)


def measured(
    every: Sequence[ReleasedCells],
    levels: Sequence[int] | None,
    sizes: npt.NDArray[np.int64],
    *,
    k: int | None,
    numeric: Collection[str],
    representative: Representative = "midpoint",
) -> Utilities:
    """Compute `utilities` from the cells of each column and the classes' `sizes` (classes,) put together already.

    `levels`: of the node, None of a local recoding. `numeric`: the columns that hold numbers.
    """
    columns, most = {}, 0.0
    for place, cells in enumerate(every):
        name = cells.column.domain.column
        steps = None if levels is None else int(levels[place])
        columns[name] = _of_column(cells, steps, representative if name in numeric else None)
        most += _most_bits(cells)
    released, rows = int(sizes.sum()), int(every[0].total.sum())
    average = released / len(sizes) if len(sizes) else None
    return Utilities(
        columns=columns,
        total=_together(list(columns.values()), most),
        rows=rows,
        rows_suppressed=rows - released,
        classes=len(sizes),
        smallest_class=int(sizes.min()) if len(sizes) else None,
        discernibility=sum(size * size for size in sizes.tolist()) + (rows - released) * rows,
        average_class_size=average,
        class_size_by_k=None if average is None or k is None else average / k,
        representative=representative,
    )


def total_loss(losses: Sequence[float]) -> float:
    """Combine the losses of columns: the geometric mean of 1 + loss, minus 1."""
    return math.prod(1 + loss for loss in losses) ** (1 / len(losses)) - 1


def _of_column(cells: ReleasedCells, steps: int | None, representative: Representative | None) -> CellUtilities:
    bits, most = _entropy_bits(cells), _most_bits(cells)
    return CellUtilities(
        steps=steps,
        precision=_precision(cells),
        entropy_bits=bits,
        entropy=bits / most if most > 0 else 0.0,
        loss=_loss(cells),
        euclid=None if representative is None else squared_differences(cells, representative),
        kl_nats=_divergence(cells),
    )


def _together(columns: Sequence[CellUtilities], most_bits: float) -> CellUtilities:
    steps = [column.steps for column in columns if column.steps is not None]
    precise = [column.precision for column in columns if column.precision is not None]
    squares = [column.euclid for column in columns if column.euclid is not None]
    bits = math.fsum(column.entropy_bits for column in columns)
    return CellUtilities(
        steps=sum(steps) if len(steps) == len(columns) else None,
        precision=math.fsum(precise) / len(columns) if len(precise) == len(columns) else None,
        entropy_bits=bits,
        entropy=bits / most_bits if most_bits > 0 else 0.0,
        loss=total_loss([column.loss for column in columns]),
        euclid=math.fsum(squares) if squares else None,
        kl_nats=math.fsum(column.kl_nats for column in columns),
    )


def _precision(cells: ReleasedCells) -> float | None:
    levels, height = cells.labels.levels, cells.column.domain.height
    if (levels == INTERVAL).any():
        return None
    gone_up = np.where(is_everything(cells.labels), 1.0, levels / max(height, 1))
    return 1 - cells.summed(gone_up, 1.0) / int(cells.total.sum())


def _loss(cells: ReleasedCells) -> float:
    others = cells.lines - 1
    shares = (cells.labels.widths - 1) / others if others else np.zeros(len(cells.labels.widths))
    shares = np.where(is_everything(cells.labels), 1.0, shares)
    return cells.summed(shares, 1.0) / int(cells.total.sum())


def _entropy_bits(cells: ReleasedCells) -> float:
    of_label, of_leaf = np.log2(np.maximum(cells.covered, 1)), np.log2(cells.total)
    released = np.dot(of_label[cells.label] - of_leaf[cells.leaf], cells.rows)
    return float(released + np.dot(_bits(cells), cells.suppressed))


def _most_bits(cells: ReleasedCells) -> float:
    """Return the entropy of a table of which nothing is left."""
    return float(np.dot(_bits(cells), cells.total))


def _bits(cells: ReleasedCells) -> npt.NDArray[np.float64]:
    values: npt.NDArray[np.float64] = np.log2(cells.total.sum()) - np.log2(cells.total)
    return values


def _divergence(cells: ReleasedCells) -> float:
    """Compare the column with its labels, the rows of each spread evenly over its leaves."""
    labels, released = cells.labels, int(cells.rows.sum())
    if not released:
        return math.inf
    mass = np.bincount(cells.label, weights=cells.rows, minlength=len(labels.texts))
    spread = np.zeros(len(labels.order))
    for label in np.flatnonzero(mass):
        first, last = labels.first[label], labels.last[label]
        spread[first:last] += mass[label] / (released * (last - first))
    before, after = (cells.total / cells.total.sum())[labels.order], spread
    return math.inf if not after.all() else max(0.0, float(np.dot(before, np.log(before / after))))


def _json(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _json(item) for name, item in value.items()}
    return INFINITE if isinstance(value, float) and math.isinf(value) else value
