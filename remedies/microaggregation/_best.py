"""The default method: the best of some initial groupings, improved in sweeps until time or sweeps are used up."""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from remedies.microaggregation._blocks import kd_cells, on_axes, project
from remedies.microaggregation._input import canonical
from remedies.microaggregation._kernels import npn_order
from remedies.microaggregation._loss import Attempt, loss_of
from remedies.microaggregation._mdav import exact_mdav, exact_vmdav
from remedies.microaggregation._mhm import mhm_labels
from remedies.microaggregation._starts import cut_untangled_path, start_large
from remedies.microaggregation.sweep import Blocks, Groups, centroids, number_groups, sweep_blocks

_FEW, _MANY = 400, 800  # groups in a block, of many records each or of few
_DIRECTIONS = 8  # that the centroids are projected on
_TASKS = 8  # a thread


class GroupSearch:
    """Groups of k to 2k-1 records, improved sweep by sweep.

    The same labels, seed and number of sweeps give the same groups, whatever the number of threads: blocks share no
    group, and each writes to its own places.
    """

    def __init__(
        self,
        Z: npt.NDArray[np.float32],
        labels: npt.NDArray[np.int64],
        k: int,
        *,
        seed: int,
        threads: int,
        many: int = 8,
    ) -> None:
        self.many = many
        sizes = np.bincount(labels)
        self._k, self._threads = k, threads
        self._record = np.argsort(labels, kind="stable").astype(np.int32)
        self._Z = Z[self._record]  # groups of a start are neighbours of each other: so are their records in memory now
        self._dice = np.random.default_rng(seed)  # randomness: function
        self._width = np.sqrt(np.einsum("ij,ij->j", self._Z, self._Z) / len(Z))[:, None]
        self._unit = _unit(self._width)
        self._Z /= self._unit
        self._groups = Groups(
            np.arange(len(Z), dtype=np.int32),
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            np.full((len(sizes), 2 * self.many), -1, np.int32),
        )

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """The groups as labels, in no particular numbering."""
        out = np.empty(len(self._Z), np.int64)
        out[self.path] = np.repeat(np.arange(len(self._groups.start) - 1), np.diff(self._groups.start))
        return out

    @property
    def path(self) -> npt.NDArray[np.int64]:
        """The records group by group, in the order of the blocks."""
        return self._record[self._groups.order].astype(np.int64)

    def sweep(self, *, rebuild: bool, heat: float = 0.0) -> float:
        """Improve all groups once, each among its neighbours; return by how much the sum of squares fell.

        `heat`: of what is rebuilt, see `rebuild_all`; with one, the sum of squares may rise.
        """
        blocks = self._cut()
        seed = int(self._dice.integers(2**40)) if rebuild else -1
        count = len(blocks.start) - 1
        tasks = min(count, 1 if self._threads == 1 else _TASKS * self._threads)
        edges = [count * at // tasks for at in range(tasks + 1)]
        spans = list(pairwise(edges))

        def work(span: tuple[int, int]) -> float:
            return sweep_blocks(self._Z, self._groups, blocks, self._k, *span, seed, heat)

        if tasks == 1:
            gains = [work(spans[0])]
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                gains = list(pool.map(work, spans))
        self._groups = number_groups(blocks, self._groups)
        return float(sum(gains) * self._unit**2)

    def _cut(self) -> Blocks:
        """Cut the groups into blocks of neighbours: k-d cells of their centroids on random directions.

        The directions lean to where the records spread widest: there fewer neighbours lie on both sides of a cut.
        """
        middle = centroids(self._Z, self._groups)
        directions = self._dice.normal(size=(middle.shape[1], _DIRECTIONS)) * self._width
        group, start = kd_cells(project(middle, directions.astype(np.float32)), _MANY if self._k <= 20 else _FEW)
        sizes = np.diff(self._groups.start)[group]
        record = np.concatenate(([0], np.cumsum(sizes)))[start]
        slot = np.concatenate(([0], np.cumsum(np.diff(record) // self._k)))
        slots = int(slot[-1])
        return Blocks(
            group,
            start,
            record,
            slot,
            np.empty(len(self._Z), np.int32),
            np.zeros(slots, np.int32),
            np.full(slots, -1, np.int32),
            np.full((slots, self.many), -1, np.int32),
        )


def _unit(width: npt.NDArray[np.float32]) -> np.float32:
    """Return by what to divide, so that coordinates are of about 1: a power of two, which rounds nothing.

    Z-scores: 1.
    """
    wide = width[width > 0]
    typical = math.sqrt(float(np.mean(wide.astype(np.float64) ** 2))) if len(wide) else 1.0
    return np.float32(2.0 ** round(math.log2(typical)))


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
    """Limits of the search. `sweeps`: after exactly so many. `late`: says after each sweep whether time is over."""

    sweeps: int | None
    late: Callable[[], bool] | None
    progress: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of the search."""

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
