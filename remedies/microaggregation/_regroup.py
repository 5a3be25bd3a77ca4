"""Kernels that change the number of groups: one dissolved into its neighbours, one created from what they can spare."""

import numpy as np

from remedies._compiled import reordered_inner
from remedies.microaggregation._bench import (
    NOISE,
    TOLERANCE,
    BlockState,
    accept,
    distance,
    joining,
    keep,
    leaving,
    put,
    restore,
    stirred,
    take,
)


@reordered_inner
def dissolve(bench: BlockState) -> float:
    """Dissolve each group whose members fit better into its neighbours; return what was gained."""
    total = 0.0
    for a in range(bench.near.shape[0]):
        if bench.near[a, 0] >= 0 and stirred(bench, a):
            total += _dissolve_one(bench, a)
    return total


@reordered_inner
def _dissolve_one(bench: BlockState, a: int) -> float:
    X, member, near, size, centre, cap = (
        bench.X,
        bench.member,
        bench.near,
        bench.size,
        bench.centre,
        bench.member.shape[1],
    )
    before = 0.0
    for i in range(size[a]):
        before += distance(X, member[a, i], centre, a)
    keep(bench, a)
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
            restore(bench)
            return 0.0
        keep(bench, best)
        put(bench, x, best)
    if before - after <= TOLERANCE * (before + after) + NOISE:
        restore(bench)
        return 0.0
    bench.size[a] = 0
    accept(bench)
    return before - after


@reordered_inner
def create(bench: BlockState) -> float:
    """Create a group from records that neighbours can spare, wherever that gains; return what was gained."""
    k = (bench.member.shape[1] + 1) // 2
    total, new = 0.0, 0
    for a in range(bench.near.shape[0]):
        while new < len(bench.size) and bench.size[new] > 0:
            new += 1
        if new == len(bench.size):
            break
        if bench.size[a] <= k or not stirred(bench, a) or _spare(bench, a) < k:
            continue
        total += _create_one(bench, a, new)
    return total


@reordered_inner
def _spare(bench: BlockState, a: int) -> int:
    """Log a and those of its neighbours that can spare records; return how many they can spare."""
    k = (bench.member.shape[1] + 1) // 2
    bench.clock[1] = 0
    keep(bench, a)
    spare = bench.size[a] - k
    for slot in range(bench.near.shape[1]):
        b = bench.near[a, slot]
        if b >= 0 and b != a and bench.size[b] > k:
            keep(bench, b)
            spare += bench.size[b] - k
    if spare < k:
        bench.clock[1] = 0
    return int(spare)


@reordered_inner
def _create_one(bench: BlockState, a: int, new: int) -> float:
    hosts = bench.clock[1]
    gain = _gather(bench, a, new, hosts)
    if gain <= TOLERANCE * (1.0 + gain):
        bench.size[new] = 0
        restore(bench)
        return 0.0
    introduce(bench, a, new)
    for host in range(hosts):
        if bench.size[bench.log_group[host]] != bench.log_size[host]:
            _list(bench, bench.log_group[host], new)
    accept(bench)
    bench.changed[new] = bench.clock[0]
    return gain


@reordered_inner
def _gather(bench: BlockState, a: int, new: int, hosts: int) -> float:
    """Move k records of the logged groups into the empty group `new`; return what was gained, maybe less than nothing.

    The seed is the record of a farthest from its centroid; then what gains most joins, an eighth of k at once.
    """
    X, member, size, centre, pool = bench.X, bench.member, bench.size, bench.centre, bench.pool
    k = (member.shape[1] + 1) // 2
    far, seed = -1.0, 0
    for i in range(size[a]):
        d = distance(X, member[a, i], centre, a)
        if d > far:
            far, seed = d, i
    x = member[a, seed]
    gain = leaving(X, x, centre, a, size)
    size[new] = 0
    put(bench, take(bench, a, seed), new)
    while size[new] < k:
        count = _offers(bench, new, hosts)
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
            put(bench, take(bench, b, i), new)
    return gain


@reordered_inner
def _offers(bench: BlockState, new: int, hosts: int) -> int:
    """List in the pool what each record that may leave would gain by joining `new`; return how many there are."""
    X, member, size, centre, pool = bench.X, bench.member, bench.size, bench.centre, bench.pool
    k = (member.shape[1] + 1) // 2
    count = 0
    for host in range(hosts):
        b = bench.log_group[host]
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
def introduce(bench: BlockState, a: int, new: int) -> None:
    """Assign to a new group as neighbours the group it was seeded by, and that group's."""
    bench.near[new] = -1
    bench.seen[new] = -1
    bench.near[new, 0] = a
    at = 1
    for slot in range(bench.near.shape[1]):
        b = bench.near[a, slot]
        if at < bench.near.shape[1] and b >= 0 and b != new:
            bench.near[new, at] = b
            at += 1


@reordered_inner
def _list(bench: BlockState, b: int, new: int) -> None:
    """Append a new group to b's neighbours, unless it is among them."""
    last = 0
    for slot in range(bench.near.shape[1]):
        if bench.near[b, slot] == new:
            bench.seen[b, slot] = -1
            return
        if bench.near[b, slot] >= 0:
            last = min(slot + 1, bench.near.shape[1] - 1)
    bench.near[b, last] = new
    bench.seen[b, last] = -1
