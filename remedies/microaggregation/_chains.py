"""Kernel for chains of moves, after Lin and Kernighan: the way past a wall of groups that have just k records.

A group of k may not give a record away, and most groups have k. In a chain it gives one to a neighbour all the same and
takes one from another, which takes one from the next, until one can spare it. The chain goes on while the sum of gains
is positive and is undone if it ends without one.
"""

import numpy as np
import numpy.typing as npt

from remedies._compiled import reordered_inner
from remedies.microaggregation._bench import (
    DEEP,
    NOISE,
    TOLERANCE,
    BlockState,
    accept,
    distances,
    joining,
    keep,
    leaving,
    put,
    restore,
    stirred,
    take,
)

Records = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int32]


@reordered_inner
def chains(bench: BlockState) -> float:
    """Try a chain from each record whose group, or a neighbour of it, has changed; give what was gained."""
    X, member, near, size, centre = bench.X, bench.member, bench.near, bench.size, bench.centre
    total = 0.0
    cap = member.shape[1]
    k = (cap + 1) // 2
    for a in range(near.shape[0]):
        if size[a] != k or not stirred(bench, a):
            continue
        i = 0
        while i < size[a] and size[a] == k:
            b, gain, leave = _best_home(X, near, size, centre, cap, member[a, i], a)
            if b >= 0:
                total += _chain(bench, a, i, b, gain, leave)
            i += 1
    return total


@reordered_inner
def _chain(bench: BlockState, a: int, i: int, b: int, gain: float, leave: float) -> float:
    """Let the i-th member of a go to b, and others take its place, if all that gains; give what was gained."""
    X, member, near, size, centre = bench.X, bench.member, bench.near, bench.size, bench.centre
    scale = 2 * gain + leave
    keep(bench, a)
    keep(bench, b)
    put(bench, take(bench, a, i), b)
    short = a
    for depth in range(DEEP):
        last = depth == DEEP - 1
        c, at, here = _best_source(X, member, near, size, centre, short, last, gain - 2 * TOLERANCE * scale)
        if c < 0:
            break
        scale += abs(here)
        spare = size[c] > (member.shape[1] + 1) // 2
        keep(bench, c)
        put(bench, take(bench, c, at), short)
        gain += here
        if spare:
            if gain > TOLERANCE * scale + NOISE:
                accept(bench)
                return gain
            break
        short = c
    restore(bench)
    return 0.0


@reordered_inner
def _best_home(
    X: Records, near: Numbers, size: Numbers, centre: Records, cap: int, x: int, a: int
) -> tuple[int, float, float]:
    """Return the neighbour of a that record x fits best, if better than a, by how much, and what leaving a gains.

    The neighbour is -1 if there is none.
    """
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
    return b, leave - cost, leave


@reordered_inner
def _best_source(
    X: Records, member: Numbers, near: Numbers, size: Numbers, centre: Records, short: int, last: bool, gain: float
) -> tuple[int, int, float]:
    """Return the neighbour and its member that the short group should take, and what that gains; -1 to give up.

    One that can spare it, if that ends the chain with a gain; else one that then is short itself. `gain` is what the
    chain has gained so far, less what rounding may have done (giving the first record back gains nothing).
    """
    k = (member.shape[1] + 1) // 2
    join = size[short] / (size[short] + 1)
    best, best_c, best_i = -np.inf, -1, -1
    end, end_c, end_i = -np.inf, -1, -1
    for slot in range(near.shape[1]):
        c = near[short, slot]
        if c < 0:
            break
        n = size[c]
        if n < k or (last and n == k):
            continue
        leave = n / (n - 1)
        for at in range(n):
            own, other = distances(X, member[c, at], centre, c, short)
            here = leave * own - join * other
            if n > k:
                if here > end:
                    end, end_c, end_i = here, c, at
            elif here > best:
                best, best_c, best_i = here, c, at
    if gain + end > 0.0:
        return end_c, end_i, end
    if last or gain + best <= 0.0:
        return -1, -1, 0.0
    return best_c, best_i, best
