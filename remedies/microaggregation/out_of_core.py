"""Microaggregation of numbers that do not fit in memory: block by block, with the blocks lying in files.

The same stages as on Spark: blocks are grouped one by one, and whole groups travel to other blocks. Rows are kept in
files of their cells, as plain float64: the row's number, its group, its values.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit
from remedies.microaggregation._input import canonical, group_size
from remedies.microaggregation._stages import LEAST, Scheme, again, depth_of, first, joined, replaced, travel
from remedies.microaggregation.numbers import Floats, decimals

Whole = npt.NDArray[np.int64]

_SAMPLE: Final = 32_768
_HEAD: Final = 2  # columns before the values: the row's number, its group


@dataclass(slots=True)
class GroupingResult:
    """The result of grouping. By column, (d,): `lost` and `total` sums of squares, cells `changed`."""

    lost: Floats
    total: Floats
    changed: Whole
    rows: int = 0
    groups: int = 0
    smallest: int = 0
    largest: int = 0
    rows_changed: int = 0

    def add(self, before: Floats, after: Floats, labels: Whole) -> None:
        """Count a block."""
        sizes = np.bincount(labels)
        self.smallest = min(self.smallest, int(sizes.min())) if self.groups else int(sizes.min())
        self.groups += len(sizes)
        self.largest = max(self.largest, int(sizes.max()))
        other = before != after
        self.lost = self.lost + ((before - after) ** 2).sum(axis=0)
        self.changed = self.changed + other.sum(axis=0)
        self.rows_changed += int(other.any(axis=1).sum())


class OutOfCore:
    """Groups rows that are read once, in blocks of `most` rows at most, and gives them back in their order.

    Args:
        folder: an empty folder, which takes 16 (d + 2) bytes a row for d columns at most.
        kinds: the columns' types, as numpy names them.
        k: smallest group.
        most: rows of a block; at least twice those that a cell has at least: see `fewest`.
        seed: the same rows, types, k, most, seed and sweeps give the same output on the same kind of machine.
        sweeps: how often all groups travel and are improved.
    """

    def __init__(
        self, folder: Path, kinds: Sequence[npt.DTypeLike], k: int, *, most: int, seed: int = 1, sweeps: int = 3
    ) -> None:
        wide = len(kinds)
        self.found = GroupingResult(np.zeros(wide), np.zeros(wide), np.zeros(wide, dtype=np.int64))
        self._folder, self._kinds, self._k, self._most = folder, tuple(kinds), k, most
        self._seed, self._sweeps = seed, sweeps
        self._group = 0
        self._decimals: Sequence[int | None] = [None] * wide

    def group(self, blocks: Iterable[Floats], *, progress: Callable[[float], None] = lambda _: None) -> None:
        """Read the rows, (m, d) at a time, and group them.

        Raises:
            Misfit: there are fewer than k rows, or a column's numbers are too large to be squared.
        """
        table = self._spool("table")
        moments = _Moments(self._kinds, np.random.default_rng(self._seed))  # randomness: function
        for block in blocks:
            number = np.arange(moments.rows, moments.rows + len(block))
            moments.add(block)
            table.add(0, np.column_stack([number, np.zeros(len(block)), block]))
        self.found.rows = moments.rows
        group_size(self._k, records=moments.rows)
        self.found.total = moments.squares
        self._decimals = moments.decimals
        depth = depth_of(moments.rows, max(fewest(self._k) // 2, self._most // 2))
        scheme = moments.scheme(depth, self._sweeps, self._seed)
        spool = self._spool("0")
        for rows in table.take([0], self._most):
            spool.add_all(scheme.trees[0].of(scheme.points(rows[:, _HEAD:])), rows)
        for stage in range(self._sweeps + 1):
            following = self._spool(str(stage + 1))
            for done, rows in enumerate(self._blocks(spool, stage, 2**depth)):
                self._work(scheme, stage, rows, following)
                progress(min(1.0, (stage + min(1.0, done / 2**depth)) / (self._sweeps + 1)))
            spool = following

    def rows(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield the rows in their order, some at a time: what was read, and what is given out, (m, d) each."""
        out, wide = self._spool(str(self._sweeps + 1)), len(self._kinds)
        for piece in sorted(out.counts()):
            for rows in out.take([piece], self._most):
                ordered = rows[np.argsort(rows[:, 0])]
                yield ordered[:, _HEAD : _HEAD + wide], ordered[:, _HEAD + wide :]

    @property
    def handful(self) -> int:
        """Return how many rows may be held before and after, and in several forms."""
        return max(1, self._most // 2)

    def _work(self, scheme: Scheme, stage: int, rows: Floats, spool: "_Spool") -> None:
        values = rows[:, _HEAD:]
        points = scheme.points(values)
        if stage == 0:
            labels = first(points, self._k, self._seed)
        else:
            labels = again(points, canonical(rows[:, 1].astype(np.int64)), self._k, self._seed + stage)
        if stage == self._sweeps:
            after = replaced(values, labels, self._kinds, self._decimals)
            self.found.add(values, after, labels)
            spool.add_all(rows[:, 0].astype(np.int64) // self.handful, np.column_stack([rows, after]))
            return
        rows[:, 1] = labels + self._group
        self._group += int(labels.max()) + 1
        order = np.argsort(labels, kind="stable")  # a group's rows stay together
        spool.add_all(travel(points, labels, scheme.trees[stage + 1])[order], rows[order])

    def _blocks(self, spool: "_Spool", stage: int, cells: int) -> Iterator[Floats]:
        """Yield the rows cell by cell: small cells of the first stage together, large ones in parts."""
        counts = spool.counts()
        least = min(self.found.rows, fewest(self._k) // 2) if stage == 0 else 1
        home = joined(counts, cells, least)
        for cell in np.unique(home[list(counts)]):
            names = [name for name in np.flatnonzero(home == cell).tolist() if name in counts]
            many = sum(counts[name] for name in names)
            parts = -(-many // self._most)
            if stage == 0:
                yield from spool.take(names, -(-many // parts), exact=parts)
            else:
                yield from _whole_groups(spool.take(names, self._most - 2 * self._k))

    def _spool(self, name: str) -> "_Spool":
        wide = _HEAD + len(self._kinds) * (2 if name == str(self._sweeps + 1) else 1)
        return _Spool(self._folder / name, wide)


def fewest(k: int) -> int:
    """Return how many rows a block has to be able to hold."""
    return 2 * max(2 * k, LEAST)


def _whole_groups(pieces: Iterable[Floats]) -> Iterator[Floats]:
    """Cut a stream of rows, group after group, so that no group is cut."""
    rest: Floats | None = None
    for piece in pieces:
        rows = piece if rest is None else np.concatenate([rest, piece])
        start = int(np.flatnonzero(rows[:, 1] != rows[-1, 1]).max(initial=-1)) + 1
        if start:
            yield rows[:start]
        rest = rows[start:]
    if rest is not None:
        yield rest


class _Spool:
    """Rows in files, one for each cell."""

    def __init__(self, folder: Path, wide: int) -> None:
        folder.mkdir(exist_ok=True)
        self._folder, self._wide = folder, wide

    def add_all(self, cells: Whole, rows: Floats) -> None:
        """Add each row to its cell; rows of a cell keep their order."""
        order = np.argsort(cells, kind="stable")
        edges = np.flatnonzero(np.diff(cells[order])) + 1
        for part in np.split(order, edges):
            self.add(int(cells[part[0]]), rows[part])

    def add(self, cell: int, rows: Floats) -> None:
        """Add rows to a cell."""
        with (self._folder / str(cell)).open("ab") as file:
            rows.tofile(file)

    def counts(self) -> dict[int, int]:
        """Count the rows of each cell."""
        return {int(path.name): path.stat().st_size // (8 * self._wide) for path in self._folder.iterdir()}

    def take(self, cells: Sequence[int], most: int, *, exact: int | None = None) -> Iterator[Floats]:
        """Yield the rows of cells, one cell after the other, so many at a time, and forget them.

        With `exact`, in so many pieces, none of them smaller than another by more than one row.
        """
        total = sum((self._folder / str(cell)).stat().st_size // (8 * self._wide) for cell in cells)
        pieces = exact or -(-total // most)
        edges = [total * number // pieces for number in range(pieces + 1)]
        got: list[Floats] = []
        sizes = iter([high - low for low, high in pairwise(edges)])
        pending = next(sizes, 0)
        for cell in cells:
            path = self._folder / str(cell)
            with path.open("rb") as file:
                while pending:
                    rows = np.fromfile(file, np.float64, pending * self._wide).reshape(-1, self._wide)
                    if not len(rows):
                        break
                    got.append(rows)
                    pending -= len(rows)
                    if not pending:
                        whole = got.pop() if len(got) == 1 else np.concatenate(got)
                        got, pending = [], next(sizes, 0)
                        yield whole
            path.unlink()


class _Moments:
    """Count, mean, squares and decimals of columns, and a sample, of rows that pass by once."""

    def __init__(self, kinds: Sequence[npt.DTypeLike], rng: np.random.Generator) -> None:
        columns = len(kinds)
        self.rows = 0
        self.decimals: list[int | None] = [0] * columns
        self._kinds = kinds
        self.mean = np.zeros(columns)
        self.squares = np.zeros(columns)
        self._low, self._high = np.full(columns, np.inf), np.full(columns, -np.inf)
        self._dice = rng
        self._keys, self._sample = np.zeros(0), np.zeros((0, columns))

    def add(self, block: Floats) -> None:
        """Add rows (m, d). Source: Chan, Golub, LeVeque (1983), equation 2.1."""
        if not len(block):
            return
        for column, (kind, places) in enumerate(zip(self._kinds, self.decimals, strict=True)):
            if np.dtype(kind).kind == "f" and places is not None:
                self.decimals[column] = decimals(block[:, column].astype(kind), least=places)
        rows, mean = self.rows + len(block), block.mean(axis=0)
        apart = mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):  # reported when all is read
            self.squares += ((block - mean) ** 2).sum(axis=0) + apart**2 * (self.rows * len(block) / rows)
        self.mean += apart * (len(block) / rows)
        self._low, self._high = np.minimum(self._low, block.min(axis=0)), np.maximum(self._high, block.max(axis=0))
        self.rows = rows
        keys = np.concatenate([self._keys, self._dice.random(len(block))])
        smallest = np.sort(np.argsort(keys, kind="stable")[:_SAMPLE])
        own = smallest[smallest < len(self._keys)], smallest[smallest >= len(self._keys)] - len(self._keys)
        self._sample = np.concatenate([self._sample[own[0]], block[own[1]]])
        self._keys = keys[smallest]

    def scheme(self, depth: int, sweeps: int, seed: int) -> Scheme:
        """Make the scheme.

        Raises:
            Misfit: squares of a column are no float.
        """
        deviation = np.where(self._low < self._high, np.sqrt(self.squares / self.rows), 0.0)
        if not np.isfinite(deviation).all() or (deviation[self._low < self._high] == 0).any():
            raise Misfit("a column holds numbers whose squares are no float; scale it first")
        return Scheme.fit(self._sample, self.mean, deviation, depth=depth, sweeps=sweeps, seed=seed)
