"""The default: the best of some quick groupings, improved until time or gains are used up."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from remedies.microaggregation._axes import on_axes
from remedies.microaggregation._input import canonical
from remedies.microaggregation._kernels import npn_order
from remedies.microaggregation._loss import loss_of
from remedies.microaggregation._mdav import exact_mdav
from remedies.microaggregation._mhm import mhm_labels
from remedies.microaggregation._search import GroupSearch
from remedies.microaggregation._starts import cut_untangled_path, start_large
from remedies.microaggregation._vmdav import exact_vmdav
from remedies.microaggregation.result import Attempt

Labels = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]

SMALL: Final = 5_000  # records, up to which several starts are tried and groups are rebuilt from the first sweep on
_POLISH: Final = 30  # plain sweeps at most that a small table's starts get
_STALLED: Final = 2e-3  # of the sum of squares in groups: a sweep that gains less ends the plain ones of a large table
_PLENTY: Final = 1e-2  # the same, for groups of 3 to 9, where no budget is given: the next gains are small and dear
_MOST: Final = 400  # sweeps of a large table where no budget is given
_COLD: Final = 60  # sweeps of a small table that only gain, before each time that it is heated
_HOT: Final = 360  # sweeps in which up to `_SMALLEST` records cool down; fewer for more records, and never below:
_HOT_LEAST: Final = 80
_SMALLEST: Final = 1_100
_HEAT: Final = 0.12  # in the first of them; in the last it has fallen to a fiftieth
_COOLED: Final = 0.02
_GAMMAS: Final = (0.2, 0.8)


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """When to stop. `sweeps`: after exactly so many. `late`: says after each sweep whether time is over."""

    sweeps: int | None
    late: Callable[[], bool] | None
    progress: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What the search found."""

    labels: Labels
    tried: tuple[Attempt, ...]
    sweeps: int
    loss: float  # per cent


def best(scores: Scores, k: int, *, seed: int, threads: int, limits: SearchLimits) -> SearchResult:
    """Search; `scores` (n, d) z-scores with k <= n, contiguous."""
    if len(scores) < 2 * k or not scores.any():
        return _trivial(scores, k)
    points = on_axes(scores, filled=True)
    small = len(scores) <= SMALL
    starts = _small_starts(scores, points, k) if small else [start_large(scores, points, k)]
    tried: list[Attempt] = []
    searches: list[tuple[float, int, GroupSearch]] = []
    for name, labels in starts:
        search = GroupSearch(points, labels, k, seed=seed, threads=threads, many=_neighbours(k, small=small))
        if small:
            _polish(search)
        tried.append(Attempt(name, loss_of(scores, canonical(labels))))
        now = loss_of(scores, canonical(search.labels)) if small else 0.0
        searches.append((now, len(searches), search))
    search = min(searches)[2]
    total = float(np.einsum("ij,ij->", scores, scores))
    within = total * tried[0].information_loss / 100
    if small:
        sweeps, labels, path = _anneal(search, scores, limits)
        outcomes = [("search", labels), ("search, then mhm", mhm_labels(scores, path, k))]
    else:
        sweeps = _sweeps(search, k, within=within, limits=limits)
        outcomes = [("search, then mhm", mhm_labels(scores, search.path, k))]
    results = [(name, canonical(labels)) for name, labels in outcomes]
    tried += [Attempt(name, loss_of(scores, labels)) for name, labels in results]
    losses = [attempt.information_loss for attempt in tried[-len(results) :]]
    return SearchResult(results[losses.index(min(losses))][1], tuple(tried), sweeps, min(losses))


def _trivial(scores: Scores, k: int) -> SearchResult:
    """Group what has one grouping only, or loses nothing however it is grouped."""
    n = len(scores)
    labels = np.arange(n, dtype=np.int64) * (n // k) // n
    loss = loss_of(scores, labels)
    return SearchResult(labels, (Attempt("any", loss),), 0, loss)


def _small_starts(scores: Scores, points: npt.NDArray[np.float32], k: int) -> Iterator[tuple[str, Labels]]:
    path = npn_order(points)
    yield "mdav", exact_mdav(scores, k)
    yield "npn, then mhm", mhm_labels(scores, path, k)
    yield "npn, 2-opt, then mhm", cut_untangled_path(scores, points, k, path)
    for gamma in _GAMMAS:
        yield f"vmdav, gamma {gamma}", exact_vmdav(scores, k, gamma)


def _neighbours(k: int, *, small: bool) -> int:
    """Return with how many others a group is compared: with pairs the nearest centroid says least."""
    if k == 2:
        return 12
    return 8 if small or k > 20 else 6


def _polish(search: GroupSearch) -> None:
    for _ in range(_POLISH):
        if search.sweep(rebuild=False) == 0.0:
            break


def _anneal(search: GroupSearch, scores: Scores, limits: SearchLimits) -> tuple[int, Labels, npt.NDArray[np.int64]]:
    """Sweep a small table until a limit is reached; return the sweeps, and labels and path of the best groups seen.

    Sweeps that only gain end where no group can be improved by its neighbours. Rebuilding groups that may be worse for
    a while, and less so from sweep to sweep, leads out of there (simulated annealing). When is fixed by the number of
    the sweep and of the records, so that as many sweeps repeat a result, whatever ended it.
    """
    hot = max(_HOT_LEAST, min(_HOT, _HOT * _SMALLEST // len(scores)))
    done, best_loss, labels, path = 0, np.inf, search.labels, search.path
    while limits.sweeps is None or done < limits.sweeps:
        if limits.sweeps is None and (limits.late() if limits.late is not None else done >= _COLD + hot):
            break
        place = done % (_COLD + hot) - _COLD
        search.sweep(rebuild=True, heat=_HEAT * _COOLED ** (place / hot) if place >= 0 else 0.0)
        done += 1
        loss = loss_of(scores, canonical(search.labels))
        if loss < best_loss:
            best_loss, labels, path = loss, search.labels, search.path
        limits.progress(_share(done, limits.sweeps))
    return done, labels, path


def _sweeps(search: GroupSearch, k: int, *, within: float, limits: SearchLimits) -> int:
    """Sweep a large table until a limit is reached; return the sweeps. `within`: sum of squares before, about."""
    done, rebuild = 0, False
    while limits.sweeps is None or done < limits.sweeps:
        if limits.sweeps is None and limits.late is not None and limits.late():
            break
        gain = search.sweep(rebuild=rebuild)
        done += 1
        limits.progress(_share(done, limits.sweeps))
        within -= gain
        stalled = gain < _STALLED * within
        dear = stalled or (2 < k < 10 and gain < _PLENTY * within)
        if limits.sweeps is None and limits.late is None and (dear or done >= _MOST):
            break
        rebuild = rebuild or stalled
    return done


def _share(done: int, sweeps: int | None) -> float:
    return done / sweeps if sweeps else done / (done + 10.0)
