"""A check of values that found none has compared nothing, and does not pass."""

from datetime import datetime

import pytest

from checks import Status, UnknownReason
from checks.accepted_values import AcceptedValues
from checks.expectation import Expectation
from checks.foreign_key import ForeignKey
from checks.functional_dependency import FunctionalDependency
from checks.pattern import Pattern
from checks.range import Range
from checks.unique import Unique
from tests.checks.ask import Rows, ask, place

TYPES = {"id": "int", "n": "int", "s": "text", "at": "timestamp"}
NULLS = [(1, None, None, None), (2, None, None, None)]
QUESTIONS = {
    "range": (Range, {"column": "n", "min": 0}),
    "range of times": (Range, {"column": "at", "min": datetime(2026, 1, 1)}),  # noqa: DTZ001 - a naive column
    "accepted_values": (AcceptedValues, {"column": "s", "values": ("a",)}),
    "pattern": (Pattern, {"column": "s", "pattern": "a"}),
    "unique": (Unique, {"columns": ("id", "n")}),
    "foreign_key": (ForeignKey, {"column": "n", "references": "o.n"}),
    "functional_dependency": (FunctionalDependency, {"determinant": ("id",), "dependent": "n"}),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_column_of_nothing_but_null_is_unknown(dialect, name):
    """No value broke the rule, and none kept it; `on_empty` says what that means instead."""
    check, words = QUESTIONS[name]
    with place(dialect, t=Rows(TYPES, NULLS), o=Rows({"n": "int"}, [(1,)])) as here:
        outcome = ask(check(**words), here)
        assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)
        assert str(outcome.message) == "no values to evaluate: every row has NULL"
        assert outcome.observed["rows"] == 2
        assert ask(check(**words, on_empty="pass"), here).status is Status.PASS
        assert ask(check(**words, on_empty="fail"), here).status is Status.FAIL


@pytest.mark.parametrize("name", QUESTIONS)
def test_one_value_is_enough(dialect, name):
    """A filter that leaves none is as good as a column without any."""
    check, words = QUESTIONS[name]
    value = (3, 1, "a", datetime(2026, 2, 1))  # noqa: DTZ001 - a naive column
    with place(dialect, t=Rows(TYPES, [*NULLS, value]), o=Rows({"n": "int"}, [(1,)])) as here:
        assert ask(check(**words), here).status is Status.PASS
        assert ask(check(**words, where="id < 3"), here).status is Status.UNKNOWN


def test_what_is_forbidden_is_broken_by_null(dialect):
    """Where NULL is not allowed, or a value like any other, a column of nothing but NULL was looked at."""
    with place(dialect, t=Rows(TYPES, NULLS)) as here:
        assert ask(AcceptedValues(column="s", values=("a",), allow_null=False), here).status is Status.FAIL
        assert ask(Unique(columns=("id", "n"), nulls="equal"), here).status is Status.PASS


@pytest.mark.parametrize(("name", "asks"), [("between", True), ("be_null", False), ("be_of_type", False)])
def test_expectations_of_values_count_them(dialect, name, asks):
    """Great Expectations passes what it ignores; of types and of NULL it asks without a value."""
    check = Expectation(expectation=f"expect_column_values_to_{name}", kwargs={"column": "n"})
    assert check.asks_for_values is asks
    del dialect
