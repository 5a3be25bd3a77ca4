"""Block state: the arrays on which kernels improve the groups of one block, and the elementary steps on it.

Kernels here may reorder sums, so that they become vector instructions: the same machine gives the same bits, and what
they find is judged again in float64 by the caller.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from remedies._compiled import reordered_inner


class BlockState(NamedTuple):
    """Records and groups of one block; g groups fit, those of size 0 are free.

    Kernels name the arrays they loop over before the loop: each look into a Bench counts a reference, atomically.
    """

    X: npt.NDArray[np.float32]  # (records, columns)
    member: npt.NDArray[np.int32]  # (g, 2k - 1) records of each group
    size: npt.NDArray[np.int32]  # (g,)
    centre: npt.NDArray[np.float32]  # (g, columns)
    near: npt.NDArray[np.int32]  # (g, many) nearest groups, nearest first; -1 where there are fewer
    seen: npt.NDArray[np.int32]  # (g, many) when the pair was last looked at; -1 never
    changed: npt.NDArray[np.int32]  # (g,) when the group last changed
    clock: npt.NDArray[np.int64]  # (2,) the time; how many groups the log holds
    log_group: npt.NDArray[np.int32]  # groups as they were, to be restored
    log_member: npt.NDArray[np.int32]
    log_size: npt.NDArray[np.int32]
    log_centre: npt.NDArray[np.float32]
    work: npt.NDArray[np.float64]  # (5, 2k - 1)
    partner: npt.NDArray[np.int32]  # (2k - 1,)
    pool: npt.NDArray[np.float64]  # (3, (many + 1) (2k - 1))


# a gain counts only above this share of the distances it was made of: rounding can neither worsen groups nor turn in
# a circle
TOLERANCE = 1e-6
# and above this, of coordinates of about 1: what rounding leaves between a centroid and records that are all like it
NOISE = 1e-10
# a chain touches at most so many groups
DEEP = 5


@reordered_inner
def make_state(records: int, columns: int, k: int, groups: int, many: int) -> BlockState:
    """Return an empty state."""
    cap = 2 * k - 1
    log = max(many + 2, DEEP + 3)
    return BlockState(
        np.empty((records, columns), np.float32),
        np.zeros((groups, cap), np.int32),
        np.zeros(groups, np.int32),
        np.zeros((groups, columns), np.float32),
        np.full((groups, many), -1, np.int32),
        np.full((groups, many), -1, np.int32),
        np.zeros(groups, np.int32),
        np.zeros(2, np.int64),
        np.empty(log, np.int32),
        np.empty((log, cap), np.int32),
        np.empty(log, np.int32),
        np.empty((log, columns), np.float32),
        np.empty((5, cap), np.float64),
        np.empty(cap, np.int32),
        np.empty((3, (many + 1) * cap), np.float64),
    )


@reordered_inner
def distance(left: npt.NDArray[np.float32], i: int, right: npt.NDArray[np.float32], j: int) -> float:
    """Return the squared distance of row i of `left` and row j of `right`."""
    total = np.float32(0)
    for column in range(left.shape[1]):
        gap = left[i, column] - right[j, column]
        total += gap * gap
    return total  # type: ignore[return-value]  # a float32, which stays one


@reordered_inner
def distances(
    left: npt.NDArray[np.float32], i: int, right: npt.NDArray[np.float32], j: int, other: int
) -> tuple[float, float]:
    """Return the squared distances of row i of `left` to rows j and `other` of `right`."""
    to_j, to_other = np.float32(0), np.float32(0)
    for column in range(left.shape[1]):
        value = left[i, column]
        gap = value - right[j, column]
        to_j += gap * gap
        gap = value - right[other, column]
        to_other += gap * gap
    return to_j, to_other  # type: ignore[return-value]  # float32, which stay so


@reordered_inner
def leaving(
    X: npt.NDArray[np.float32], x: int, centre: npt.NDArray[np.float32], a: int, size: npt.NDArray[np.int32]
) -> float:
    """Return how much the sum of squares falls when record x leaves group a."""
    n = size[a]
    return float(n / (n - 1) * distance(X, x, centre, a))


@reordered_inner
def joining(
    X: npt.NDArray[np.float32], x: int, centre: npt.NDArray[np.float32], b: int, size: npt.NDArray[np.int32]
) -> float:
    """Return how much the sum of squares grows when record x joins group b."""
    n = size[b]
    return float(n / (n + 1) * distance(X, x, centre, b))


@reordered_inner
def put(state: BlockState, x: int, b: int) -> None:
    """Add record x to group b."""
    n = state.size[b]
    state.member[b, n] = x
    state.size[b] = n + 1
    share = np.float32(1.0 / (n + 1))
    X, centre = state.X, state.centre
    for column in range(X.shape[1]):
        centre[b, column] += (X[x, column] - centre[b, column]) * share


@reordered_inner
def take(state: BlockState, a: int, i: int) -> int:
    """Remove the i-th member of group a, which has others; return the record."""
    n = state.size[a]
    x = state.member[a, i]
    state.member[a, i] = state.member[a, n - 1]
    state.size[a] = n - 1
    share = np.float32(1.0 / (n - 1))
    X, centre = state.X, state.centre
    for column in range(X.shape[1]):
        centre[a, column] += (centre[a, column] - X[x, column]) * share
    return int(x)


@reordered_inner
def recentre(state: BlockState, a: int) -> None:
    """Compute a group's centroid again from its members."""
    state.centre[a] = np.float32(0)
    share = np.float32(1.0 / state.size[a])
    X, centre, member = state.X, state.centre, state.member
    for i in range(state.size[a]):
        x = member[a, i]
        for column in range(X.shape[1]):
            centre[a, column] += X[x, column]
    for column in range(X.shape[1]):
        centre[a, column] *= share


@reordered_inner
def keep(state: BlockState, a: int) -> None:
    """Log group a as it is, unless the log has it."""
    held = state.clock[1]
    for at in range(held):
        if state.log_group[at] == a:
            return
    state.log_group[held] = a
    state.log_size[held] = state.size[a]
    for i in range(state.size[a]):
        state.log_member[held, i] = state.member[a, i]
    for column in range(state.X.shape[1]):
        state.log_centre[held, column] = state.centre[a, column]
    state.clock[1] = held + 1


@reordered_inner
def accept(state: BlockState) -> None:
    """End what was begun: note that the logged groups have changed, empty the log."""
    state.clock[0] += 1
    for at in range(state.clock[1]):
        state.changed[state.log_group[at]] = state.clock[0]
    state.clock[1] = 0


@reordered_inner
def restore(state: BlockState) -> None:
    """Undo what was begun: make the logged groups what they were, empty the log."""
    for at in range(state.clock[1]):
        a = state.log_group[at]
        state.size[a] = state.log_size[at]
        for i in range(state.size[a]):
            state.member[a, i] = state.log_member[at, i]
        for column in range(state.X.shape[1]):
            state.centre[a, column] = state.log_centre[at, column]
    state.clock[1] = 0


@reordered_inner
def has_changed(state: BlockState, a: int) -> bool:
    """Check whether group a is there, and it or a neighbour has changed."""
    if state.size[a] == 0:
        return False
    if state.changed[a] > 0:
        return True
    for slot in range(state.near.shape[1]):
        if state.near[a, slot] >= 0 and state.changed[state.near[a, slot]] > 0:
            return True
    return False
