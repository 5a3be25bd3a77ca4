"""What a generalisation can be best by: a value of each node, lower is better, and what none above it is under."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies.generalisation._kernels import BY_CLASSES, BY_SQUARES, NO_BOUND
from remedies.generalisation.by import By
from remedies.generalisation.frequencies import ColumnFrequencies, Frequencies
from remedies.generalisation.limits_of_classes import NodeClasses

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


Together: TypeAlias = Callable[[Sequence[Floats]], Floats]


def _total(columns: Sequence[Floats]) -> Floats:
    return reduce(np.add, columns)


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """A measure of one table. `value`: of a node. `measure`: which bound a frequency set gives, as kernels call it.

    `bounds`: by column and level, what the rest is made of; `together` makes one number of a number per column, and
    never falls when one of these rises. None where only frequency sets, or nothing, give a bound.
    """

    value: Callable[[NodeClasses], float]
    measure: int = NO_BOUND
    bounds: Sequence[Floats] | None = None
    together: Together = _total

    def lattice_bounds(self, order: Sequence[int]) -> Floats | None:
        """Return the bound of each node of the lattice of the columns in an order; None where there is none."""
        if self.bounds is None:
            return None
        grids = np.ix_(*(self.bounds[column] for column in order))
        return np.broadcast_to(self.together(grids), [grid.size for grid in grids]).flatten()


Make: TypeAlias = Callable[[Frequencies], Objective]


def objective(frequencies: Frequencies, by: By, *, only_small_broken: bool) -> Objective:
    """Prepare a measure for a table. `only_small_broken`: no class of k or more is ever suppressed."""
    if by is By.CLASS_SIZE:
        return Objective(_class_size, BY_CLASSES if only_small_broken else NO_BOUND)
    return _MAKE[by](frequencies)


def _class_size(node: NodeClasses) -> float:
    """Rows that are kept per class. Without the smallest ones classes are larger on average: so it bounds itself."""
    sizes = node.sizes[~node.broken]
    return float(sizes.mean()) if len(sizes) else math.inf


def _discernibility(frequencies: Frequencies) -> Objective:
    """Return Bayardo & Agrawal's: a class costs its size squared, a suppressed row the size of the table."""
    rows = frequencies.rows

    def value(node: NodeClasses) -> float:
        sizes = node.sizes[~node.broken].astype(object) if rows > _EXACT else node.sizes[~node.broken]
        return float((sizes * sizes).sum() + node.suppressed * rows)

    return Objective(value, BY_SQUARES)


def _steps(frequencies: Frequencies) -> Objective:
    """Return the steps; of as many steps, the fewest suppressed rows."""
    rows = frequencies.rows + 1
    return Objective(
        lambda node: float(node.levels.sum() + node.suppressed / rows),
        bounds=[np.arange(height + 1, dtype=np.float64) for height in frequencies.heights],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The loss of the cells of a column.

    `all_rows` (levels,): all rows together. `more` (levels, leaves): what a suppressed row costs beside that.
    """

    all_rows: Floats
    more: Floats


def _by_cells(cells: Sequence[_Cells], together: Together) -> Objective:
    """Return a measure that adds up the cells of each column; a suppressed cell is never cheaper than a kept one."""

    def value(node: NodeClasses) -> float:
        rows = node.sizes[node.broken]
        sums = [
            np.array([cell.all_rows[level] + (rows * cell.more[level][node.leaves[:, place]]).sum()])
            for place, (cell, level) in enumerate(zip(cells, node.levels, strict=True))
        ]
        return float(together(sums)[0])

    return Objective(value, bounds=[cell.all_rows for cell in cells], together=together)


def _loss(frequencies: Frequencies) -> Objective:
    """Return the Loss of Iyengar 2002, with the geometric mean over columns."""
    rows = frequencies.rows

    def costs(domain: ColumnFrequencies, level: int) -> Floats:
        return (domain.widths(level) - 1) / max(len(domain.hierarchy.values) - 1, 1)

    cells = _cells(frequencies, lambda domain, level, _: (costs(domain, level), 1 - costs(domain, level)))
    power = 1 / len(cells)

    def together(sums: Sequence[Floats]) -> Floats:
        product = reduce(np.multiply, [1 + item / rows for item in sums])
        return np.asarray(product**power - 1)

    return _by_cells(cells, together)


def _precision(frequencies: Frequencies) -> Objective:
    """Return what is missing to the precision of Sweeney 2002: the mean of level by height over the cells."""

    def costs(domain: ColumnFrequencies, level: int, _: Whole) -> tuple[Floats, Floats]:
        cost = np.full(len(domain.values), level / max(domain.height, 1))
        return cost, 1 - cost

    cells = frequencies.rows * len(frequencies.domains)
    return _by_cells(_cells(frequencies, costs), lambda sums: _total(sums) / cells)


def _entropy(frequencies: Frequencies) -> Objective:
    """Return the non-uniform entropy in bits: of each cell how surprising its value is to who sees its label."""
    rows = frequencies.rows

    def costs(domain: ColumnFrequencies, level: int, margin: Whole) -> tuple[Floats, Floats]:
        nodes = domain.nodes[level]
        of_label = np.bincount(nodes, weights=margin, minlength=len(nodes))[nodes]
        return np.log2(of_label / margin), np.log2(rows / of_label)

    return _by_cells(_cells(frequencies, costs), _total)


def _cells(
    frequencies: Frequencies, costs: Callable[[ColumnFrequencies, int, Whole], tuple[Floats, Floats]]
) -> Sequence[_Cells]:
    """Gather the costs of each column: `costs` gives, for each leaf at a level, that of a cell and what is more."""
    results = []
    for domain, margin in zip(frequencies.domains, frequencies.margins(), strict=True):
        levels = [costs(domain, level, margin) for level in range(domain.height + 1)]
        all_rows = np.array([(cost * margin).sum() for cost, _ in levels])
        results.append(_Cells(all_rows, np.array([more for _, more in levels])))
    return results


def _kl(frequencies: Frequencies) -> Objective:
    """Return the Kullback-Leibler divergence in nats of what is kept from the original, summed over the columns.

    With a column's labels as coarse as they are, it is the divergence of their masses, 0 without suppression, and that
    within them, which rises with each level (log-sum inequality): so that without suppression bounds all above.
    """
    margins, domains = frequencies.margins(), frequencies.domains

    def column(place: int, level: int, suppressed: Floats) -> float:
        nodes, margin = domains[place].nodes[level], margins[place]
        remaining = np.bincount(nodes, weights=margin, minlength=len(nodes)) - suppressed
        if not remaining.sum():
            return math.inf
        spread = (remaining / np.maximum(np.bincount(nodes, minlength=len(nodes)), 1))[nodes] / remaining.sum()
        share = margin / margin.sum()
        if (spread == 0).any():
            return math.inf
        return float((share * np.log(share / spread)).sum())

    def value(node: NodeClasses) -> float:
        rows = node.sizes[node.broken].astype(np.float64)
        total = 0.0
        for place, level in enumerate(node.levels):
            suppressed = np.bincount(node.leaves[:, place], rows, len(domains[place].values))
            total += column(place, int(level), suppressed.astype(np.float64))
        return total

    nothing = [np.zeros(len(domain.values)) for domain in domains]
    bounds = [
        np.array([column(place, level, nothing[place]) for level in range(domain.height + 1)])
        for place, domain in enumerate(domains)
    ]
    return Objective(value, bounds=bounds)


_EXACT: Final = 3_000_000_000
"""Up to so many rows an int64 holds the square of a class."""
_MAKE: Final[Mapping[By, Make]] = {
    By.LOSS: _loss,
    By.PRECISION: _precision,
    By.STEPS: _steps,
    By.DISCERNIBILITY: _discernibility,
    By.ENTROPY: _entropy,
    By.KL: _kl,
}
