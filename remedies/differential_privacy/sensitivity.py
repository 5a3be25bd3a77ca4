"""How far one unit's record can move a statistic: derived from the request, never typed by a person.

Statistics are integer sums before noise: values are clamped to declared limits and rounded to a declared grid, and
limits are given here in units of that grid. A unit (a person, say) has at most m rows. Between neighbouring tables, one
unit's rows are other rows (`substitute`), or are there in one table only (`add-remove`).

A unit adds to the cells of a statistic a vector that lies in the convex hull of m lo e_a and m hi e_a (all its rows in
one cell a, at one limit) and, having fewer rows, of 0. The distance of two such vectors is largest at those corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from remedies._errors import Misfit
from remedies.differential_privacy._state import integer


class Adjacency(StrEnum):
    """Which two tables are neighbours: one unit's record differs (their size is public), or is missing in one."""

    SUBSTITUTE = "substitute"
    ADD_REMOVE = "add-remove"


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The largest distance of neighbours: `l1`, for discrete Laplace noise, and the square of L2, for zCDP."""

    l1: int
    l2_squared: int


def count_sensitivity(*, rows: int = 1) -> Sensitivity:
    """Return the sensitivity of one count, under either adjacency, for at most `rows` rows per unit."""
    _check_rows(rows)
    return Sensitivity(rows, rows**2)


def histogram_sensitivity(adjacency: Adjacency, *, rows: int = 1) -> Sensitivity:
    """Return the sensitivity of counts over disjoint cells: under substitute the rows can all change their cell."""
    _check_rows(rows)
    cells = 2 if adjacency is Adjacency.SUBSTITUTE else 1
    return Sensitivity(cells * rows, cells * rows**2)


def sum_sensitivity(
    adjacency: Adjacency, *, low: int, high: int, rows: int = 1, one_row_each: bool = False
) -> Sensitivity:
    """Return the sensitivity of a sum over the whole table, of values in [low, high].

    `one_row_each`: every unit has exactly one row, so that under substitute a row always takes the place of another;
    otherwise a unit may have none, and 0 counts among the values.

    Raises:
        Misfit: the limits are in the wrong order, or `rows` contradicts `one_row_each`.
    """
    _check_rows(rows)
    _check_limits(low, high)
    if one_row_each and rows != 1:
        raise Misfit(f"each unit has exactly one row and up to {rows} rows; give one of the two")
    if adjacency is Adjacency.ADD_REMOVE:
        moved = rows * max(abs(low), abs(high))
    elif one_row_each:
        moved = high - low
    else:
        moved = rows * (max(high, 0) - min(low, 0))
    return Sensitivity(moved, moved**2)


def group_sum_sensitivity(adjacency: Adjacency, *, low: int, high: int, rows: int = 1) -> Sensitivity:
    """Return the sensitivity of sums over disjoint groups, of values in [low, high].

    Under substitute the L1 distance is largest between two groups; the L2 distance may be larger within one, when the
    limits have both signs: from m low to m high there.

    Raises:
        Misfit: the limits are in the wrong order.
    """
    _check_rows(rows)
    _check_limits(low, high)
    largest = max(abs(low), abs(high))
    if adjacency is Adjacency.ADD_REMOVE:
        return Sensitivity(rows * largest, (rows * largest) ** 2)
    within = max(high, 0) - min(low, 0)
    return Sensitivity(2 * rows * largest, rows**2 * max(2 * largest**2, within**2))


def centred_sum_sensitivity(adjacency: Adjacency, *, low: int, high: int, rows: int = 1) -> Sensitivity:
    """Return the sensitivity of the sum of 2x - (low + high): twice the distance from the middle, an integer.

    A mean whose number of rows is not public is this sum / (2 noisy count) + the middle, with half of the loss each.

    Raises:
        Misfit: the limits are in the wrong order.
    """
    _check_limits(low, high)
    return sum_sensitivity(adjacency, low=low - high, high=high - low, rows=rows)


def quantile_sensitivity(adjacency: Adjacency, *, share: Fraction, rows: int = 1) -> int:
    """Return the sensitivity of `quantile_utilities` of that share q: in units of 1 / the share's denominator.

    A utility is min(-A, B) with A = #(x < c) - q n and B = #(x <= c) - q n; a minimum moves at most as far as what
    moves farthest in it. n counts the unit's rows too: each row adds 1 - q to A where it lies below c, else -q, and to
    B 1 - q where it is not above c, else -q. So up to m rows of a unit add from -q m to (1 - q) m to either. Between
    having no row and any record (`add-remove`) that is a distance of at most m max(q, 1 - q), and between any two
    records (`substitute`), of as many rows or not, of at most m. For no share is that more than 1 for one row.

    Raises:
        Misfit: the share is not between 0 and 1.
    """
    _check_rows(rows)
    check_share(share)
    a, b = share.numerator, share.denominator
    return rows * (b if adjacency is Adjacency.SUBSTITUTE else max(a, b - a))


def check_share(share: Fraction) -> None:
    """Check that a quantile's share is a fraction from 0 to 1.

    Raises:
        Misfit: it is not.
    """
    if type(share) not in {int, Fraction} or not 0 <= share <= 1:
        raise Misfit(f"the share of a quantile is {share!r}, expected a Fraction from 0 to 1")


def _check_rows(rows: int) -> None:
    integer(rows, name="the rows of a unit", least=1)


def _check_limits(low: int, high: int) -> None:
    for limit in (low, high):
        integer(limit, name="a limit, in units of the grid to which values are rounded,")
    if low > high:
        raise Misfit(f"values from {low} to {high}: the lower limit is above the upper one")


def halves(nano_epsilon: int) -> tuple[int, int]:
    """Split a loss between the sum and the count of a mean, exactly: what does not divide goes to the count.

    So is a mean released where the number of rows is not public: half for a sum around the middle, half for the count.

    Raises:
        Misfit: a single nano-epsilon cannot be split.
    """
    if nano_epsilon < 2:
        raise Misfit(f"{nano_epsilon} nano-epsilon cannot be split between a sum and a count, expected at least 2")
    return nano_epsilon // 2, nano_epsilon - nano_epsilon // 2


def mean_of(centred_sum: int, rows: int, *, low: int, high: int) -> Fraction:
    """Return the mean of values in [low, high] from the noisy sum of 2x - (low + high) and the noisy count.

    It is clamped to the limits, and a count below 1 is read as 1: what is computed from noisy numbers costs nothing.
    The sum (`centred_sum_sensitivity`) is counted in half units of the grid.
    """
    mean = Fraction(low + high, 2) + Fraction(centred_sum, 2 * max(rows, 1))
    return min(max(mean, Fraction(low)), Fraction(high))
