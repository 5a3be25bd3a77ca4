"""Kernels that change the number of groups: one dissolved into its neighbours, one created from what they can spare."""

import numpy as np

from remedies._compiled import reordered_inner
from remedies.microaggregation._block_state import (
    NOISE,
    TOLERANCE,
    BlockState,
    accept,
    distance,
    has_changed,
    joining,
    keep,
    leaving,
    put,
    restore,
    take,
)


@reordered_inner
def dissolve(state: BlockState) -> float:
    """Dissolve each group whose members fit better into its neighbours; return what was gained."""
    total = 0.0
    for a in range(state.near.shape[0]):
        if state.near[a, 0] >= 0 and has_changed(state, a):
            total += _dissolve_one(state, a)
    return total


@reordered_inner
def _dissolve_one(state: BlockState, a: int) -> float:
    X, member, near, size, centre, cap = (
        state.X,
        state.member,
        state.near,
        state.size,
        state.centre,
        state.member.shape[1],
    )
    before = 0.0
    for i in range(size[a]):
        before += distance(X, member[a, i], centre, a)
    keep(state, a)
    after = 0.0
    for i in range(size[a]):
        x = member[a, i]
        best, cost = -1, np.inf
        for slot in range(near.shape[1]):
            b = near[a, slot]
            if b >= 0 and 0 < size[b] < cap:
                join = joining(X, x, centre, b, size)
                if join < cost:
                    best, cost = b, join
        after += cost
        if best < 0 or after >= before or after * size[a] > before * (i + 2):  # far from it: no need to see the rest
            restore(state)
            return 0.0
        keep(state, best)
        put(state, x, best)
    if before - after <= TOLERANCE * (before + after) + NOISE:
        restore(state)
        return 0.0
    state.size[a] = 0
    accept(state)
    return before - after


@reordered_inner
def create(state: BlockState) -> float:
    """Create a group from records that neighbours can spare, wherever that gains; return what was gained."""
    k = (state.member.shape[1] + 1) // 2
    total, new = 0.0, 0
    for a in range(state.near.shape[0]):
        while new < len(state.size) and state.size[new] > 0:
            new += 1
        if new == len(state.size):
            break
        if state.size[a] <= k or not has_changed(state, a) or _spare(state, a) < k:
            continue
        total += _create_one(state, a, new)
    return total


@reordered_inner
def _spare(state: BlockState, a: int) -> int:
    """Log a and those of its neighbours that can spare records; return how many they can spare."""
    k = (state.member.shape[1] + 1) // 2
    state.clock[1] = 0
    keep(state, a)
    spare = state.size[a] - k
    for slot in range(state.near.shape[1]):
        b = state.near[a, slot]
        if b >= 0 and b != a and state.size[b] > k:
            keep(state, b)
            spare += state.size[b] - k
    if spare < k:
        state.clock[1] = 0
    return int(spare)


@reordered_inner
def _create_one(state: BlockState, a: int, new: int) -> float:
    hosts = state.clock[1]
    gain = _gather(state, a, new, hosts)
    if gain <= TOLERANCE * (1.0 + gain):
        state.size[new] = 0
        restore(state)
        return 0.0
    introduce(state, a, new)
    for host in range(hosts):
        if state.size[state.log_group[host]] != state.log_size[host]:
            _list(state, state.log_group[host], new)
    accept(state)
    state.changed[new] = state.clock[0]
    return gain


@reordered_inner
def _gather(state: BlockState, a: int, new: int, hosts: int) -> float:
    """Move k records of the logged groups into the empty group `new`; return what was gained, maybe less than nothing.

    The seed is the record of a farthest from its centroid; then what gains most joins, an eighth of k at once.
    """
    X, member, size, centre, pool = state.X, state.member, state.size, state.centre, state.pool
    k = (member.shape[1] + 1) // 2
    far, seed = -1.0, 0
    for i in range(size[a]):
        d = distance(X, member[a, i], centre, a)
        if d > far:
            far, seed = d, i
    x = member[a, seed]
    gain = leaving(X, x, centre, a, size)
    size[new] = 0
    put(state, take(state, a, seed), new)
    while size[new] < k:
        count = _offers(state, new, hosts)
        for _ in range(min(max(1, k // 8), k - size[new])):
            best = 0
            for at in range(1, count):
                if pool[0, at] > pool[0, best]:
                    best = at
            b, x = int(pool[1, best]), int(pool[2, best])
            if pool[0, best] == -np.inf or size[b] <= k:
                pool[0, best] = -np.inf
                continue
            pool[0, best] = -np.inf
            i = 0
            while member[b, i] != x:
                i += 1
            gain += leaving(X, x, centre, b, size) - joining(X, x, centre, new, size)
            put(state, take(state, b, i), new)
    return gain


@reordered_inner
def _offers(state: BlockState, new: int, hosts: int) -> int:
    """List in the pool what each record that may leave would gain by joining `new`; return how many there are."""
    X, member, size, centre, pool = state.X, state.member, state.size, state.centre, state.pool
    k = (member.shape[1] + 1) // 2
    count = 0
    for host in range(hosts):
        b = state.log_group[host]
        if size[b] <= k:
            continue
        for i in range(size[b]):
            x = member[b, i]
            pool[0, count] = leaving(X, x, centre, b, size) - joining(X, x, centre, new, size)
            pool[1, count] = b
            pool[2, count] = x
            count += 1
    return count


@reordered_inner
def introduce(state: BlockState, a: int, new: int) -> None:
    """Assign to a new group as neighbours the group it was seeded by, and that group's."""
    state.near[new] = -1
    state.seen[new] = -1
    state.near[new, 0] = a
    at = 1
    for slot in range(state.near.shape[1]):
        b = state.near[a, slot]
        if at < state.near.shape[1] and b >= 0 and b != new:
            state.near[new, at] = b
            at += 1


@reordered_inner
def _list(state: BlockState, b: int, new: int) -> None:
    """Append a new group to b's neighbours, unless it is among them."""
    last = 0
    for slot in range(state.near.shape[1]):
        if state.near[b, slot] == new:
            state.seen[b, slot] = -1
            return
        if state.near[b, slot] >= 0:
            last = min(slot + 1, state.near.shape[1] - 1)
    state.near[b, last] = new
    state.seen[b, last] = -1
