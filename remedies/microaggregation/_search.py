"""The search's state between sweeps: groups that every sweep cuts into other blocks and improves."""

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from remedies.microaggregation._blocks import kd_cells, project
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
        self._dice = np.random.default_rng(seed)
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
