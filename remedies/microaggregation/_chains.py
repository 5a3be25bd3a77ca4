"""Kernel for chains of moves, after Lin and Kernighan: the way past a wall of groups that have just k records.

A group of k may not give a record away, and most groups have k. In a chain it gives one to a neighbour all the same and
takes one from another, which takes one from the next, until one can spare it. The chain goes on while the sum of gains
is positive and is undone if it ends without one.
"""

import numpy as np

from remedies._compiled import reordered_inner
from remedies.microaggregation._bench import (
    DEEP,
    TOLERANCE,
    Bench,
    accept,
    joining,
    keep,
    leaving,
    put,
    restore,
    stirred,
    take,
)


@reordered_inner
def chains(bench: Bench) -> float:
    """Try a chain from each record whose group, or a neighbour of it, has changed; give what was gained."""
    total = 0.0
    k = (bench.member.shape[1] + 1) // 2
    for a in range(bench.near.shape[0]):
        if not stirred(bench, a):
            continue
        i = 0
        while i < bench.size[a] and bench.size[a] == k:
            total += _chain(bench, a, i)
            i += 1
    return total


@reordered_inner
def _chain(bench: Bench, a: int, i: int) -> float:
    x = bench.member[a, i]
    b, gain = _best_home(bench, x, a)
    if b < 0:
        return 0.0
    scale = 2 * gain + leaving(bench.X, x, bench.centre, a, bench.size)
    keep(bench, a)
    keep(bench, b)
    put(bench, take(bench, a, i), b)
    short = a
    for depth in range(DEEP):
        c, at, here = _best_source(bench, short, depth == DEEP - 1, gain - 2 * TOLERANCE * scale)
        if c < 0:
            break
        scale += abs(here)
        spare = bench.size[c] > (bench.member.shape[1] + 1) // 2
        keep(bench, c)
        put(bench, take(bench, c, at), short)
        gain += here
        if spare:
            if gain > TOLERANCE * scale:
                accept(bench)
                return gain
            break
        short = c
    restore(bench)
    return 0.0


@reordered_inner
def _best_home(bench: Bench, x: int, a: int) -> tuple[int, float]:
    """Give the neighbour of a that record x fits best, if better than a, and by how much; -1 if there is none."""
    X, near, size, centre, cap = bench.X, bench.near, bench.size, bench.centre, bench.member.shape[1]
    leave = leaving(X, x, centre, a, size)
    b, cost = -1, leave
    for slot in range(near.shape[1]):
        c = near[a, slot]
        if c < 0:
            break
        if 0 < size[c] < cap:
            here = joining(X, x, centre, c, size)
            if here < cost:
                b, cost = c, here
    return b, leave - cost


@reordered_inner
def _best_source(bench: Bench, short: int, last: bool, gain: float) -> tuple[int, int, float]:
    """Give the neighbour and its member that the short group should take, and what that gains; -1 to give up.

    One that can spare it, if that ends the chain with a gain; else one that then is short itself. `gain` is what the
    chain has gained so far, less what rounding may have done (giving the first record back gains nothing).
    """
    X, member, near, size, centre = bench.X, bench.member, bench.near, bench.size, bench.centre
    k = (member.shape[1] + 1) // 2
    best, best_c, best_i = -np.inf, -1, -1
    end, end_c, end_i = -np.inf, -1, -1
    for slot in range(near.shape[1]):
        c = near[short, slot]
        if c < 0:
            break
        if size[c] < k:
            continue
        for at in range(size[c]):
            z = member[c, at]
            here = leaving(X, z, centre, c, size) - joining(X, z, centre, short, size)
            if size[c] > k:
                if here > end:
                    end, end_c, end_i = here, c, at
            elif here > best:
                best, best_c, best_i = here, c, at
    if gain + end > 0.0:
        return end_c, end_i, end
    if last or gain + best <= 0.0:
        return -1, -1, 0.0
    return best_c, best_i, best
