"""Initial groups of a search: a path of the shortest links between neighbours, cut by MHM, and MDAV of blocks.

The path is made in rounds: each record with fewer than two links looks for its nearest others (in random k-d blocks,
some of them after each other), and links are made from the shortest on, as long as both ends are free and no circle
closes. What is left are ends of pieces, fewer each round. Unlike the walk to the nearest unvisited record it leaves no
stragglers.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from remedies._compiled import reordered, reordered_inner
from remedies.microaggregation._block_state import distance
from remedies.microaggregation._blocks import kd_cells, project
from remedies.microaggregation._kernels import mdav_labels
from remedies.microaggregation._mhm import mhm_labels
from remedies.microaggregation._nearest import list_nearest

Rows = npt.NDArray[np.float32]
Records = npt.NDArray[np.int64]

_LISTED: Final = 3  # nearest others that a record knows: longer links had better wait for the next round
_SOUGHT: Final = 4  # that it looks for in a block, by the widest axes
_BLOCK: Final = 500  # records
_DIRECTIONS: Final = 8
_SHARE: Final = 0.95  # of the variance, that the axes by which others are looked for hold
_FEW: Final = 200  # ends of pieces, which are then joined as they come
_ROUNDS: Final = 12


def linked_path(Z: Rows, *, passes: int) -> Records:
    """Return the path (n,) through records Z (n, columns), widest axes first, columns a multiple of 4.

    `passes`: in how many blocks a record looks for others in the first round; the more, the shorter the path.
    O(n log n).
    """
    place = kd_cells(np.ascontiguousarray(Z[:, :_DIRECTIONS]), _BLOCK)[0].astype(np.int64)
    Z = Z[place]  # neighbours are neighbours in memory, and pieces come in the order of places
    width = np.sqrt(np.einsum("ij,ij->j", Z, Z) / len(Z))
    rng = np.random.default_rng(len(Z))  # randomness: function
    link = np.full((len(Z), 2), -1, np.int32)
    tail = np.arange(len(Z), dtype=np.int32)
    ends = np.arange(len(Z), dtype=np.int64)
    for turn in range(_ROUNDS):
        near, gap = _list_others(Z if turn == 0 else Z[ends], width, passes if turn == 0 else max(1, passes // 3), rng)
        _make_links(ends, near, _shortest_first(gap), link, tail)
        ends = np.flatnonzero(link[:, 1] < 0)
        if len(ends) <= _FEW:
            break
    return np.asarray(place[_walk(link)])


def _list_others(Z: Rows, width: Rows, passes: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.int32], Rows]:
    """Return for each record others that are near (n, listed), -1 where there are fewer, and squared distances."""
    near = np.full((len(Z), _LISTED), -1, np.int32)
    gap = np.full((len(Z), _LISTED), np.inf, np.float32)
    held = np.cumsum(width**2)
    axes = min(len(width), int(np.searchsorted(held, _SHARE * held[-1])) // 4 * 4 + 4)
    for _ in range(passes):
        directions = rng.normal(size=(len(width), _DIRECTIONS)) * width[:, None]
        order, starts = kd_cells(project(Z, directions.astype(np.float32)), _BLOCK)
        _look_around(Z, order, starts, axes, near, gap)
    return near, gap


def _shortest_first(gap: Rows) -> Records:
    """Return which entries are finite, least first, ties by place: one number holds both, a distance by its bits."""
    bits = gap.ravel().view(np.int32).astype(np.int64)
    bits <<= 32
    bits |= np.arange(len(bits))
    bits = bits[np.isfinite(gap.ravel())]
    bits.sort()
    bits &= 2**32 - 1
    return bits


@reordered
def _look_around(
    Z: Rows,
    order: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    axes: int,
    near: npt.NDArray[np.int32],
    gap: Rows,
) -> None:
    """Add to each record's list what is nearer in its block."""
    for block in range(len(starts) - 1):
        records = order[starts[block] : starts[block + 1]]
        rows = np.empty((len(records), axes), np.float32)
        for i in range(len(records)):
            record = records[i]
            for axis in range(axes):
                rows[i, axis] = Z[record, axis]
        result = np.empty((len(records), _SOUGHT), np.int32)
        list_nearest(rows, len(records), axes, result)
        for i in range(len(records)):
            for slot in range(_SOUGHT):
                if result[i, slot] >= 0:
                    _remember(Z, records[i], records[result[i, slot]], near, gap)


@reordered_inner
def _remember(Z: Rows, record: int, other: int, near: npt.NDArray[np.int32], gap: Rows) -> None:
    slot = near.shape[1] - 1
    for place in range(slot + 1):
        if near[record, place] == other:
            return
    apart = distance(Z, record, Z, other)
    if apart >= gap[record, slot]:
        return
    while slot > 0 and gap[record, slot - 1] > apart:
        gap[record, slot] = gap[record, slot - 1]
        near[record, slot] = near[record, slot - 1]
        slot -= 1
    gap[record, slot] = apart
    near[record, slot] = other


@reordered
def _make_links(
    ends: Records,
    near: npt.NDArray[np.int32],
    shortest: Records,
    link: npt.NDArray[np.int32],
    tail: npt.NDArray[np.int32],
) -> None:
    """Link records, the shortest way first; `tail` says of each end of a piece which the other end is."""
    listed = near.shape[1]
    for at in shortest:
        a, b = ends[at // listed], ends[near[at // listed, at % listed]]
        if link[a, 1] >= 0 or link[b, 1] >= 0 or tail[a] == b:
            continue
        link[a, 0 if link[a, 0] < 0 else 1] = b
        link[b, 0 if link[b, 0] < 0 else 1] = a
        last, first = tail[a], tail[b]
        tail[last], tail[first] = first, last


@reordered
def _walk(link: npt.NDArray[np.int32]) -> Records:
    """Walk along the pieces, one after the other in the order of their first ends."""
    path = np.empty(len(link), np.int64)
    done = np.zeros(len(link), np.bool_)
    at = 0
    for end in range(len(link)):
        if done[end] or link[end, 1] >= 0:
            continue
        before, current = -1, end
        while current >= 0:
            done[current] = True
            path[at] = current
            at += 1
            ahead = link[current, 0] if link[current, 0] != before else link[current, 1]
            before, current = current, ahead
    return path


_AXES = 8  # the widest ones; blocks need no more


def start_large(
    scores: npt.NDArray[np.float64], Z: npt.NDArray[np.float32], k: int
) -> tuple[str, npt.NDArray[np.int64]]:
    """Return the start of a table of thousands of records, and what it is called."""
    if k >= 50:
        return "mdav in blocks", group_blocks(Z, k, max(2_000, 20 * k))
    passes = 12 if k == 2 else 6 if k < 5 else 3  # the smaller groups are, the less a search can mend
    return "links, then mhm", mhm_labels(scores, linked_path(Z, passes=passes), k)


def group_blocks(Z: npt.NDArray[np.float32], k: int, most: int) -> npt.NDArray[np.int64]:
    """Group each k-d block of at most `most` records by MDAV."""
    order, starts = kd_cells(np.ascontiguousarray(Z[:, :_AXES]), max(most, 2 * k))
    return _group_blocks(Z, order, starts, k)


def cut_untangled_path(
    scores: npt.NDArray[np.float64], Z: npt.NDArray[np.float32], k: int, path: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Shorten a path by 2-opt, then cut it by MHM."""
    return mhm_labels(scores, untangle(Z, path), k)


@reordered
def _group_blocks(
    Z: npt.NDArray[np.float32], order: npt.NDArray[np.int32], starts: npt.NDArray[np.int64], k: int
) -> npt.NDArray[np.int64]:
    labels = np.empty(len(Z), np.int64)
    following = 0
    for block in range(len(starts) - 1):
        low, high = starts[block], starts[block + 1]
        values = mdav_labels(_rows(Z, order[low:high]), k)
        for i in range(high - low):
            labels[order[low + i]] = following + values[i]
        following += values.max() + 1
    return labels


@reordered
def _rows(Z: npt.NDArray[np.float32], records: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
    out = np.empty((len(records), Z.shape[1]), np.float32)
    for i in range(len(records)):
        out[i] = Z[records[i]]
    return out


@reordered
def untangle(Z: npt.NDArray[np.float32], path: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Reverse parts of a path as long as that shortens it (2-opt, at most 20 rounds). O(n^2 d) a round."""
    n = len(path)
    path = path.copy()
    step = np.empty(n, np.float64)
    for _ in range(20):
        shorter = False
        for i in range(n - 1):
            step[i] = np.sqrt(distance(Z, path[i], Z, path[i + 1]))
        for i in range(n - 2):
            for j in range(i + 2, n - 1):
                across = np.sqrt(distance(Z, path[i], Z, path[j]))
                if across >= step[i] + step[j]:
                    continue
                along = np.sqrt(distance(Z, path[i + 1], Z, path[j + 1]))
                if across + along < (step[i] + step[j]) * (1.0 - 1e-6):
                    path[i + 1 : j + 1] = path[i + 1 : j + 1][::-1].copy()
                    step[i + 1 : j] = step[i + 1 : j][::-1].copy()
                    step[i], step[j] = across, along
                    shorter = True
        if not shorter:
            break
    return path
