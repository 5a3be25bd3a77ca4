import numpy as np
import pandas as pd
import pytest

from remedies._errors import Misfit
from remedies.differential_privacy.frequency_oracles.choices import Choices


@pytest.mark.parametrize(
    "values",
    [
        [2, 0, 1],
        [np.int64(2), 0, 1],
        iter([2, 0, 1]),
        np.array([2, 0, 1]),
        np.array([2, 0, 1], dtype=np.uint8),
        pd.Series([2, 0, 1], index=[7, 8, 9]),
    ],
    ids=lambda values: type(values).__name__,
)
def test_integers_are_their_own_places(values: object):
    """Lists, arrays and columns alike."""
    assert Choices(3).encode(values).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    "values", [["b", "a"], np.array(["b", "a"]), pd.Series(["b", "a"]), np.array(["b", "a"], dtype=object)]
)
def test_declared_values_are_found_and_given_back(values: object):
    """By their place in the list."""
    choices = Choices(["a", "b", ("c", 1)])
    assert choices.encode(values).tolist() == [1, 0]
    assert choices.decode(np.array([2, 0])).tolist() == [("c", 1), "a"]


@pytest.mark.parametrize("bad", [3, -1, "0", 0.5, None, True, 10**30, ("a", 1)])
def test_an_undeclared_value_is_refused_without_being_shown(bad: object):
    """It is counted; its text is in no message."""
    with pytest.raises(Misfit, match=r"^1 of 2 values are not in the declared domain; declare an `other` for them$"):
        Choices(3).encode([0, bad])


@pytest.mark.parametrize("bad", ["d", None, float("nan"), 0])
def test_the_other_value_stands_for_all_that_is_not_declared(bad: object):
    """NULL included: the rule is fixed before the first report."""
    assert Choices(["a", "b", "rest"], other="rest").encode(["a", bad]).tolist() == [0, 2]
    assert Choices(4, other=3).encode([0, "d" if bad == 0 else bad]).tolist() == [0, 3]


@pytest.mark.parametrize(
    "declared", [1, 0, -5, 2**31, [], ["a"], ["a", "a"], ["a", None], "abc", True, [1, 1.0]], ids=repr
)
def test_a_domain_that_hides_nothing_or_is_unclear_is_refused(declared: object):
    """Fewer than two values, a value twice, one word."""
    with pytest.raises(Misfit):
        Choices(declared)


@pytest.mark.parametrize(("declared", "other"), [(["a", "b"], "c"), (3, 3), (3, True), (3, "0")])
def test_other_must_be_declared(declared: object, other: object):
    """It takes part like any other value."""
    with pytest.raises(Misfit, match="`other`"):
        Choices(declared, other=other)
