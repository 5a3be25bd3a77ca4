import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies._errors import Misfit
from remedies.differential_privacy.accounting import WindowBudget


@given(st.dictionaries(st.integers(0, 20), st.integers(0, 9), max_size=12), st.integers(1, 6), st.integers(0, 20))
def test_no_window_is_ever_overspent(asked: dict[int, int], window: int, step: int):
    """Charged in any order, steps never cost more than the bound in any window; and one more would, somewhere."""
    budget = WindowBudget(12, window)
    charges: dict[int, int] = {}
    for at, cost in asked.items():
        charges[at] = min(cost, budget.remaining(charges, step=at))
    charges[step] = charges.get(step, 0) + budget.remaining(charges, step=step)
    windows = [sum(charges.get(at, 0) for at in range(start, start + window)) for start in range(-6, 27)]
    assert max(windows) <= 12
    assert max(windows[start + 6] for start in range(step - window + 1, step + 1) if -6 <= start < 27) == 12


def test_what_was_spent_comes_back_after_a_window():
    """Seven days at one seventh each: on the eighth day there is room again."""
    budget = WindowBudget(7, 7)
    charges = dict.fromkeys(range(1, 8), 1)
    assert budget.remaining(charges, step=7) == 0
    assert budget.remaining(charges, step=8) == 1


@pytest.mark.parametrize(("bound", "window"), [(0, 1), (1, 0)])
def test_a_budget_of_nothing_is_refused(bound: int, window: int):
    """Both are at least 1."""
    with pytest.raises(Misfit, match="at least 1"):
        WindowBudget(bound, window)
