"""The best full-domain generalisation by a measure, and the proof that no other is better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from remedies._contract import Progress
from remedies.generalisation._kernels import ENDED
from remedies.generalisation._objectives import Objective, objective
from remedies.generalisation._walks import SearchProgress
from remedies.generalisation.by import By
from remedies.generalisation.criteria import Criterion
from remedies.generalisation.frequencies import Frequencies, read_counts
from remedies.generalisation.incognito_search import LatticeWalk, sensitive_of
from remedies.generalisation.limits_of_classes import NodeClasses

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The best node that was found. `levels`: of each of `columns`; None where no node holds.

    `value`: of the measure `by`, lower is better. `suppressed`: rows that are suppressed. `proved`: no node that holds
    has a lower value, or the same with fewer steps; False only where the budget ended the search. `searched`: nodes
    whose frequency sets were made.
    """

    columns: tuple[str, ...]
    levels: tuple[int, ...] | None
    by: By
    value: float | None
    suppressed: int | None
    proved: bool
    lattice: int
    searched: int
    seconds: float


def optimal(
    counts: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    suppression_limit: float = 0,
    *,
    by: By | str = By.LOSS,
    criteria: Sequence[Criterion] = (),
    count: str = "count",
    budget: float | None = None,
    progress: Progress | None = None,
) -> Optimum:
    """Find the best full-domain generalisation that is k-anonymous, by a measure of what is lost.

    Branch and bound over the lattice: parts of the columns rule out what cannot hold, as in `incognito`; a descent from
    the top gives a first good node; then every node is looked at whose bound is below the best so far. The bounds never
    fall when levels rise, so the result is proved, not sampled; of several equally good nodes it is one with the fewest
    steps, the same every time. Which node is best depends on the data, and who knows that it was chosen so learns from
    it (minimality attack, Wong et al. 2007): levels fixed beforehand say nothing.

    Args:
        counts: a row for each combination of the quasi-identifiers (and sensitive columns), with its `count`.
        hierarchies: of each quasi-identifier.
        k: rows of the smallest class, at least 2.
        suppression_limit: share of the rows that may be suppressed, from 0 to below 1.
        by: `loss`, `precision`, `steps`, `discernibility`, `class-size`, `entropy` or `kl`.
        criteria: further limits, on sensitive columns.
        count: the column that says how many rows have the combination.
        budget: seconds after which to end with the best so far.
        progress: called with the share of the lattice that was walked.

    Raises:
        Misfit: the table does not fit the hierarchies, has fewer than k rows, or the lattice is too large.
        ValueError: k, the limit or the measure is out of range.
    """
    frequencies = read_counts(counts, hierarchies, sensitive=sensitive_of(criteria), count=count)
    return optimum(frequencies, k, suppression_limit, by=By(by), criteria=criteria, budget=budget, progress=progress)


def optimum(
    frequencies: Frequencies,
    k: int,
    suppression_limit: float = 0,
    *,
    by: By = By.LOSS,
    criteria: Sequence[Criterion] = (),
    budget: float | None = None,
    progress: Progress | None = None,
) -> Optimum:
    """Run `optimal` on a frequency table that was already read."""
    course = SearchProgress(budget, progress)
    search = LatticeWalk.of(frequencies, k, suppression_limit, criteria, course)
    goal = objective(frequencies, by, only_small_broken=not (search.judge.asks and search.most))
    best = _descend(search, goal)
    bounds = goal.lattice_bounds(search.order)
    walker = search.walker(np.zeros(search.candidates.size) if bounds is None else bounds)
    ended = False
    course.begin(1)
    while not ended and not course.is_over:
        if best is not None:
            walker.must_beat(best.value, best.steps)
        node = walker.go_on(stop=True, every=True, measure=goal.measure)
        ended = node == ENDED
        if node >= 0:
            best = _better(best, search, goal, search.look(walker, node))
        course.tell(walker.share)
    return Optimum(
        columns=frequencies.columns,
        levels=None if best is None else tuple(best.node.levels.tolist()),
        by=by,
        value=None if best is None else best.value,
        suppressed=None if best is None else best.node.suppressed,
        proved=ended,
        lattice=walker.lattice.size,
        searched=walker.searched,
        seconds=course.seconds,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    node: NodeClasses
    value: float

    @property
    def steps(self) -> int:
        """Count the levels gone up."""
        return int(self.node.levels.sum())


def _better(best: _Best | None, search: LatticeWalk, goal: Objective, node: NodeClasses) -> _Best | None:
    """Return the better of the best so far and a node that was looked at."""
    if node.suppressed > search.most:
        return best
    current_best = _Best(node, goal.value(node))
    return current_best if best is None or (current_best.value, current_best.steps) < (best.value, best.steps) else best


def _descend(search: LatticeWalk, goal: Objective) -> _Best | None:
    """Descend from the top, each time to the best node one step below, until none is better."""
    at = np.array(search.candidates.shape, dtype=np.int64) - 1
    best = _look(search, goal, at, None) if search.candidates[tuple(at)] else None
    better = best
    while better is not None:
        best, better, above = better, None, at
        for lower in _one_below(above, search.candidates):
            result = _look(search, goal, lower, better or best)
            if result is not better and result is not best:
                better, at = result, lower
    return best


def _look(search: LatticeWalk, goal: Objective, levels: Whole, best: _Best | None) -> _Best | None:
    classes = search.ground.set_of(range(len(levels)), levels)
    return _better(best, search, goal, search.look_at(levels, classes))


def _one_below(levels: Whole, candidates: npt.NDArray[np.bool_]) -> Iterator[Whole]:
    for column in np.flatnonzero(levels):
        lower = levels.copy()
        lower[column] -= 1
        if candidates[tuple(lower)]:
            yield lower
