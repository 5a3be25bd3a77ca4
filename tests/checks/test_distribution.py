"""A column is distributed as in a reference."""

import math
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.spatial.distance import jensenshannon
from scipy.stats import wasserstein_distance

from checks import Misconfigured, Status, UnknownReason
from checks.distribution import Distribution
from tests.checks.ask import ENGINES, EXAMPLES, NOW, Question, Rows, ask, past, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {
    "rows",
    "reference_rows",
    "psi",
    "psi_by_chance",
    "jensen_shannon",
    "wasserstein",
    "missing_share",
    "reference_missing_share",
    "values",
    "new",
    "lost",
    "new_share",
    "lost_share",
}
_WINDOWS = {"column": "id", "time_column": "at", "window": "2h", "reference_window": "10h", "timezone": "UTC"}
_IN_TIME = {**_WINDOWS, "max_wasserstein": 9}
_NUMBERS = {"column": "a", "reference": "o", "reference_column": "id"}
EFFECTS = {
    "column": ({"reference": "o", "reference_column": "b", "max_jensen_shannon": 1}, "b", "q", "t", "jensen_shannon"),
    "reference": (
        {"column": "q", "reference_column": "qq", "max_jensen_shannon": 1},
        "o",
        "p",
        "t",
        "jensen_shannon",
    ),
    "reference_column": (
        {"column": "b", "reference": "o", "max_jensen_shannon": 1},
        "b",
        "qq",
        "t",
        "jensen_shannon",
    ),
    "time_column": (_IN_TIME, "at", "later", "hours", "rows"),
    "window": (_IN_TIME, "2h", "4h", "hours", "rows"),
    "reference_window": (_IN_TIME, "1h", "10h", "hours", "reference_rows"),
    "timezone": (_IN_TIME, "UTC", "Asia/Tokyo", "hours", "rows"),
    "bins": ({**_NUMBERS, "max_wasserstein": 9}, 2, 4, "t", "psi"),
    "max_psi": ({"column": "b", "reference": "o"}, 0.01, 99),
    "max_jensen_shannon": ({"column": "b", "reference": "o"}, 0.01, 1),
    "max_wasserstein": (_NUMBERS, 0, 9),
    "max_new_share": ({"column": "b", "reference": "o"}, 0, 0.5),
    "max_lost_share": ({"column": "q", "reference": "p", "reference_column": "qq"}, 0, 0.5),
    "where": ({"column": "b", "reference": "o", "max_new_share": 0}, ABSENT, "id = 1"),
    "warn": ({"column": "b", "reference": "o", "max_new_share": 0.5}, ABSENT, {"max_new_share": 0}),
    "on_empty": ({"column": "b", "reference": "o", "max_new_share": 0.5, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"column": "twin", "reference": "{other}", "max_wasserstein": 1},
    {"column": "wage", "reference": "{other}", "max_wasserstein": 1e12},
    {"column": "fee", "reference": "{other}", "max_jensen_shannon": 1},
    {"column": "name", "reference": "{other}", "max_new_share": 0},
    {"column": "email", "reference": "{other}", "max_lost_share": 0},
    {"column": "born", "reference": "{other}", "max_psi": 0.1},
    {"column": "name", "reference": "{other}", "reference_column": "age", "max_psi": 0.1},
]

TYPES = {"v": "float", "kind": "text", "at": "timestamp"}


def rows(*cells):
    """Return rows of a number, a kind and a time."""
    return Rows(TYPES, [(*cell, None)[:3] for cell in cells])


def kinds(text):
    """Return a row for each letter; `-` is NULL."""
    return rows(*((None, None if letter == "-" else letter) for letter in text))


def numbers(*values):
    """Return a row for each number."""
    return rows(*((value, "x") for value in values))


def check(**parameters):
    """Return the check of a column beside the table `before`."""
    return Distribution(**{"column": "kind", "reference": "before", **parameters})


def compared(dialect, now, before, **parameters):
    """Return the outcome of the check of two tables."""
    with place(dialect, t=now, before=before) as here:
        return ask(check(**parameters), here)


def test_categories(dialect):
    """Shares of values, of new and of lost ones, and of NULL; no value is named."""
    outcome = compared(dialect, kinds("aaabbcc---"), kinds("aabbdddd--"), max_new_share=0.5)
    assert outcome.status is Status.PASS
    seen = {name: outcome.observed[name] for name in ("rows", "reference_rows", "values", "new", "lost")}
    assert seen == {"rows": 10, "reference_rows": 10, "values": 4, "new": 1, "lost": 1}
    shares = ("new_share", "lost_share", "missing_share", "reference_missing_share")
    assert [outcome.observed[name] for name in shares] == pytest.approx([0.2, 0.4, 0.3, 0.2])
    now, before = [0.3, 0.2, 0.2, 0, 0.3], [0.2, 0.2, 0, 0.4, 0.2]
    assert outcome.observed["jensen_shannon"] == pytest.approx(jensenshannon(now, before, 2))
    pairs = [(p or 0.0001, q or 0.0001) for p, q in zip(now, before, strict=True)]
    assert outcome.observed["psi"] == pytest.approx(sum((p - q) * math.log(p / q) for p, q in pairs))
    assert outcome.observed["wasserstein"] is None


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"max_new_share": 0.1}, "20% of the rows have a value of kind that the reference lacks, limit 10%"),
        ({"max_lost_share": 0.3}, "a value of kind that 40% of the reference had is gone, limit 30%"),
        ({"max_jensen_shannon": 0.3}, "kind: Jensen-Shannon distance 0.560825, limit 0.3"),
        ({"max_psi": 1}, "kind: population stability index 4.9173, limit 1"),
    ],
)
def test_limits(dialect, limit, message):
    """Each limit fails by itself, and says what was found."""
    outcome = compared(dialect, kinds("aaabbcc---"), kinds("aabbdddd--"), **limit)
    assert outcome.status is Status.FAIL
    assert str(outcome.message).startswith(message)
    assert outcome.expected == limit


@settings(max_examples=examples(EXAMPLES))
@given(
    now=st.lists(st.integers(-9, 9) | st.floats(-50, 50, width=32), min_size=1, max_size=30),
    before=st.lists(st.integers(-9, 9) | st.floats(-50, 50, width=32), min_size=1, max_size=30),
)
def test_the_wasserstein_distance_is_that_of_scipy(now, before):
    """The engine's area between both distribution functions is the distance of the optimal transport."""
    for engine in ENGINES[:2]:
        outcome = compared(engine, numbers(*now), numbers(*before), column="v", max_wasserstein=1000)
        assert outcome.observed["wasserstein"] == pytest.approx(wasserstein_distance(now, before), abs=1e-9)


def test_numbers_are_cut_by_the_reference(dialect):
    """Bins have equal shares of the reference, so that it is even; its index is that of the shares now."""
    before = [float(number) for number in range(100)]
    now = [number * 0.5 for number in before]
    outcome = compared(dialect, numbers(*now), numbers(*before), column="v", bins=4, max_psi=5)
    shares = [0.49, 0.5, 0.01, 0]  # 24.5 and 49.5 stand at an edge, and count above it
    wanted = sum(((share or 0.0001) - 0.25) * math.log((share or 0.0001) / 0.25) for share in shares)
    assert outcome.observed["psi"] == pytest.approx(wanted)
    assert (outcome.observed["new"], outcome.observed["values"]) == (None, None)
    assert outcome.observed["psi_by_chance"] == pytest.approx(3 * (1 / 100 + 1 / 100))


def test_what_is_no_number_is_missing(dialect):
    """NULL is counted beside the numbers, which are compared among themselves."""
    outcome = compared(dialect, numbers(1.0, 2.0, None, None), numbers(1.0, 2.0), column="v", max_wasserstein=0)
    assert outcome.status is Status.PASS
    assert (outcome.observed["missing_share"], outcome.observed["reference_missing_share"]) == (0.5, 0)


@pytest.mark.parametrize(("now", "before"), [((None, None), (1.0, 2.0)), ((1.0, 2.0), (None,))])
def test_without_a_number_no_distance_passes(dialect, now, before):
    """Where one side has NULL alone, nothing was compared: unknown, not a pass."""
    outcome = compared(dialect, numbers(*now), numbers(*before), column="v", max_wasserstein=1000)
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)
    assert outcome.observed["wasserstein"] is None


def test_nan_and_infinity_are_missing():
    """They have no place in a distance."""
    odd = numbers(1.0, 2.0, math.nan, math.inf, -math.inf)
    outcome = compared("duckdb", odd, numbers(1.0, 2.0), column="v", max_wasserstein=0)
    assert outcome.status is Status.PASS
    assert outcome.observed["missing_share"] == 0.6


def test_windows_of_time(dialect):
    """Rows of the newest period are compared with those of the period before; all others are left out."""
    hours = [-1, 0.5, 1, 3, 4, 5, 99]
    cells = [(float(hour), "x", (NOW - timedelta(hours=hour)).replace(tzinfo=None)) for hour in hours]
    windows = {"column": "v", "time_column": "at", "window": "2h", "reference_window": "6h", "timezone": "UTC"}
    with place(dialect, t=Rows(TYPES, cells)) as here:
        outcome = ask(Distribution(**windows, max_wasserstein=3), here)
    assert (outcome.observed["rows"], outcome.observed["reference_rows"]) == (2, 3)
    assert outcome.observed["wasserstein"] == pytest.approx(wasserstein_distance([0.5, 1], [3, 4, 5]))
    assert outcome.status is Status.FAIL


def test_too_few_rows_say_nothing(dialect):
    """Where chance alone reaches the limit, it is unknown, not a pass and not a failure."""
    outcome = compared(dialect, kinds("ab"), kinds("abab"), max_psi=0.25)
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)
    assert "a population stability index of 0.75 is expected" in str(outcome.message)


@pytest.mark.parametrize(("now", "before"), [("", "ab"), ("ab", "")])
def test_without_rows(dialect, now, before):
    """A table without rows, or a reference without, is unknown."""
    outcome = compared(dialect, kinds(now), kinds(before), max_jensen_shannon=0.1)
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)


def test_chance_is_what_chance_makes():
    """Two samples of one distribution have on average the index that is stated."""
    generator = np.random.default_rng(5)
    found = []
    for _ in range(60):
        now, before = (generator.choice(list("abcdefgh"), size=500) for _ in range(2))
        found.append(compared("duckdb", kinds(now), kinds(before), max_psi=1).observed["psi"])
    assert np.mean(found) == pytest.approx(7 * (1 / 500 + 1 / 500), rel=0.15)


def test_learned(dialect):
    """A limit that is learned from earlier indexes fails above them, never below."""
    usual = [past({"psi": 0.02 + day % 7 / 1000}, timedelta(days=day)) for day in range(120, 0, -1)]
    history = [replace(one, age=None, in_span=True) for one in usual]
    learned = {"limits": {"learned": {"false_alarms": "1 per 30d"}}}
    with place(dialect, t=kinds("ab" * 40), before=kinds("ab" * 40)) as here:
        outcome = ask(check(**learned), here, history=history)
    assert outcome.status is Status.PASS
    with place(dialect, t=kinds("a" * 70 + "b" * 10), before=kinds("ab" * 40)) as here:
        outcome = ask(check(**learned), here, history=history)
    assert outcome.status is Status.FAIL
    assert "above the learned limit" in str(outcome.message)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"max_psi": 1, "time_column": "at"}, "go without 'reference'"),
        ({"max_psi": 1, "reference": None}, "either 'reference', or"),
        ({"max_psi": 1, "reference": None, "time_column": "at", "window": "1h"}, "either 'reference', or"),
        ({}, "at least one of"),
        ({"max_psi": 0}, "greater than 0"),
    ],
)
def test_parameters(parameters, problem):
    """A reference is a table or a time, and something has to be limited."""
    with pytest.raises(ValidationError, match=problem):
        check(**parameters)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"column": "v", "max_new_share": 0.1}, "'max_new_share' is not of float64"),
        ({"column": "kind", "max_wasserstein": 0.1}, "'max_wasserstein' is not of string"),
        ({"column": "kind", "reference_column": "v", "max_psi": 0.1}, "the same type"),
        ({"column": "nothing", "max_psi": 0.1}, "column 'nothing' not found"),
    ],
)
def test_columns(parameters, problem):
    """A limit has to fit the column, and both columns have to compare."""
    with place("duckdb", t=numbers(1.0), before=numbers(1.0)) as here, pytest.raises(Misconfigured, match=problem):
        Question(check(**parameters), here).wants()
