"""What there is to choose among: the nodes that hold, and what each of them loses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from checks import Json
from remedies._contract import Progress, StopRequest
from remedies.generalisation._kernels import ENDED, PAUSED
from remedies.generalisation._walks import OrderedTable, order_of, pack_rows
from remedies.generalisation.by import By
from remedies.generalisation.criteria import Criterion
from remedies.generalisation.frequencies import Frequencies
from remedies.generalisation.incognito_search import Generalisations, LatticeWalk
from remedies.generalisation.limits_of_classes import Judge, NodeClasses
from remedies.generalisation.recoding import RecodedColumn, column_at
from remedies.generalisation.representatives import ReleasedCells, is_numeric
from remedies.generalisation.utility import Utilities, measured

Whole = npt.NDArray[np.int64]


class NodeMeasures:
    """Measures the nodes of a lattice one after the other, as `utilities` does, by their classes.

    At a level each leaf has one label: so a column's cells follow from how many rows of each leaf are suppressed.
    """

    def __init__(self, frequencies: Frequencies, ground: OrderedTable, order: list[int], k: int) -> None:
        """Prepare it. `ground`: the table, its columns in this `order`."""
        self._frequencies, self._layout, self._order, self._k = frequencies, ground.layout, order, k
        self._margins = frequencies.margins()
        self._numeric = [domain.column for domain in frequencies.domains if is_numeric(domain)]
        self._columns: dict[tuple[int, int], RecodedColumn] = {}

    def of(self, node: NodeClasses) -> Utilities:
        """Measure a node whose classes were looked at."""
        whole = self._suppressed(node)
        every = [self._cells(place, int(level), whole) for place, level in enumerate(node.levels)]
        levels = [int(level) for level in node.levels]
        return measured(every, levels, node.sizes[~node.broken], k=self._k, numeric=self._numeric)

    def _cells(self, place: int, level: int, whole: Whole) -> ReleasedCells:
        """Return the released cells of a column. `whole`: the combinations that are suppressed."""
        frequencies, total = self._frequencies, self._margins[place]
        if (place, level) not in self._columns:
            leaves = np.arange(len(total))
            self._columns[place, level] = column_at(frequencies.domains[place], leaves, level)
        column = self._columns[place, level]
        hidden = np.bincount(frequencies.codes[whole, place], frequencies.counts[whole], len(total)).astype(np.int64)
        rows = total - hidden
        leaf = np.lexsort((column.numbers,))
        leaf = leaf[rows[leaf] > 0]
        return ReleasedCells(column, leaf, column.numbers[leaf], rows[leaf], hidden, total)

    def _suppressed(self, node: NodeClasses) -> Whole:
        """Find the combinations of the classes that are suppressed: int64."""
        if not node.broken.any():
            return np.zeros(0, dtype=np.int64)
        frequencies = self._frequencies
        labels = [
            domain.nodes[level][frequencies.codes[:, place]]
            for place, (domain, level) in enumerate(zip(frequencies.domains, node.levels, strict=True))
        ]
        keys = pack_rows([labels[place] for place in self._order], self._layout)
        broken = pack_rows([node.leaves[:, place] for place in self._order], self._layout)
        return np.flatnonzero(_among(keys, broken))


def _among(keys: npt.NDArray[np.uint64], few: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return of each row of keys (rows, words) whether it is one of a few."""
    if keys.shape[1] == 1:
        return np.isin(keys[:, 0], few[:, 0])
    entries = {row.tobytes() for row in few}
    return np.fromiter((row.tobytes() in entries for row in keys), dtype=np.bool_, count=len(keys))


_FIGURE: Final[Mapping[By, Callable[[Utilities], float]]] = {
    By.LOSS: lambda result: result.total.loss,
    By.PRECISION: lambda result: -(result.total.precision or 0),
    By.STEPS: lambda result: result.total.steps or 0,
    By.DISCERNIBILITY: lambda result: result.discernibility,
    By.CLASS_SIZE: lambda result: result.average_class_size or float("inf"),
    By.ENTROPY: lambda result: result.total.entropy_bits,
    By.KL: lambda result: result.total.kl_nats,
}
"""What a node is sorted by, less being better."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A node that holds. `is_minimal`: none that it generalises holds."""

    levels: tuple[int, ...]
    is_minimal: bool
    utilities: Utilities


@dataclass(frozen=True, slots=True)
class LevelChoices:
    """Nodes that hold, the best by a measure first.

    `holding`: how many there are; `minimal`: how many of them are minimal; `nodes`: how many the lattice has.
    `complete`: False where the budget, or the caller, ended the search, so that there may be more, and lower ones.
    """

    columns: tuple[str, ...]
    by: By
    nodes: int
    holding: int
    minimal: int
    least_height: int | None
    complete: bool
    listed: Sequence[Choice]

    def as_json(self) -> Mapping[str, Json]:
        """Return it as plain data."""
        return {
            "by": self.by.value,
            "nodes": self.nodes,
            "holding": self.holding,
            "minimal": self.minimal,
            "least_height": self.least_height,
            "complete": self.complete,
            "listed": [self._line(choice) for choice in self.listed],
        }

    def _line(self, choice: Choice) -> Mapping[str, Json]:
        levels: dict[str, Json] = dict(zip(self.columns, choice.levels, strict=True))
        return {"levels": levels, "is_minimal": choice.is_minimal, "utilities": choice.utilities.as_json()}


def choices(
    frequencies: Frequencies,
    generalisations: Generalisations,
    k: int,
    *,
    by: By,
    every: bool,
    criteria: Sequence[Criterion],
    progress: Progress | None = None,
) -> LevelChoices:
    """Measure nodes that a search found: the minimal ones, or every one.

    Args:
        frequencies: the table.
        generalisations: what holds.
        k: rows of the smallest class.
        by: what to sort by; of equally good nodes those with the fewest steps come first.
        every: measure all, at the cost of making each one's frequency set.
        criteria: what else classes have to hold; what breaks it is suppressed.
        progress: called with the share of the nodes that were measured; by `StopRequest` it ends with those.
    """
    nodes = generalisations.nodes if every else generalisations.minimal
    listed: list[Choice] = []
    try:
        for choice in _measured(frequencies, nodes, k, criteria):
            listed.append(choice)
            if progress is not None:
                progress(len(listed) / len(nodes))
    except StopRequest:
        pass
    minimal = {tuple(levels.tolist()) for levels in generalisations.minimal}
    listed = [replace(choice, is_minimal=choice.levels in minimal) for choice in listed]
    return LevelChoices(
        columns=generalisations.columns,
        by=by,
        nodes=generalisations.lattice,
        holding=len(generalisations.nodes),
        minimal=int(generalisations.is_minimal.sum()),
        least_height=generalisations.least_height,
        complete=generalisations.complete and len(listed) == len(nodes),
        listed=sorted(listed, key=lambda choice: (_FIGURE[by](choice.utilities), sum(choice.levels), choice.levels)),
    )


def _measured(frequencies: Frequencies, nodes: Whole, k: int, criteria: Sequence[Criterion]) -> Iterator[Choice]:
    """Measure nodes on a walk past them, so that the frequency set of each is made from one that is finer."""
    if not len(nodes):
        return
    order = order_of(frequencies)
    is_measured = np.zeros([frequencies.heights[place] + 1 for place in order], dtype=np.bool_)
    is_measured[tuple(nodes[:, order].T)] = True
    ground = OrderedTable.of(frequencies, order)
    judge = Judge(frequencies, k, criteria)
    search = LatticeWalk(frequencies, order, ground, is_measured, judge, k, most=frequencies.rows)  # all of them hold
    walker, measures = search.walker(), NodeMeasures(frequencies, ground, order, k)
    node = walker.go_on(stop=True, every=True)
    while node != ENDED:
        if node != PAUSED:
            classes = search.look(walker, node)
            yield Choice(tuple(classes.levels.tolist()), is_minimal=False, utilities=measures.of(classes))
        node = walker.go_on(stop=True, every=True)
