"""Incognito: all full-domain generalisations of a table that are k-anonymous."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from remedies._contract import Progress
from remedies._errors import Misfit
from remedies.generalisation._kernels import ENDED, FAILS, HOLDS, Keys
from remedies.generalisation._walks import (
    Lattice,
    OrderedTable,
    SearchProgress,
    Walker,
    find_candidates,
    minimal,
    order_of,
)
from remedies.generalisation.criteria import Criterion, check_k, rows_of
from remedies.generalisation.frequencies import Frequencies, read_counts
from remedies.generalisation.limits_of_classes import Judge, NodeClasses, leaves_of

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy

Whole = npt.NDArray[np.int64]

MOST_NODES: Final = 50_000_000
"""Larger lattices are refused: their nodes alone would take gigabytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Generalisations:
    """The nodes of a lattice that hold.

    `columns`: the quasi-identifiers, in the order of the levels. `heights`: the highest level of each. `nodes` int64
    (nodes, columns): the levels of each node that holds, sorted. `is_minimal` (nodes,): whether none that it
    generalises holds. `lattice`: how many nodes there are. `searched`: how many frequency sets of the whole were made.
    `complete`: False where the budget ended the search: what is given holds, but there may be more, and lower ones.
    """

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    nodes: Whole
    is_minimal: npt.NDArray[np.bool_]
    lattice: int
    searched: int
    complete: bool
    seconds: float

    @property
    def minimal(self) -> Whole:
        """Return the nodes that generalise none that holds: int64 (nodes, columns)."""
        return self.nodes[self.is_minimal]

    @property
    def least_height(self) -> int | None:
        """Return the fewest steps with which a node holds; None where none does."""
        return int(self.nodes.sum(axis=1).min()) if len(self.nodes) else None


def incognito(
    counts: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    suppression_limit: float = 0,
    *,
    criteria: Sequence[Criterion] = (),
    count: str = "count",
    budget: float | None = None,
    progress: Progress | None = None,
) -> Generalisations:
    """Find all full-domain generalisations that are k-anonymous, and which of them are minimal.

    LeFevre, DeWitt & Ramakrishnan 2005 (SIGMOD, "Incognito: efficient full-domain k-anonymity"): parts of the columns
    first (subset property), upwards only from what does not hold (generalisation property), each frequency set rolled
    up from a finer one, never from the table. The lattice is walked in the order of its numbers instead of breadth
    first: the same nodes are looked at, and one frequency set per column is kept at a time. Complete: a minimal node
    need not consist of minimal parts, so nothing but what cannot hold is left out.

    With a suppression limit a node holds if the rows in classes that break a limit are at most that share; they are to
    be suppressed. These rows never become more by generalising only as far as k is concerned; entropy l, recursive l
    and t are looked at on every node whose small classes are few enough.

    Cost: by the distinct combinations and the nodes, not by rows. Memory: a frequency table per column, 9 bytes a node.

    Args:
        counts: a row for each combination of the quasi-identifiers (and sensitive columns), with its `count`.
        hierarchies: of each quasi-identifier.
        k: rows of the smallest class, at least 2.
        suppression_limit: share of the rows that may be suppressed, from 0 to below 1.
        criteria: further limits, on sensitive columns.
        count: the column that says how many rows have the combination.
        budget: seconds after which to end with what was found.
        progress: called with the share of the lattice that was walked.

    Raises:
        Misfit: the table does not fit the hierarchies, has fewer than k rows, or the lattice is too large.
        ValueError: k or the limit is out of range.
    """
    frequencies = read_counts(counts, hierarchies, sensitive=sensitive_of(criteria), count=count)
    return generalisations(frequencies, k, suppression_limit, criteria=criteria, budget=budget, progress=progress)


def sensitive_of(criteria: Sequence[Criterion]) -> tuple[str, ...]:
    """Return the sensitive columns that criteria speak of, each once."""
    return tuple(dict.fromkeys(criterion.column for criterion in criteria))


def generalisations(
    frequencies: Frequencies,
    k: int,
    suppression_limit: float = 0,
    *,
    criteria: Sequence[Criterion] = (),
    budget: float | None = None,
    progress: Progress | None = None,
) -> Generalisations:
    """Run `incognito` on a frequency table that was already read."""
    course = SearchProgress(budget, progress)
    search = LatticeWalk.of(frequencies, k, suppression_limit, criteria, course)
    walker, asks = search.walker(), search.judge.asks
    holds, ended = np.zeros(walker.lattice.size, dtype=np.bool_), False
    course.begin(1)
    while not ended and not course.is_over:
        node = walker.go_on(stop=asks, every=asks and search.most > 0)
        ended = node == ENDED
        if node >= 0:
            holds[node] = search.look(walker, node).suppressed <= search.most
            if not holds[node] and not search.most:  # what is above it may hold and is to be looked at
                walker.state[node] = FAILS
        course.tell(walker.share)
    if not asks or not search.most:
        holds = walker.state == HOLDS
    return _in_column_order(search, walker, holds, complete=ended, seconds=course.seconds)


@dataclass(frozen=True, slots=True, eq=False)
class LatticeWalk:
    """The start of a walk through the whole lattice, after subsets of the columns have ruled out nodes.

    `order`: the table's columns as the walk has them. `most`: rows that may be suppressed.
    """

    frequencies: Frequencies
    order: Sequence[int]
    ground: OrderedTable
    candidates: npt.NDArray[np.bool_]
    judge: Judge
    k: int
    most: int

    @classmethod
    def of(
        cls,
        frequencies: Frequencies,
        k: int,
        suppression_limit: float,
        criteria: Sequence[Criterion],
        course: SearchProgress,
    ) -> LatticeWalk:
        """Prepare it.

        Raises:
            Misfit: as `incognito`.
            ValueError: as `incognito`.
        """
        most = _check_question(frequencies, k, suppression_limit)
        order, judge = order_of(frequencies), Judge(frequencies, k, criteria)
        ground, candidates = find_candidates(OrderedTable.of(frequencies, order), k=k, most=most, course=course)
        return cls(frequencies, order, ground, candidates, judge, k, most)

    def walker(self, bounds: npt.NDArray[np.float64] | None = None) -> Walker:
        """Start a walk."""
        columns = range(len(self.order))
        return Walker(self.ground, columns, self.candidates, k=self.k, most=self.most, bounds=bounds)

    def levels(self, walked: Whole) -> Whole:
        """Return levels in the order of the table's columns."""
        result = np.empty_like(walked)
        result[..., self.order] = walked
        return result

    def look(self, walker: Walker, node: int) -> NodeClasses:
        """Return the classes of the node at which a walk has stopped."""
        return self.look_at(walker.lattice.levels(np.array([node]))[0], walker.frequency_set)

    def look_at(self, walked: Whole, classes: Keys) -> NodeClasses:
        """Return the classes of a node by its levels, in the order of the walk, and its frequency set."""
        leaves = self.levels(leaves_of(self.ground.layout, classes))
        return self.judge.look(self.levels(walked), leaves, classes[:, -1].astype(np.int64))


def _check_question(frequencies: Frequencies, k: int, suppression_limit: float) -> int:
    """Check that there can be an answer, and return how many rows may be suppressed.

    Raises:
        Misfit: fewer than k rows, or too large a lattice.
        ValueError: k or the limit is out of range.
    """
    most = rows_of(suppression_limit, frequencies.rows)
    check_k(frequencies, k)
    nodes = Lattice(tuple(height + 1 for height in frequencies.heights)).size
    if nodes > MOST_NODES:
        raise Misfit(
            f"{nodes:,} nodes are too many for a complete search, which takes up to {MOST_NODES:,}; use fewer levels "
            "or columns, or mondrian or datafly"
        )
    return most


def _in_column_order(
    search: LatticeWalk, walker: Walker, holds: npt.NDArray[np.bool_], *, complete: bool, seconds: float
) -> Generalisations:
    """Return the nodes in the order of the table's columns."""
    grid = np.ascontiguousarray(holds.reshape(walker.lattice.shape).transpose(np.argsort(search.order)))
    nodes = np.flatnonzero(grid)
    return Generalisations(
        columns=search.frequencies.columns,
        heights=search.frequencies.heights,
        nodes=Lattice(grid.shape).levels(nodes),
        is_minimal=minimal(grid).ravel()[nodes],
        lattice=walker.lattice.size,
        searched=walker.searched,
        complete=complete,
        seconds=seconds,
    )
