"""A number that sums the table up stays within limits, or near what it usually is."""

import statistics
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Misconfigured, Status, UnknownReason
from checks.metric import Metric
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, past, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"value", "baseline"}
_GIVEN = {"aggregate": "count", "min": 2, "time_column": "at", "window": "4h", "timezone": "UTC"}
EFFECTS = {
    "aggregate": ({"column": "id", "max": 5}, "mean", "sum"),
    "column": ({"aggregate": "sum", "max": 6}, "a", "id"),
    "value": ({"aggregate": "share", "column": "b", "min": 0.5}, "x", "y"),
    "min": ({"aggregate": "sum", "column": "id"}, 10, 11),
    "max": ({"aggregate": "sum", "column": "id"}, 10, 9),
    "tolerance": ({"aggregate": "sum", "column": "id", "max": 9}, 0, 1),
    "max_deviation": ({"aggregate": "count"}, 0.95, 0.5),
    "weeks": ({"aggregate": "count", "max_deviation": 0.5}, 1, 4),
    "time_column": (_GIVEN, "at", "later", "hours"),
    "window": (_GIVEN, "4h", "2h", "hours"),
    "timezone": (_GIVEN, "UTC", "Asia/Tokyo", "hours"),
    "where": ({"aggregate": "count", "min": 4}, ABSENT, "id > 1"),
    "warn": ({"aggregate": "count", "min": 4}, ABSENT, {"min": 5}),
    "on_empty": ({"aggregate": "count", "max": 9, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"aggregate": aggregate, "column": column, **limits}
    for aggregate in ("sum", "mean", "min", "max", "stddev")
    for column in ("fee", "id")
    for limits in ({"min": 0, "max": 10},)
] + [
    {"aggregate": "min", "column": "twin", "min": 0},
    {"aggregate": "max", "column": "wage", "min": 0, "warn": {"min": 1e12}},
    {"aggregate": "sum", "column": "age", "max_deviation": 0.1},
    {"aggregate": "distinct", "column": "name", "max": 1},
    {"aggregate": "count", "column": "name", "max": 1},
    {"aggregate": "share", "column": "name", "value": "ann", "min": 0.5},
    {"aggregate": "max", "column": "name", "max": 1},
    {"aggregate": "mean", "column": "born", "max": 1},
]

WEEK = timedelta(days=7)
TYPES = {"v": "float", "kind": "text"}
VALUES = [(1.5, "a"), (2.5, "a"), (2.5, "b"), (None, "b")]


def usual(*values):
    """Return what was seen in the weeks before."""
    return [past({"value": value, "baseline": None}, number * WEEK) for number, value in enumerate(values, 1)]


@pytest.mark.parametrize(
    ("parameters", "value"),
    [
        ({"aggregate": "count"}, 4),
        ({"aggregate": "count", "column": "v"}, 3),
        ({"aggregate": "sum", "column": "v"}, 6.5),
        ({"aggregate": "mean", "column": "v"}, 6.5 / 3),
        ({"aggregate": "distinct", "column": "kind"}, 2),
        ({"aggregate": "stddev", "column": "v"}, statistics.stdev([1.5, 2.5, 2.5])),
        ({"aggregate": "share", "column": "kind", "value": "a"}, 0.5),
        ({"aggregate": "share", "column": "v", "value": 2.5}, 0.5),
    ],
)
def test_aggregates(dialect, parameters, value):
    """Sums a table up, leaving out NULL; a share is one of all rows."""
    with place(dialect, t=Rows(TYPES, VALUES)) as here:
        outcome = ask(Metric(**parameters, min=-1e9), here)
    assert outcome.status is Status.PASS
    assert outcome.observed["value"] == pytest.approx(value)
    assert outcome.observed["baseline"] is None


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"min": 7}, "sum(v) is 6.5, at least 7 expected"),
        ({"max": 6}, "sum(v) is 6.5, at most 6 expected"),
    ],
)
def test_limits(dialect, limits, message):
    """Fails beyond a limit, and says the number."""
    with place(dialect, t=Rows(TYPES, VALUES)) as here:
        outcome = ask(Metric(aggregate="sum", column="v", **limits), here)
    assert outcome.status is Status.FAIL
    assert str(outcome.message) == message
    assert outcome.expected == limits


@pytest.mark.parametrize(("aggregate", "value"), [("min", 1.5), ("max", 2.5)])
def test_smallest_and_largest_values_are_judged(dialect, aggregate, value):
    """A limit that is the value itself is kept to, a little beside it is broken."""
    with place(dialect, t=Rows(TYPES, VALUES)) as here:
        assert ask(Metric(aggregate=aggregate, column="v", min=value, max=value), here).status is Status.PASS
        assert ask(Metric(aggregate=aggregate, column="v", min=value + 0.1), here).status is Status.FAIL
        assert ask(Metric(aggregate=aggregate, column="v", max=value - 0.1), here).status is Status.FAIL


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({"aggregate": "max", "min": 1}, Status.PASS),
        ({"aggregate": "max", "max": 1}, Status.FAIL),
        ({"aggregate": "min", "min": 1e9}, Status.FAIL),
    ],
)
def test_no_value_of_the_table_is_stored_or_shown(parameters, status):
    """A smallest or largest value stands in the table: it is judged, then forgotten."""
    with place("duckdb", t=Rows(TYPES, [(987654.0, "a")])) as here:
        outcome = ask(Metric(column="v", **parameters), here)
    assert (outcome.status, outcome.observed["value"]) == (status, None)
    assert "987" not in str(outcome.message)
    assert "value" not in outcome.message.values


def test_limit_is_the_decimal_that_was_written():
    """A tenth is a tenth: as a mean in floating point, as a sum of decimals, as a share."""
    tenths = Rows({"v": "decimal", "f": "float"}, [("0.1", 0.1)] + [("0", 0.1)] * 9)
    with place("duckdb", t=tenths) as here:
        for parameters in (
            {"aggregate": "sum", "column": "v"},
            {"aggregate": "max", "column": "f"},
            {"aggregate": "share", "column": "v", "value": 0.1},
        ):
            assert ask(Metric(**parameters, min=0.1, max=0.1), here).status is Status.PASS


def test_deviation_from_the_same_weekday(dialect):
    """Fails when the number is further from its median than allowed, above or below."""
    check = Metric(aggregate="sum", column="v", max_deviation=0.3, weeks=3)
    with place(dialect, t=Rows(TYPES, VALUES)) as here:
        assert ask(check, here, history=usual(5, 6.5, 9)).status is Status.PASS
        assert ask(check, here, history=usual(5, 5, 9)).status is Status.PASS
        outcome = ask(check, here, history=usual(10, 4, 10))
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"value": 6.5, "baseline": 10}
    assert str(outcome.message) == "sum(v) is 6.5, 35% off the usual 10 for this weekday"


def test_deviation_of_exactly_the_limit_is_allowed():
    """13 is three tenths away from 10, not more."""
    with place("duckdb", t=Rows(TYPES, [(13.0, "a")])) as here:
        assert (
            ask(Metric(aggregate="sum", column="v", max_deviation=0.3), here, history=usual(10)).status is Status.PASS
        )


def test_usually_zero():
    """Anything is far away from zero; zero is not."""
    check = Metric(aggregate="sum", column="v", max_deviation=5)
    with place("duckdb", t=Rows(TYPES, [(1.0, "a")])) as here:
        assert str(ask(check, here, history=usual(0)).message) == "sum(v) is not 0, the usual value for this weekday"
    with place("duckdb", t=Rows(TYPES, [(0.0, "a")])) as here:
        assert ask(check, here, history=usual(0)).status is Status.PASS


def test_no_history():
    """Without history a deviation cannot be judged, a limit can."""
    with place("duckdb", t=Rows(TYPES, VALUES)) as here:
        outcome = ask(Metric(aggregate="count", max_deviation=0.1), here)
        assert ask(Metric(aggregate="count", max_deviation=0.1, max=1), here).status is Status.FAIL
    assert outcome.reason is UnknownReason.NO_DATA
    assert outcome.observed == {"value": 4, "baseline": None}


def test_softer_deviation_asks_for_the_past():
    """History is asked for when only `warn` needs it, and then it warns."""
    check = Metric(aggregate="count", min=1, warn={"max_deviation": 0.1})
    with place("duckdb", t=Rows(TYPES, VALUES)) as here:
        assert Question(check, here).wants().earlier is not None
        assert Question(Metric(aggregate="count", min=1), here).wants().earlier is None
        assert ask(check, here, history=usual(8)).status is Status.WARN
        assert ask(check, here).status is Status.PASS


_INFINITY = float("inf")


@pytest.mark.parametrize(
    ("aggregate", "values", "limits", "message"),
    [
        ("sum", (_INFINITY, 1.0), {"max": 100}, "sum(v) is larger than 100"),
        ("mean", (_INFINITY, 1.0), {"max": 100}, "mean(v) is larger than 100"),
        ("max", (_INFINITY, 1.0), {"max": 100}, "max(v) is larger than 100"),
        ("min", (-_INFINITY, 1.0), {"min": 0}, "min(v) is smaller than 0"),
        ("sum", (_INFINITY, 1.0), {"min": 0}, None),
        ("sum", (_INFINITY, -_INFINITY), {"min": 0, "max": 100}, None),
    ],
)
def test_an_infinite_value_breaks_a_limit(aggregate, values, limits, message):
    """It is beyond the limit on its side, and no number on the other; infinity less infinity is nothing."""
    with place("duckdb", t=Rows(TYPES, [(value, "a") for value in values])) as here:
        outcome = ask(Metric(aggregate=aggregate, column="v", **limits), here)
    assert outcome.observed["value"] is None
    if message is None:
        assert outcome.reason is UnknownReason.NO_DATA
    else:
        assert (outcome.status, str(outcome.message)) == (Status.FAIL, message)


def test_an_infinite_value_is_far_from_the_usual_one():
    """Where there is a usual value, an infinite one deviates from it."""
    with place("duckdb", t=Rows(TYPES, [(_INFINITY, "a")])) as here:
        check = Metric(aggregate="sum", column="v", max_deviation=0.5)
        outcome = ask(check, here, history=usual(8))
        assert str(outcome.message) == "sum(v) is infinite; usual is 8 for this weekday"
        assert ask(check, here).reason is UnknownReason.NO_DATA


def test_nothing_but_null(dialect):
    """An aggregate of nothing is unknown: no rows, only NULL, one value where two are needed."""
    with place(dialect, t=Rows(TYPES, [])) as here:
        assert ask(Metric(aggregate="count", min=0), here).reason is UnknownReason.NO_DATA
    with place(dialect, t=Rows(TYPES, [(None, "a"), (1.0, "b")])) as here:
        for aggregate in ("sum", "mean", "min", "max"):
            check = Metric(aggregate=aggregate, column="v", min=0, where="kind = 'a'")
            outcome = ask(check, here)
            assert outcome.reason is UnknownReason.NO_DATA
            assert (
                str(outcome.message)
                == f"{aggregate}(v) has no finite value: all values are NULL, or some are NaN or infinite"
            )
        assert ask(Metric(aggregate="stddev", column="v", min=0), here).reason is UnknownReason.NO_DATA


def test_not_a_number():
    """A sum that is no finite number is no value."""
    with place("duckdb", t=Rows(TYPES, [(float("nan"), "a")])) as here:
        outcome = ask(Metric(aggregate="sum", column="v", min=0), here)
    assert outcome.reason is UnknownReason.NO_DATA
    assert outcome.observed["value"] is None


@pytest.mark.parametrize(
    ("kind", "aggregate", "message"),
    [
        ("text", "sum", "column 'v' is of type string; sum takes numbers"),
        ("bool", "mean", "column 'v' is of type boolean; mean takes numbers"),
        ("text", "max", "for times use 'range' or 'freshness', which keep no value"),
        ("timestamp", "min", "for times use 'range' or 'freshness', which keep no value"),
    ],
)
def test_column_of_another_kind(kind, aggregate, message):
    """Only numbers are summed up, and only numbers are shown as they stand in the table."""
    with place("duckdb", t=Rows({"v": kind}, [])) as here, pytest.raises(Misconfigured, match=message):
        Question(Metric(aggregate=aggregate, column="v", min=0), here).wants()


@pytest.mark.parametrize(
    "wrong",
    [
        {"aggregate": "sum", "column": "v"},
        {"aggregate": "sum", "min": 1},
        {"aggregate": "share", "column": "v", "min": 1},
        {"aggregate": "sum", "column": "v", "value": 1, "min": 1},
        {"aggregate": "median", "column": "v", "min": 1},
        {"aggregate": "count", "min": 2, "max": 1},
        {"aggregate": "count", "min": "2026-01-01"},
        {"aggregate": "count", "max_deviation": 0},
        {"aggregate": "max", "column": "v", "max_deviation": 0.1},
        {"aggregate": "min", "column": "v", "min": 1, "warn": {"max_deviation": 0.1}},
    ],
)
def test_parameters(wrong):
    """Refuses aggregates of nothing, unknown ones, and checks without a limit."""
    with pytest.raises(ValidationError):
        Metric(**wrong)


@settings(max_examples=examples(EXAMPLES))
@given(st.lists(st.integers(-50, 50) | st.none(), min_size=1, max_size=12))
def test_agrees_with_python(values):
    """Both engines sum up as Python does."""
    known = [value for value in values if value is not None]
    expected = {
        "count": len(known),
        "distinct": len(set(known)),
        "sum": sum(known) if known else None,
        "mean": sum(known) / len(known) if known else None,
        "stddev": statistics.stdev(known) if len(known) > 1 else None,
    }
    for dialect in ENGINES:
        with place(dialect, t=Rows({"v": "int"}, [(value,) for value in values])) as here:
            for aggregate, value in expected.items():
                outcome = ask(Metric(aggregate=aggregate, column="v", min=-1e9), here)
                assert outcome.observed["value"] == (None if value is None else pytest.approx(value, abs=1e-9))


@pytest.mark.parametrize("aggregate", ["sum", "mean", "min", "max", "stddev"])
def test_texts_that_sqlite_keeps_as_numbers_are_no_numbers(aggregate):
    """SQLite adds a text up as 0; that is no answer, and the text is not shown."""
    with place("sqlite", t=Rows({"v": "NUMERIC"}, [(1,), ("CANARY",), (b"x",), (None,)])) as here:
        outcome = ask(Metric(aggregate=aggregate, column="v", min=0, max=100), here)
        counted = ask(Metric(aggregate="count", column="v", min=3, max=3), here)
        narrowed = ask(Metric(aggregate=aggregate, column="v", min=1, max=1, where="v = 1"), here)
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert outcome.observed["value"] is None
    assert str(outcome.message).startswith(f"{aggregate}(v) includes 2 non-numeric values")
    assert counted.status is Status.PASS
    assert narrowed.reason is not UnknownReason.MISCONFIGURED


def test_a_share_of_a_column_that_sqlite_gives_no_type():
    """A column of SQLite may be declared as anything, and is compared with what it holds."""
    with place("sqlite", t=Rows({"v": "anything"}, [("a",), ("b",), (None,), ("a",)])) as here:
        outcome = ask(Metric(aggregate="share", column="v", value="a", min=0.5), here)
    assert (outcome.status, outcome.observed["value"]) == (Status.PASS, 0.5)
