"""A choice of each menu within a budget: HiGHS is the oracle."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incidents.knapsack import Frontier, MenuItem
from tests.tiers import examples

SIZES = st.integers(0, 1_000).map(lambda number: number / 8)
ITEMS = st.builds(MenuItem, SIZES, SIZES)
MENUS = st.lists(st.lists(ITEMS, min_size=1, max_size=6), min_size=1, max_size=12)


def _optimum(menus: Sequence[Sequence[MenuItem]], budget: float, *, relaxed: bool) -> float:
    """Return the smallest loss within a budget, of whole items or of shares of them."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    items = [item for menu in menus for item in menu]
    one_each = np.array(
        [[place == number for place, menu in enumerate(menus) for _ in menu] for number in range(len(menus))]
    )
    result = milp(
        [item.loss for item in items],
        constraints=[
            LinearConstraint([[item.weight for item in items]], -np.inf, budget),
            LinearConstraint(one_each.astype(float), 1, 1),
        ],
        integrality=np.zeros(len(items)) if relaxed else np.ones(len(items)),
        bounds=Bounds(0, 1),
    )
    assert result.success
    return float(result.fun)


@pytest.mark.disclosure
@settings(max_examples=examples(150), deadline=None)
@given(MENUS, st.floats(0, 1))
def test_the_choice_is_the_best_within_the_gap(menus: Sequence[Sequence[MenuItem]], share: float) -> None:
    """The loss is at most the gap above the optimum, and the bound lies between the relaxation and the optimum."""
    frontier = Frontier.of(menus)
    heaviest = sum(max(item.weight for item in menu) for menu in menus)
    budget = frontier.least + share * (heaviest - frontier.least)
    choice = frontier.choose(budget)
    optimum, relaxed = (_optimum(menus, budget, relaxed=relaxed) for relaxed in (False, True))
    chosen = [menu[place] for menu, place in zip(menus, choice.chosen, strict=True)]
    assert choice.weight == pytest.approx(sum(item.weight for item in chosen))
    assert choice.weight <= budget + 1e-6
    assert choice.loss == pytest.approx(sum(item.loss for item in chosen))
    assert relaxed - 1e-6 <= choice.bound <= optimum + 1e-6
    assert optimum - 1e-6 <= choice.loss
    assert choice.gap <= 0.001


@pytest.mark.disclosure
@settings(max_examples=examples(100), deadline=None)
@given(MENUS, st.floats(0, 1))
def test_the_bound_of_the_walk_is_the_linear_relaxation(menus: Sequence[Sequence[MenuItem]], share: float) -> None:
    """Where the walk along the hulls is cut lies the optimum of shares of items, which the slope extends."""
    frontier = Frontier.of(menus)
    heaviest = sum(max(item.weight for item in menu) for menu in menus)
    budget = frontier.least + share * (heaviest - frontier.least)
    weight, loss = frontier.least, sum(menu[at].loss for menu, at in zip(menus, frontier.first, strict=True))
    for step in frontier.steps:
        part = min(1.0, (budget - weight) / step.weight)
        weight, loss = weight + part * step.weight, loss - part * step.loss
        if part < 1:
            break
    assert loss == pytest.approx(_optimum(menus, budget, relaxed=True), abs=1e-6)
    assert frontier.choose(budget).bound >= loss - 1e-6


def test_steps_of_less_use_come_later() -> None:
    """A budget buys the step that saves most for its weight; a dominated item is never chosen."""
    menus = [
        [MenuItem(1, 100), MenuItem(2, 50), MenuItem(4, 25)],
        [MenuItem(1, 10), MenuItem(2, 9), MenuItem(3, 20)],
    ]
    frontier = Frontier.of(menus)
    assert frontier.least == 2
    assert [frontier.choose(budget).chosen for budget in (2, 3, 4, 5, 6, 9)] == [
        (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 1),
    ]  # fmt: skip
    assert [frontier.choose(budget).slope for budget in (2, 3, 6)] == [50, 12.5, 0]
    assert frontier.choose(5).gap == 0


def test_a_menu_without_loss_has_no_gap() -> None:
    """Where nothing is lost, the lightest items are the best."""
    choice = Frontier.of([[MenuItem(3, 0), MenuItem(1, 0)]]).choose(2)
    assert (choice.chosen, choice.loss, choice.gap) == ((1,), 0, 0)
