"""What became of the result of a query."""

import json
import math
from decimal import Decimal

import pandas as pd
import pytest

from remedies._errors import Misfit
from remedies.generalisation import compare_results

BEFORE = pd.DataFrame({"state": ["CA", "NY", None, "TX"], "n": [10, 0, 4, 0], "mean": [2.0, None, -5.0, 1.0]})
AFTER = pd.DataFrame({"mean": [3.0, 1.0, -4.0, 7.0], "n": [5, 0, 4, 9], "state": ["CA", "NY", None, "WA"]})


def test_lines_are_joined_by_what_is_no_number():
    """Each figure of a line is compared relative to what it was; NULL is a key of its own."""
    found = compare_results(BEFORE, AFTER)
    assert found.keys == ("state",)
    assert (found.lines_before, found.lines_after, found.vanished, found.appeared) == (4, 4, 1, 1)
    assert found.lines["n change"].tolist()[:3] == [-0.5, 0, 0]
    assert found.lines["n change"].isna().tolist() == [False, False, False, True, True]
    assert found.lines["mean change"].tolist()[0] == 0.5
    assert found.lines["mean change"].tolist()[2] == pytest.approx(0.2)
    assert found.lines["state"].isna().tolist() == [False, False, True, False, False]


def test_figures_are_summed_up():
    """Mean and largest change are over the cells that are numbers on both sides."""
    found = compare_results(BEFORE, AFTER).figures
    assert (found["n"].cells, found["n"].mean, found["n"].largest) == (3, pytest.approx(0.5 / 3), 0.5)
    assert (found["mean"].cells, found["mean"].mean) == (2, pytest.approx(0.35))
    assert (found["mean"].vanished, found["mean"].appeared) == (0, 1)


def test_something_from_nothing_is_infinite():
    """A figure that was 0 has changed infinitely, and JSON says so in a word."""
    found = compare_results(pd.DataFrame({"n": [0]}), pd.DataFrame({"n": [-2]}))
    assert found.lines["n change"].tolist() == [-math.inf]
    text = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert text["figures"]["n"]["largest"] == text["figures"]["n"]["mean"] == "infinite"
    assert text["keys"] == []


def test_the_same_result_has_not_changed():
    """A result compared with itself has no change, infinite figures included."""
    frame = pd.DataFrame({"g": ["a", "b"], "n": [math.inf, 3.0]})
    found = compare_results(frame, frame)
    assert found.lines["n change"].tolist() == [0, 0]


def test_numbers_can_be_keys():
    """A grouping by a number is named as one, whatever its type on either side."""
    before = pd.DataFrame({"year": [2020, 2021], "n": [2, 4]})
    after = pd.DataFrame({"year": [2021.0, 2022.0], "n": [Decimal(5), None]})
    found = compare_results(before, after, keys=["year"])
    assert found.lines["n change"].tolist()[1] == 0.25
    assert (found.vanished, found.appeared) == (1, 1)


def test_results_without_lines():
    """An empty result has nothing in common with another one."""
    found = compare_results(BEFORE, AFTER.iloc[:0])
    assert (found.vanished, found.appeared, found.figures["n"].mean) == (4, 0, None)
    nothing = compare_results(BEFORE.iloc[:0], AFTER.iloc[:0])
    assert (len(nothing.lines), nothing.vanished) == (0, 0)


@pytest.mark.parametrize(
    ("before", "after", "keys", "message"),
    [
        (BEFORE, AFTER.drop(columns="n"), None, "the results have the columns state, n, mean and mean, state"),
        (BEFORE, AFTER, ["stat"], "column 'stat' is not in the result; did you mean 'state'"),
        (BEFORE, AFTER, ["n"], "column 'state' is no key and holds no numbers"),
        (BEFORE, AFTER, ["n", "state", "mean"], "all columns are keys"),
        (BEFORE[["n"]], AFTER[["n"]], None, "several lines of the first result have the same key"),
        (pd.concat([BEFORE, BEFORE]), AFTER, None, "several lines of the first result"),
        (BEFORE, pd.concat([AFTER, AFTER]), None, "several lines of the second result"),
    ],
)
def test_what_cannot_be_compared(before, after, keys, message):
    """Other columns, keys that do not tell lines apart and results without numbers are refused, naming no value."""
    with pytest.raises(Misfit, match=message):
        compare_results(before, after, keys=keys)
