"""One sweep over blocks of neighbouring groups: each block is improved alone, so blocks may run side by side."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from remedies._compiled import reordered, reordered_inner
from remedies.microaggregation._block_state import BlockState, make_state, recentre
from remedies.microaggregation._large_neighbourhood import rebuild_all
from remedies.microaggregation._nearest import list_nearest
from remedies.microaggregation._pairs import chains, settle
from remedies.microaggregation._regroup import create, dissolve


class Groups(NamedTuple):
    """The groups of a table."""

    order: npt.NDArray[np.int32]  # (n,) records, group by group
    start: npt.NDArray[np.int64]  # (groups + 1,) where each group starts in `order`
    settled: npt.NDArray[np.int32]  # (groups, 2 many) neighbours with which nothing gains; -1 none


class Blocks(NamedTuple):
    """The groups, cut into blocks, and where each block writes what becomes of it."""

    group: npt.NDArray[np.int32]  # groups, block by block
    start: npt.NDArray[np.int64]  # (blocks + 1,) where each block starts in `group`
    record: npt.NDArray[np.int64]  # (blocks + 1,) where each block's records start in `order`
    slot: npt.NDArray[np.int64]  # (blocks + 1,) where each block's possible groups start in `size`, `origin`, `near`
    order: npt.NDArray[np.int32]
    size: npt.NDArray[np.int32]  # 0: no such group
    origin: npt.NDArray[np.int32]  # which group it was, if it has not changed, else -1
    near: npt.NDArray[np.int32]  # slots of the neighbours with which nothing gains


@reordered
def sweep_blocks(
    Z: npt.NDArray[np.float32],
    groups: Groups,
    blocks: Blocks,
    k: int,
    low: int,
    high: int,
    seed: int,
    heat: float,
) -> float:
    """Improve the groups of blocks low..high-1, with a seed >= 0 by rebuilding too; return what was gained."""
    total = 0.0
    for block in range(low, high):
        state, origin = _load(Z, groups, blocks, k, block)
        total += settle(state)
        if seed >= 0:
            total += rebuild_all(state, seed + block, heat)
            total += settle(state)
        total += dissolve(state) + create(state)
        if k <= 20:  # with more, swaps do as well in less time
            total += chains(state)
        _unload(state, origin, blocks, block)
    return total


@reordered_inner
def _load(
    Z: npt.NDArray[np.float32],
    groups: Groups,
    blocks: Blocks,
    k: int,
    block: int,
) -> tuple[BlockState, npt.NDArray[np.int32]]:
    """Copy the records and groups of a block to a state; return it and the numbers of the records."""
    records = blocks.record[block + 1] - blocks.record[block]
    group = blocks.group[blocks.start[block] : blocks.start[block + 1]]
    state = make_state(records, Z.shape[1], k, records // k, blocks.near.shape[1])
    origin = np.empty(records, np.int32)
    member, size, near, seen = state.member, state.size, state.near, state.seen
    order, start = groups.order, groups.start
    at = 0
    for a in range(len(group)):
        begin = start[group[a]]
        size[a] = start[group[a] + 1] - begin
        for i in range(size[a]):
            origin[at] = order[begin + i]
            member[a, i] = at
            at += 1
    _copy_rows(Z, origin, state.X)
    for a in range(len(group)):
        recentre(state, a)
    list_nearest(state.centre, len(group), state.centre.shape[1], near)
    settled = groups.settled
    for a in range(len(group)):
        for slot in range(near.shape[1]):
            b = near[a, slot]
            if b >= 0 and _settled(settled, group[a], group[b]):
                seen[a, slot] = 0
    return state, origin


@reordered_inner
def _copy_rows(Z: npt.NDArray[np.float32], records: npt.NDArray[np.int32], X: npt.NDArray[np.float32]) -> None:
    for at in range(len(records)):
        record = records[at]
        for column in range(Z.shape[1]):
            X[at, column] = Z[record, column]


@reordered_inner
def _settled(settled: npt.NDArray[np.int32], a: int, b: int) -> bool:
    slot, wide = 0, settled.shape[1]
    while slot < wide and settled[a, slot] != b and settled[b, slot] != a:
        slot += 1
    return bool(slot < wide)


@reordered_inner
def _unload(state: BlockState, origin: npt.NDArray[np.int32], blocks: Blocks, block: int) -> None:
    first, count = blocks.start[block], blocks.start[block + 1] - blocks.start[block]
    at, slot = blocks.record[block], blocks.slot[block]
    for a in range(len(state.size)):
        blocks.size[slot + a] = state.size[a]
        for i in range(state.size[a]):
            blocks.order[at] = origin[state.member[a, i]]
            at += 1
        unchanged = a < count and state.changed[a] == 0
        blocks.origin[slot + a] = blocks.group[first + a] if unchanged else -1
        for neighbour in range(state.near.shape[1]):
            b = state.near[a, neighbour]
            settled = b >= 0 and state.seen[a, neighbour] >= max(state.changed[a], state.changed[b])
            blocks.near[slot + a, neighbour] = slot + b if settled and state.size[b] > 0 else -1


@reordered
def centroids(Z: npt.NDArray[np.float32], groups: Groups) -> npt.NDArray[np.float32]:
    """Return the centroid of each group (groups, columns)."""
    out = np.zeros((len(groups.start) - 1, Z.shape[1]), np.float32)
    order, start = groups.order, groups.start
    for a in range(len(out)):
        low, high = start[a], start[a + 1]
        for place in range(low, high):
            record = order[place]
            for column in range(Z.shape[1]):
                out[a, column] += Z[record, column]
        share = np.float32(1.0 / (high - low))
        for column in range(Z.shape[1]):
            out[a, column] *= share
    return out


@reordered
def number_groups(blocks: Blocks, past: Groups) -> Groups:
    """Number the groups again, in the order of the blocks, and carry over which pairs are settled."""
    slots, wide = len(blocks.size), past.settled.shape[1]
    rank = np.full(slots, -1, np.int32)
    now_is = np.full(len(past.start) - 1, -1, np.int32)
    count = 0
    for slot in range(slots):
        if blocks.size[slot] > 0:
            rank[slot] = count
            if blocks.origin[slot] >= 0:
                now_is[blocks.origin[slot]] = count
            count += 1
    start = np.zeros(count + 1, np.int64)
    settled = np.full((count, wide), -1, np.int32)
    for slot in range(slots):
        a = rank[slot]
        if a < 0:
            continue
        start[a + 1] = start[a] + blocks.size[slot]
        at = 0
        for neighbour in range(blocks.near.shape[1]):
            if blocks.near[slot, neighbour] >= 0:
                settled[a, at] = rank[blocks.near[slot, neighbour]]
                at += 1
        if blocks.origin[slot] >= 0:
            _carry_over(settled[a], at, past.settled[blocks.origin[slot]], now_is)
    return Groups(blocks.order, start, settled)


@reordered_inner
def _carry_over(
    settled: npt.NDArray[np.int32], at: int, past: npt.NDArray[np.int32], now_is: npt.NDArray[np.int32]
) -> None:
    fresh = at
    for old in past:
        b = now_is[old] if old >= 0 else -1
        if b < 0 or at == len(settled):
            continue
        is_settled = False
        for other in range(fresh):
            is_settled = is_settled or settled[other] == b
        if not is_settled:
            settled[at] = b
            at += 1
