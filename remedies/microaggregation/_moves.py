"""Kernels that move and swap records between neighbouring groups until nothing gains.

With n_a, n_b the sizes and c_a, c_b the centroids, the sum of squares falls by

- n_a/(n_a-1) |x-c_a|^2 - n_b/(n_b+1) |x-c_b|^2 when x moves from a to b;
- |x-c_a|^2 - |x-c_b|^2 + |y-c_b|^2 - |y-c_a|^2 + (1/n_a + 1/n_b) |x-y|^2 when x of a and y of b are swapped.

The last term is bounded by distances to the centroids, so most swaps are ruled out without computing it.
"""

import math

import numpy as np
import numpy.typing as npt

from remedies._compiled import reordered_inner
from remedies.microaggregation._bench import TOLERANCE, Bench, distance, exchange, put, take

_ROUNDS = 100  # far more than are ever needed


@reordered_inner
def settle(bench: Bench) -> float:
    """Improve all pairs of neighbours until none gains; give what was gained."""
    near, size, seen, changed = bench.near, bench.size, bench.seen, bench.changed
    total = 0.0
    for _ in range(_ROUNDS):
        gained = 0.0
        for a in range(near.shape[0]):
            for slot in range(near.shape[1]):
                b = near[a, slot]
                if b < 0:
                    break
                if size[a] == 0 or size[b] == 0:
                    continue
                if seen[a, slot] >= max(changed[a], changed[b]):
                    continue
                gained += _look_at(bench, a, slot)
        total += gained
        if gained == 0.0:
            break
    return total


@reordered_inner
def _look_at(bench: Bench, a: int, slot: int) -> float:
    b = bench.near[a, slot]
    bench.clock[0] += 1
    now = bench.clock[0]
    gain = improve_pair(bench, a, b)
    if gain > 0.0:
        bench.changed[a] = bench.changed[b] = now
    bench.seen[a, slot] = now
    for back in range(bench.near.shape[1]):
        if bench.near[b, back] == a:
            bench.seen[b, back] = now
    return gain


@reordered_inner
def improve_pair(bench: Bench, a: int, b: int) -> float:
    """Move and swap between two groups until nothing gains; give what was gained."""
    total = 0.0
    own_a, other_a, own_b, other_b = bench.work[0], bench.work[1], bench.work[2], bench.work[3]
    for _ in range(10 * bench.member.shape[1]):
        _measure(bench, a, b, own_a, other_a)
        _measure(bench, b, a, own_b, other_b)
        i, gain_i = _best_move(bench, a, b, own_a, other_a)
        j, gain_j = _best_move(bench, b, a, own_b, other_b)
        if i >= 0 and gain_i >= gain_j:
            put(bench, take(bench, a, i), b)
            total += gain_i
        elif j >= 0:
            put(bench, take(bench, b, j), a)
            total += gain_j
        else:
            gain = _swap(bench, a, b, _find_swaps(bench, a, b))
            if gain == 0.0:
                break
            total += gain
    return total


@reordered_inner
def _measure(bench: Bench, a: int, b: int, own: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> None:
    X, member, centre = bench.X, bench.member, bench.centre
    for i in range(bench.size[a]):
        own[i] = distance(X, member[a, i], centre, a)
        other[i] = distance(X, member[a, i], centre, b)


@reordered_inner
def _best_move(
    bench: Bench, a: int, b: int, own: npt.NDArray[np.float64], other: npt.NDArray[np.float64]
) -> tuple[int, float]:
    """Give the member of a that gains most by moving to b, and its gain; -1 if none may or none gains."""
    na, nb, cap = bench.size[a], bench.size[b], bench.member.shape[1]
    best, gain = -1, 0.0
    if na <= (cap + 1) // 2 or nb >= cap:
        return best, gain
    leave, join = na / (na - 1), nb / (nb + 1)
    for i in range(na):
        here = leave * own[i] - join * other[i]
        if here > gain and here > TOLERANCE * (own[i] + other[i]):
            best, gain = i, here
    return best, gain


@reordered_inner
def _find_swaps(bench: Bench, a: int, b: int) -> int:
    """Find for each member of a the member of b with which a swap gains most; give how many have one."""
    own, other, own_b, other_b, value = bench.work[0], bench.work[1], bench.work[2], bench.work[3], bench.work[4]
    for row in range(4):
        for i in range(max(bench.size[a], bench.size[b])):
            bench.work[5 + row, i] = math.sqrt(bench.work[row, i])
    root = bench.work[5]
    top, far = -np.inf, 0.0
    for j in range(bench.size[b]):
        top = max(top, own_b[j] - other_b[j])
        far = max(far, other_b[j])
    far = math.sqrt(far)
    both = 1.0 / bench.size[a] + 1.0 / bench.size[b]
    found = 0
    for i in range(bench.size[a]):
        value[i] = 0.0
        if own[i] - other[i] + top + both * (root[i] + far) ** 2 <= 0.0:
            continue
        found += _find_partner(bench, a, i, b)
    return found


@reordered_inner
def _find_partner(bench: Bench, a: int, i: int, b: int) -> int:
    own_b, other_b = bench.work[2], bench.work[3]
    gain_i, scale = bench.work[0, i] - bench.work[1, i], bench.work[0, i] + bench.work[1, i]
    root_own, root_other, roots_own, roots_other = bench.work[5, i], bench.work[6, i], bench.work[7], bench.work[8]
    both = 1.0 / bench.size[a] + 1.0 / bench.size[b]
    X, member, partner = bench.X, bench.member, bench.partner
    best, found = 0.0, 0
    for j in range(bench.size[b]):
        gain = gain_i + own_b[j] - other_b[j]
        if gain + both * (root_own + roots_other[j]) ** 2 <= best:
            continue
        if gain + both * (root_other + roots_own[j]) ** 2 <= best:
            continue
        gain += both * distance(X, member[a, i], X, member[b, j])
        if gain > best and gain > TOLERANCE * (scale + own_b[j] + other_b[j]):
            best, found = gain, 1
            partner[i] = j
    bench.work[4, i] = best
    return found


@reordered_inner
def _swap(bench: Bench, a: int, b: int, found: int) -> float:
    """Do the swaps that were found, best first, each as long as it still gains; give what was gained."""
    value = bench.work[4]
    both = 1.0 / bench.size[a] + 1.0 / bench.size[b]
    total = 0.0
    for turn in range(found):
        i = 0
        for candidate in range(1, bench.size[a]):
            if value[candidate] > value[i]:
                i = candidate
        gain, j = value[i], bench.partner[i]
        value[i] = 0.0
        if turn > 0:  # the centroids have moved since
            x, y = bench.member[a, i], bench.member[b, j]
            here = distance(bench.X, x, bench.centre, a) + distance(bench.X, y, bench.centre, b)
            there = distance(bench.X, x, bench.centre, b) + distance(bench.X, y, bench.centre, a)
            gain = here - there + both * distance(bench.X, x, bench.X, y)
            if gain <= TOLERANCE * (here + there):
                continue
        exchange(bench, a, i, b, j)
        total += gain
    return total


@reordered_inner
def find_neighbours(bench: Bench, groups: int) -> None:
    """List for the first `groups` groups their nearest others, nearest first."""
    near, centre = bench.near, bench.centre
    many = near.shape[1]
    gap = np.full((groups, many), np.inf, np.float32)
    worst = np.full(groups, np.inf, np.float32)
    row = np.empty(groups, np.float32)
    near[:] = -1
    for a in range(groups):
        for b in range(a):
            row[b] = distance(centre, a, centre, b)
        for b in range(a):
            if row[b] < worst[a]:
                _insert(near, gap, a, b, row[b])
                worst[a] = gap[a, many - 1]
            if row[b] < worst[b]:
                _insert(near, gap, b, a, row[b])
                worst[b] = gap[b, many - 1]


@reordered_inner
def _insert(near: npt.NDArray[np.int32], gap: npt.NDArray[np.float32], a: int, b: int, d: float) -> None:
    slot = near.shape[1] - 1
    while slot > 0 and gap[a, slot - 1] > d:
        gap[a, slot] = gap[a, slot - 1]
        near[a, slot] = near[a, slot - 1]
        slot -= 1
    gap[a, slot] = d
    near[a, slot] = b
