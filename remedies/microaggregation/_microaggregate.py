"""Microaggregation by name of method."""

import os
from collections.abc import Callable
from time import monotonic
from typing import Literal, SupportsIndex, get_args

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit
from remedies.microaggregation._best import SearchLimits, SearchResult, best
from remedies.microaggregation._fdh import fdh_path
from remedies.microaggregation._input import canonical, group_size, whole
from remedies.microaggregation._loss import Attempt, Microaggregation, loss_of, lower_bound
from remedies.microaggregation._mdav import mdav, vmdav
from remedies.microaggregation._mhm import mhm
from remedies.microaggregation._npn import npn_path
from remedies.microaggregation.standardisation import z_scores

Method = Literal["best", "npn", "fdh", "mdav", "vmdav"]


def microaggregate(
    X: npt.ArrayLike,
    k: SupportsIndex,
    method: Method | str = "best",
    *,
    seed: int = 1,
    budget: float | None = None,
    sweeps: SupportsIndex | None = None,
    anchors: SupportsIndex | npt.ArrayLike = 3,
    divisor: float = 3,
    gamma: float = 0.2,
    threads: SupportsIndex | None = None,
    bound: bool = True,
    progress: Callable[[float], None] | None = None,
    clock: Callable[[], float] = monotonic,
) -> Microaggregation:
    """Group records into groups of k to 2k-1 so that little is lost when each is replaced by its group's centroid.

    `best` takes the best of some quick groupings and improves it by moves, swaps and chains of moves between
    neighbouring groups, groups dissolved and created, and, on up to 5,000 records or when time is left, by taking
    neighbouring groups apart and grouping their records again. It is not exact: how far it may be from the optimum
    is what `lower_bound` says. Its work is counted in sweeps over all groups: the same table, k, seed and
    number of sweeps give the same labels on the same kind of machine, for any number of threads.

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit; standardised here.
        k: smallest group, 2 <= k <= n.
        method: `best`; or, as published, `npn` and `fdh` (a path cut by MHM), `mdav`, `vmdav`.
        seed: of `best` and of the anchors of `fdh`; >= 0.
        budget: seconds in which `best` makes as many whole sweeps as fit; without one it ends when they gain little.
        sweeps: how many sweeps `best` makes, whatever the budget: `sweeps` of an earlier result gives its labels again.
        anchors: of `fdh`.
        divisor: of `fdh`.
        gamma: of `vmdav`.
        threads: that `best` may use; as many as there are processors, if not given.
        bound: whether `lower_bound` is wanted; it takes time that grows with the square of the records.
        progress: is called with the share of the work that is done, 0..1.
        clock: seconds; for tests.

    Returns:
        The groups and what they cost. `lower_bound` is None above 20,000 records, or where it is not wanted.

    Raises:
        Misfit: the table is not finite and numeric, or k, the method or an option does not fit.
    """
    begun = clock()
    scores = z_scores(X)
    smallest = group_size(k, records=len(scores))
    tell = progress or (lambda _: None)
    tell(0.0)
    if method == "best":
        limits = _limits(budget, sweeps, begun, clock, tell)
        result = best(scores, smallest, seed=_seed(seed), threads=_threads(threads), limits=limits)
    else:
        labels = _published(X, smallest, method, seed=seed, anchors=anchors, divisor=divisor, gamma=gamma)
        loss = loss_of(scores, labels)
        result = SearchResult(labels, (Attempt(method, loss),), 0, loss)
    labels = canonical(result.labels)
    seconds = clock() - begun
    least = lower_bound(X, smallest) if bound else None
    tell(1.0)
    return Microaggregation(
        labels, result.loss, least, np.bincount(labels).astype(np.int64), result.tried, result.sweeps, seconds
    )


def _published(
    X: npt.ArrayLike,
    k: int,
    method: str,
    *,
    seed: int,
    anchors: SupportsIndex | npt.ArrayLike,
    divisor: float,
    gamma: float,
) -> npt.NDArray[np.int64]:
    match method:
        case "npn":
            return mhm(X, npn_path(X), k)
        case "fdh":
            return mhm(X, fdh_path(X, anchors=anchors, divisor=divisor, seed=seed), k)
        case "mdav":
            return mdav(X, k)
        case "vmdav":
            return vmdav(X, k, gamma)
    raise Misfit(f"method '{method}' is not known; expected one of {', '.join(get_args(Method))}")


def _limits(
    budget: float | None,
    sweeps: SupportsIndex | None,
    begun: float,
    clock: Callable[[], float],
    tell: Callable[[float], None],
) -> SearchLimits:
    if budget is not None and not 0 <= budget < float("inf"):
        raise Misfit("the budget is negative or not finite; expected seconds")
    exact = None if sweeps is None else whole(sweeps, name="sweeps")
    if exact is not None and exact < 0:
        raise Misfit(f"sweeps is {exact}; expected 0 or more")
    return SearchLimits(exact, None if budget is None else _lateness(begun + budget, clock), tell)


def _lateness(end: float, clock: Callable[[], float]) -> Callable[[], bool]:
    """Return what says, before each sweep, whether it would end too late if it takes as long as the one before."""
    before: float | None = None

    def late() -> bool:
        nonlocal before
        now = clock()
        last = 0.0 if before is None else now - before
        before = now
        return now + last > end

    return late


def _seed(seed: SupportsIndex) -> int:
    number = whole(seed, name="seed")
    if number < 0:
        raise Misfit(f"seed is {number}; expected 0 or more")
    return number


def _threads(threads: SupportsIndex | None) -> int:
    if threads is None:
        return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    number = whole(threads, name="threads")
    if number < 1:
        raise Misfit(f"threads is {number}; expected 1 or more")
    return number
