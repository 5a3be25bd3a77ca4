"""Kernels that move and swap records between two groups until nothing gains, and chains of moves.

With n_a, n_b the sizes and c_a, c_b the centroids, the sum of squares falls by

- n_a/(n_a-1) |x-c_a|^2 - n_b/(n_b+1) |x-c_b|^2 when x moves from a to b;
- |x-c_a|^2 - |x-c_b|^2 + |y-c_b|^2 - |y-c_a|^2 + (1/n_a + 1/n_b) |x-y|^2 when x of a and y of b are swapped.

The last term is bounded by distances to the centroids, |x-y| <= |x-c| + |y-c|, so most swaps are ruled out without
computing it. Most pairs gain nothing: what counts is how soon that is seen. So these kernels take arrays, not a
state, whose every read counts a reference, atomically.

Chains (Lin and Kernighan): a group of k may not give a record away, and most groups have k. In a chain it gives one to
a neighbour all the same and takes one from another, which takes one from the next, until one can spare it. The chain
goes on while the sum of gains is positive and is undone if it ends without one.
"""

import math

import numpy as np
import numpy.typing as npt

from remedies._compiled import reordered_inner
from remedies.microaggregation._block_state import (
    DEEP,
    NOISE,
    TOLERANCE,
    BlockState,
    accept,
    distance,
    distances,
    has_changed,
    joining,
    keep,
    leaving,
    put,
    restore,
    take,
)

Records = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int32]
Distances = npt.NDArray[np.float64]

_OWN_A, _OTHER_A, _OWN_B, _OTHER_B, _VALUE = 0, 1, 2, 3, 4  # rows of `work`: a's members, b's members, worth of a swap


@reordered_inner
def improve_pair(
    X: Records, member: Numbers, size: Numbers, centre: Records, work: Distances, partner: Numbers, a: int, b: int
) -> float:
    """Move and swap between two groups until nothing gains; return what was gained."""
    total = 0.0
    cap = member.shape[1]
    k = (cap + 1) // 2
    for _ in range(10 * cap):
        for i in range(size[a]):
            work[_OWN_A, i], work[_OTHER_A, i] = distances(X, member[a, i], centre, a, b)
        for j in range(size[b]):
            work[_OWN_B, j], work[_OTHER_B, j] = distances(X, member[b, j], centre, b, a)
        gain = 0.0
        if (size[a] > k and size[b] < cap) or (size[b] > k and size[a] < cap):
            gain = _move_best(X, member, size, centre, work, a, b)
        if gain == 0.0 and _find_swaps(X, member, size, work, partner, a, b) > 0:
            gain = _swap(X, member, size, centre, work, partner, a, b)
        if gain == 0.0:
            break
        total += gain
    return total


@reordered_inner
def _move_best(X: Records, member: Numbers, size: Numbers, centre: Records, work: Distances, a: int, b: int) -> float:
    """Move the record that gains most by going to the other group; return its gain, 0 if none may or none gains."""
    i, gain_i = _best_move(member, size, work, _OWN_A, a, b)
    j, gain_j = _best_move(member, size, work, _OWN_B, b, a)
    if i >= 0 and gain_i >= gain_j:
        move(X, member, size, centre, a, i, b)
        return gain_i
    if j >= 0:
        move(X, member, size, centre, b, j, a)
        return gain_j
    return 0.0


@reordered_inner
def _best_move(member: Numbers, size: Numbers, work: Distances, row: int, a: int, b: int) -> tuple[int, float]:
    """Return the member of a that gains most by moving to b, and its gain; -1 if none may or none gains."""
    na, nb, cap = size[a], size[b], member.shape[1]
    best, gain = -1, NOISE
    if na <= (cap + 1) // 2 or nb >= cap:
        return best, gain
    leave, join = na / (na - 1), nb / (nb + 1)
    for i in range(na):
        own, other = work[row, i], work[row + 1, i]
        move_gain = leave * own - join * other
        if move_gain > gain and move_gain > TOLERANCE * (own + other):
            best, gain = i, move_gain
    return best, gain


@reordered_inner
def _find_swaps(X: Records, member: Numbers, size: Numbers, work: Distances, partner: Numbers, a: int, b: int) -> int:
    """Find for each member of a the member of b with which a swap gains most; return how many have one."""
    both = 1.0 / size[a] + 1.0 / size[b]
    top, far = -np.inf, 0.0
    for j in range(size[b]):
        top = max(top, work[_OWN_B, j] - work[_OTHER_B, j])
        far = max(far, work[_OTHER_B, j])
    count = 0
    for i in range(size[a]):
        own, other, x = work[_OWN_A, i], work[_OTHER_A, i], member[a, i]
        best = NOISE
        work[_VALUE, i] = 0.0
        if own - other + top + both * _at_most(own, far) <= best:
            continue
        for j in range(size[b]):
            own_b, other_b = work[_OWN_B, j], work[_OTHER_B, j]
            gain = own - other + own_b - other_b
            if gain + 2.0 * both * min(own + other_b, other + own_b) <= best:
                continue
            gain += both * distance(X, x, X, member[b, j])
            if gain > best and gain > TOLERANCE * (own + other + own_b + other_b):
                best = gain
                partner[i] = j
        if best > NOISE:
            work[_VALUE, i] = best
            count += 1
    return count


@reordered_inner
def _at_most(left: float, right: float) -> float:
    """Return the largest squared distance of two records, given those of each to one centroid."""
    return left + right + 2.0 * math.sqrt(left * right)


@reordered_inner
def _swap(
    X: Records, member: Numbers, size: Numbers, centre: Records, work: Distances, partner: Numbers, a: int, b: int
) -> float:
    """Apply the swaps, best first, each as long as it still gains; return the gain."""
    both = 1.0 / size[a] + 1.0 / size[b]
    total = 0.0
    while True:
        i = 0
        for candidate in range(1, size[a]):
            if work[_VALUE, candidate] > work[_VALUE, i]:
                i = candidate
        gain, j = work[_VALUE, i], partner[i]
        if gain <= 0.0:
            break
        work[_VALUE, i] = 0.0
        x, y = member[a, i], member[b, j]
        if total > 0.0:  # the centroids have moved since
            before = distance(X, x, centre, a) + distance(X, y, centre, b)
            after = distance(X, x, centre, b) + distance(X, y, centre, a)
            gain = before - after + both * distance(X, x, X, y)
            if gain <= TOLERANCE * (before + after) + NOISE:
                continue
        exchange(X, member, size, centre, a, i, b, j)
        total += gain
    return total


@reordered_inner
def move(X: Records, member: Numbers, size: Numbers, centre: Records, a: int, i: int, b: int) -> None:
    """Move the i-th member of group a, which has others, to b."""
    na, nb, x = size[a], size[b], member[a, i]
    member[a, i] = member[a, na - 1]
    member[b, nb] = x
    size[a], size[b] = na - 1, nb + 1
    share_a, share_b = np.float32(1.0 / (na - 1)), np.float32(1.0 / (nb + 1))
    for column in range(X.shape[1]):
        value = X[x, column]
        centre[a, column] += (centre[a, column] - value) * share_a
        centre[b, column] += (value - centre[b, column]) * share_b


@reordered_inner
def exchange(X: Records, member: Numbers, size: Numbers, centre: Records, a: int, i: int, b: int, j: int) -> None:
    """Swap the i-th member of a with the j-th of b."""
    x, y = member[a, i], member[b, j]
    member[a, i], member[b, j] = y, x
    share_a, share_b = np.float32(1.0 / size[a]), np.float32(1.0 / size[b])
    for column in range(X.shape[1]):
        gap = X[y, column] - X[x, column]
        centre[a, column] += gap * share_a
        centre[b, column] -= gap * share_b


_ROUNDS = 100  # far more than are ever needed


@reordered_inner
def settle(state: BlockState) -> float:
    """Improve all pairs of neighbours until none gains; return what was gained."""
    near, seen, changed, clock = state.near, state.seen, state.changed, state.clock
    X, member, size, centre, work, partner = (
        state.X,
        state.member,
        state.size,
        state.centre,
        state.work,
        state.partner,
    )
    total = 0.0
    for _ in range(_ROUNDS):
        gained = 0.0
        for a in range(near.shape[0]):
            for slot in range(near.shape[1]):
                b = near[a, slot]
                if b < 0:
                    break
                if size[a] == 0 or size[b] == 0 or seen[a, slot] >= max(changed[a], changed[b]):
                    continue
                clock[0] += 1
                now = clock[0]
                gain = improve_pair(X, member, size, centre, work, partner, a, b)
                if gain > 0.0:
                    changed[a] = changed[b] = now
                    gained += gain
                seen[a, slot] = now
                for back in range(near.shape[1]):
                    if near[b, back] == a:
                        seen[b, back] = now
        total += gained
        if gained == 0.0:
            break
    return total


@reordered_inner
def chains(state: BlockState) -> float:
    """Try a chain from each record whose group, or a neighbour of it, has changed; return what was gained."""
    X, member, near, size, centre = state.X, state.member, state.near, state.size, state.centre
    total = 0.0
    cap = member.shape[1]
    k = (cap + 1) // 2
    for a in range(near.shape[0]):
        if size[a] != k or not has_changed(state, a):
            continue
        i = 0
        while i < size[a] and size[a] == k:
            b, gain, leave = _best_home(X, near, size, centre, cap, member[a, i], a)
            if b >= 0:
                total += _chain(state, a, i, b, gain, leave)
            i += 1
    return total


@reordered_inner
def _chain(state: BlockState, a: int, i: int, b: int, gain: float, leave: float) -> float:
    """Move the i-th member of a to b, and others to its place, if all that gains; return the gain."""
    X, member, near, size, centre = state.X, state.member, state.near, state.size, state.centre
    scale = 2 * gain + leave
    keep(state, a)
    keep(state, b)
    put(state, take(state, a, i), b)
    short = a
    for depth in range(DEEP):
        last = depth == DEEP - 1
        c, at, more = _best_source(X, member, near, size, centre, short, last, gain - 2 * TOLERANCE * scale)
        if c < 0:
            break
        scale += abs(more)
        spare = size[c] > (member.shape[1] + 1) // 2
        keep(state, c)
        put(state, take(state, c, at), short)
        gain += more
        if spare:
            if gain > TOLERANCE * scale + NOISE:
                accept(state)
                return gain
            break
        short = c
    restore(state)
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
            join = joining(X, x, centre, c, size)
            if join < cost:
                b, cost = c, join
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
            move_gain = leave * own - join * other
            if n > k:
                if move_gain > end:
                    end, end_c, end_i = move_gain, c, at
            elif move_gain > best:
                best, best_c, best_i = move_gain, c, at
    if gain + end > 0.0:
        return end_c, end_i, end
    if last or gain + best <= 0.0:
        return -1, -1, 0.0
    return best_c, best_i, best
