"""Kernel for large-neighbourhood search: take neighbouring groups apart, group their records again, keep the better."""

import numpy as np
import numpy.typing as npt

from remedies._compiled import reordered_inner
from remedies.microaggregation._block_state import NOISE, TOLERANCE, BlockState, distance, make_state, put, recentre
from remedies.microaggregation._pairs import chains, settle
from remedies.microaggregation._regroup import dissolve, introduce

_MOST = 6  # groups taken apart at once


@reordered_inner
def _throw(rng: npt.NDArray[np.uint64]) -> int:
    """Return a random whole number of 31 bits (xorshift64*)."""
    state = rng[0]
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    rng[0] = state
    return int(np.int64((state * np.uint64(2685821657736338717)) >> np.uint64(33)))


@reordered_inner
def _make_small(state: BlockState) -> BlockState:
    """Return a state for the groups that are taken apart."""
    cap = state.member.shape[1]
    k = (cap + 1) // 2
    records = _MOST * cap
    return make_state(records, state.X.shape[1], k, records // k, state.near.shape[1])


@reordered_inner
def rebuild_all(state: BlockState, seed: int, heat: float) -> float:
    """Take each group and some of its neighbours apart once; return what was gained.

    `heat`: what is rebuilt may be worse, by a random share of its sum of squares below this one; 0 for never.
    """
    small = _make_small(state)
    rng = np.empty(1, np.uint64)
    rng[0] = np.uint64(2 * seed + 1)
    for _ in range(20):
        _throw(rng)
    total = 0.0
    for a in range(len(state.size)):
        if state.size[a] > 0 and state.near[a, 0] >= 0:
            total += _rebuild(state, small, a, rng, heat)
    return total


@reordered_inner
def _choose(state: BlockState, a: int, rng: npt.NDArray[np.uint64], groups: npt.NDArray[np.int32]) -> int:
    """Choose a and neighbours of it, or neighbours of those; return how many."""
    target = 2 + _throw(rng) % (_MOST - 1)
    groups[0] = a
    count = 1
    for _ in range(3 * _MOST):
        if count == target:
            break
        origin = groups[_throw(rng) % count]
        near = state.near[origin, _throw(rng) % state.near.shape[1]]
        fresh = near >= 0 and state.size[near] > 0
        for at in range(count):
            fresh = fresh and groups[at] != near
        if fresh:
            groups[count] = near
            count += 1
    return count


@reordered_inner
def _rebuild(state: BlockState, small: BlockState, a: int, rng: npt.NDArray[np.uint64], heat: float) -> float:
    chosen = np.empty(_MOST, np.int32)
    origin = np.empty(len(small.X), np.int32)
    count = _choose(state, a, rng, chosen)
    records, before = 0, 0.0
    for at in range(count):
        for i in range(state.size[chosen[at]]):
            x = state.member[chosen[at], i]
            before += distance(state.X, x, state.centre, chosen[at])
            origin[records] = x
            for column in range(state.X.shape[1]):
                small.X[records, column] = state.X[x, column]
            records += 1
    most = _build(small, records, rng)
    _improve(small, most)
    after = 0.0
    groups = 0
    for b in range(most):
        if small.size[b] > 0:
            groups += 1
            recentre(small, b)
            for i in range(small.size[b]):
                after += distance(small.X, small.member[b, i], small.centre, b)
    gain = before - after
    allowed = heat * before * (_throw(rng) % 1024) / 1024.0 if heat > 0.0 else 0.0
    if abs(gain) <= 2 * TOLERANCE * (before + after) + NOISE or gain + allowed <= 0.0:
        return 0.0
    return gain if _write_back(state, small, chosen, count, groups, origin) else 0.0


@reordered_inner
def _build(small: BlockState, records: int, rng: npt.NDArray[np.uint64]) -> int:
    """Group the small state's records again around far-apart seeds, the first by chance; return how many groups fit."""
    k = (small.member.shape[1] + 1) // 2
    most = records // k
    small.size[:] = 0
    small.centre[:most] = np.float32(0)
    free = np.arange(records).astype(np.int32)
    left = records
    group = 0
    seed = _throw(rng) % left
    while left >= 2 * k:
        put(small, _drop(free, left, seed), group)
        left -= 1
        for _ in range(k - 1):
            put(small, _drop(free, left, _extreme(small, free, left, group, -1.0)), group)
            left -= 1
        seed = _extreme(small, free, left, group, 1.0)
        if _throw(rng) % 2 == 0:
            seed = _throw(rng) % left
        group += 1
    for at in range(left):
        put(small, free[at], group)
    return int(most)


@reordered_inner
def _drop(free: npt.NDArray[np.int32], left: int, at: int) -> int:
    x = int(free[at])
    free[at] = free[left - 1]
    return x


@reordered_inner
def _extreme(small: BlockState, free: npt.NDArray[np.int32], left: int, group: int, sign: float) -> int:
    """Return which of the free records is farthest from a group's centroid (sign 1), or nearest to it (sign -1)."""
    X, centre = small.X, small.centre
    best, value = 0, -np.inf
    for at in range(left):
        signed = sign * distance(X, free[at], centre, group)
        if signed > value:
            best, value = at, signed
    return best


@reordered_inner
def _improve(small: BlockState, most: int) -> None:
    many = small.near.shape[1]
    small.near[:] = -1
    small.seen[:] = -1
    small.changed[:] = 1
    small.clock[0] = 1
    small.clock[1] = 0
    for a in range(most):
        slot = 0
        for b in range(most):
            if b != a and slot < many and small.size[b] > 0:
                small.near[a, slot] = b
                slot += 1
    settle(small)
    if dissolve(small) + chains(small) > 0.0:
        settle(small)


@reordered_inner
def _write_back(
    state: BlockState,
    small: BlockState,
    chosen: npt.NDArray[np.int32],
    count: int,
    groups: int,
    origin: npt.NDArray[np.int32],
) -> bool:
    """Replace the chosen groups; give whether there were places for all."""
    free = 0
    places = np.empty(max(groups, count), np.int32)
    places[:count] = chosen[:count]
    current_count = count
    while current_count < groups and free < len(state.size):
        if state.size[free] == 0:
            places[current_count] = free
            current_count += 1
        free += 1
    if current_count < groups:
        return False
    state.clock[0] += 1
    at = 0
    for b in range(len(small.size)):
        if small.size[b] == 0:
            continue
        a = places[at]
        if at >= count:
            introduce(state, chosen[0], a)
        at += 1
        state.size[a] = small.size[b]
        for i in range(small.size[b]):
            state.member[a, i] = origin[small.member[b, i]]
        state.centre[a] = small.centre[b]
        state.changed[a] = state.clock[0]
    for empty in range(at, count):
        state.size[places[empty]] = 0
    return True
