import itertools
from collections.abc import Sequence
from fractions import Fraction

import pytest

from remedies._errors import Misfit
from remedies.differential_privacy._samplers import quantile_utilities
from remedies.differential_privacy.epsilon import laplace_scale, nano
from remedies.differential_privacy.sensitivity import (
    Adjacency,
    Sensitivity,
    centred_sum_sensitivity,
    count_sensitivity,
    group_sum_sensitivity,
    histogram_sensitivity,
    quantile_sensitivity,
    sum_sensitivity,
)

SUBSTITUTE, ADD_REMOVE = Adjacency.SUBSTITUTE, Adjacency.ADD_REMOVE
LIMITS = [(0, 1), (0, 3), (2, 3), (-3, -1), (-1, 3), (-3, 3), (-3, 1), (0, 0)]


def _contributions(groups: int, *, low: int, high: int, rows: int, fewest: int = 0) -> set[tuple[int, ...]]:
    """Return every vector of sums that one unit can add to: each number of rows, each row in any group, any value."""
    one_row = [
        tuple(value if at == group else 0 for at in range(groups))
        for group in range(groups)
        for value in range(low, high + 1)
    ]
    return {
        tuple(sum(cell) for cell in zip((0,) * groups, *chosen, strict=True))
        for count in range(fewest, rows + 1)
        for chosen in itertools.combinations_with_replacement(one_row, count)
    }


def _farthest(units: set[tuple[int, ...]], adjacency: Adjacency) -> Sensitivity:
    pairs = (
        [(unit, tuple(0 for _ in unit)) for unit in units]
        if adjacency is ADD_REMOVE
        else list(itertools.combinations_with_replacement(units, 2))
    )
    steps = [[x - y for x, y in zip(one, other, strict=True)] for one, other in pairs]
    return Sensitivity(
        max(sum(abs(step) for step in move) for move in steps), max(sum(step**2 for step in move) for move in steps)
    )


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_sums_move_as_far_as_the_worst_unit_and_no_farther(adjacency: Adjacency, rows: int, limits: tuple[int, int]):
    """Trying every unit there is finds exactly the distance that the table gives, in L1 and L2, whole or by group."""
    low, high = limits
    whole = sum_sensitivity(adjacency, low=low, high=high, rows=rows)
    groups = group_sum_sensitivity(adjacency, low=low, high=high, rows=rows)
    assert whole == _farthest(_contributions(1, low=low, high=high, rows=rows), adjacency)
    assert groups == _farthest(_contributions(2, low=low, high=high, rows=rows), adjacency)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_counts_move_as_far_as_the_worst_unit_and_no_farther(adjacency: Adjacency, rows: int):
    """A count is a sum of ones, a histogram one by groups."""
    assert count_sensitivity(rows=rows) == _farthest(_contributions(1, low=1, high=1, rows=rows), adjacency)
    assert histogram_sensitivity(adjacency, rows=rows) == _farthest(
        _contributions(3, low=1, high=1, rows=rows), adjacency
    )


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_with_one_row_each_a_sum_moves_by_the_width_of_its_limits(limits: tuple[int, int]):
    """A row takes the place of another: high - low under substitute."""
    low, high = limits
    assert sum_sensitivity(SUBSTITUTE, low=low, high=high, one_row_each=True) == _farthest(
        _contributions(1, low=low, high=high, rows=1, fewest=1), SUBSTITUTE
    )


def test_the_published_scales():
    """Values from 0 to 100 at epsilon 1: 100, or 200 by group; a mean of 6040 values {0, 1}: 1 / 6040."""
    one = nano(1)
    assert laplace_scale(sum_sensitivity(SUBSTITUTE, low=0, high=100, one_row_each=True).l1, one) == 100
    assert laplace_scale(group_sum_sensitivity(SUBSTITUTE, low=0, high=100).l1, one) == 200
    mean = laplace_scale(sum_sensitivity(SUBSTITUTE, low=0, high=1, one_row_each=True).l1, one) / 6040
    assert mean == Fraction(1, 6040)
    priced_for_entering = sum_sensitivity(ADD_REMOVE, low=100, high=101)
    assert laplace_scale(priced_for_entering.l1, nano("0.5")) == 202


def test_the_centred_sum_is_narrower_than_the_sum():
    """Values from 100 to 101 lie at most half a unit from their middle."""
    assert centred_sum_sensitivity(ADD_REMOVE, low=100, high=101).l1 == 1
    assert centred_sum_sensitivity(SUBSTITUTE, low=100, high=101).l1 == 2


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)], ids=str)
@pytest.mark.parametrize("rows", [1, 2])
def test_utilities_of_quantiles_move_as_far_as_stated(adjacency: Adjacency, share: Fraction, rows: int):
    """Trying every unit, with rows below, at and above each candidate, finds exactly the distance given."""
    candidates = 3
    units = [
        tuple(map(chosen.count, range(candidates)))
        for count in range(rows + 1)
        for chosen in itertools.combinations_with_replacement(range(candidates), count)
    ]
    others = list(itertools.product(range(3), repeat=candidates))
    moved = max(
        abs(a - b)
        for rest in others
        for one, two in itertools.product(units, units if adjacency is SUBSTITUTE else [(0,) * candidates])
        for a, b in zip(_utilities(rest, one, share), _utilities(rest, two, share), strict=True)
    )
    assert moved == quantile_sensitivity(adjacency, share=share, rows=rows)
    assert moved <= rows * share.denominator


def _utilities(rest: Sequence[int], unit: Sequence[int], share: Fraction) -> list[int]:
    return quantile_utilities([a + b for a, b in zip(rest, unit, strict=True)], share=share)


def test_requests_without_meaning_are_refused():
    """Limits in the wrong order, limits off the grid, no rows, two answers about the rows, shares beyond 1."""
    with pytest.raises(Misfit, match="above the upper one"):
        sum_sensitivity(SUBSTITUTE, low=2, high=1)
    with pytest.raises(Misfit, match="an integer"):
        group_sum_sensitivity(SUBSTITUTE, low=0.5, high=1)
    with pytest.raises(Misfit, match="at least 1"):
        count_sensitivity(rows=0)
    with pytest.raises(Misfit, match="one of the two"):
        sum_sensitivity(SUBSTITUTE, low=0, high=1, rows=2, one_row_each=True)
    with pytest.raises(Misfit, match="from 0 to 1"):
        quantile_sensitivity(SUBSTITUTE, share=Fraction(3, 2))
    with pytest.raises(Misfit, match="from 0 to 1"):
        quantile_sensitivity(SUBSTITUTE, share=0.5)
