"""Values lie between two limits."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Misconfigured, Status, UnknownReason, Zones
from checks.range import Range
from tests.checks.ask import ENGINES, EXAMPLES, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "violations"}
EFFECTS = {
    "column": ({"min": 2}, "id", "z", "o"),
    "min": ({"column": "id"} | {"max": 9}, 0, 2),
    "max": ({"column": "id"}, 4, 3),
    "exclusive_min": ({"column": "id", "min": 1}, False, True),
    "exclusive_max": ({"column": "id", "max": 4}, False, True),
    "max_ratio": ({"column": "id", "min": 2}, 0, 0.5),
    "where": ({"column": "id", "min": 2}, ABSENT, "id > 1"),
    "warn": ({"column": "id", "min": 2, "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
    "on_empty": ({"column": "id", "min": 1, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"column": "age", "min": 0, "max": 120},
    {"column": "wage", "max": 10},
    {"column": "twin", "min": 0},
    {"column": "fee", "min": 10, "max": 20, "max_ratio": 1, "warn": {"max_ratio": 0}},
    {"column": "born", "min": "1900-01-01", "max": "2100-01-01"},
    {"column": "seen", "max": "2100-01-01"},
    {"column": "name", "min": 1},
    {"column": "note", "min": "1900-01-01"},
    {"column": "age", "min": 0, "where": "CAST(name AS DATE) > current_date"},
    {"column": "age", "min": 0, "max": 1, "by": {"columns": ["name"], "most": 2}},
]

TOKYO = Zones("Asia/Tokyo")


def column(kind, *values):
    """Return a table with one column of values that were loaded on the 1st, 2nd ... of November."""
    rows = [(value, datetime(2026, 11, day)) for day, value in enumerate(values, 1)]  # noqa: DTZ001 - a naive column
    return Rows({"v": kind, "loaded": "timestamp"}, rows)


def outside(dialect, table, zones=None, **limits):
    """Count the values outside of limits."""
    with place(dialect, t=table) as here:
        return ask(Range(column="v", **limits), here, zones=zones or Zones()).observed["violations"]


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        ({"min": 1, "max": 3}, 2),
        ({"min": 1}, 1),
        ({"max": 3}, 1),
        ({"min": 1, "exclusive_min": True}, 2),
        ({"max": 3, "exclusive_max": True}, 2),
        ({"min": 0.5, "max": 3.5}, 2),
    ],
)
def test_numbers(dialect, limits, count):
    """Counts what lies below or above; a limit itself is allowed unless it is exclusive; NULL is allowed."""
    assert outside(dialect, column("int", 0, 1, 2, 3, 4, None), **limits) == count


def test_message_and_occurrence(dialect):
    """Says how many, of how many, and since when."""
    with place(dialect, t=column("int", 1, 99, 100)) as here:
        outcome = ask(Range(column="v", max=50), here, loaded_at="loaded", zones=Zones("UTC"))
    assert outcome.status is Status.FAIL
    assert str(outcome.message) == "v: 2 of 3 rows are outside the range (67%)"
    assert outcome.occurrence.at == datetime(2026, 11, 2, tzinfo=UTC)


def test_digits_are_kept(dialect):
    """A limit with many digits is not rounded to those the engine takes for granted."""
    assert outside(dialect, column("float", 0.0000001, 0.0000002), max=0.00000015) == 1
    assert outside(dialect, column("decimal", "1.1234", "1.1235"), max=1.12345) == 1
    assert outside(dialect, column("float", 0.1), min=0.1, max=0.1) == 0


def test_dates(dialect):
    """Dates compare with dates, as typed or as ISO text."""
    table = column("date", date(2025, 12, 31), date(2026, 1, 1), date(2026, 12, 31), None)
    assert outside(dialect, table, min="2026-01-01", max=date(2026, 12, 30)) == 2


def test_times_without_a_zone(dialect):
    """Wall clocks compare with wall clocks, whatever their zone; a date is its first instant."""
    table = column("timestamp", datetime(2026, 1, 1), datetime(2026, 1, 1, 9), None)  # noqa: DTZ001 - naive
    assert outside(dialect, table, max="2026-01-01") == 1
    assert outside(dialect, table, min="2026-01-01T08:00:00") == 1


def test_times_with_a_zone(dialect):
    """A limit with an offset compares with wall clocks of a declared zone."""
    table = column("timestamp", datetime(2026, 1, 1, 9), datetime(2026, 1, 1, 10))  # noqa: DTZ001 - naive
    assert outside(dialect, table, TOKYO, max="2026-01-01T00:00:00Z") == 1


def test_aware_values(dialect):
    """Values that know their zone compare with limits that have an offset, or that are of the declared zone."""
    table = column("timestamptz", datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 1, tzinfo=UTC))
    assert outside(dialect, table, max="2026-01-01T09:30:00+09:00") == 1
    assert outside(dialect, table, TOKYO, max="2026-01-01T09:30:00") == 1


def test_text_that_holds_times(dialect):
    """ISO text is compared as times: `T` or space, with seconds or without."""
    table = column("text", "2026-01-01T08:00", "2026-01-01 10:00:00.5", "2026-01-02", None)
    assert outside(dialect, table, min="2026-01-01T09:00:00", max="2026-01-02") == 1
    assert outside(dialect, column("text", "2026-01-01T08:00Z", "2026-01-01T08:00+09:00"), min="2026-01-01T00:00Z") == 1


def test_zone_that_would_have_to_be_guessed(dialect):
    """Wall clocks and a limit with an offset cannot be compared without a declared zone."""
    table, check = column("timestamp", datetime(2026, 1, 1)), Range(column="v", min="2026-01-01T00:00:00Z")  # noqa: DTZ001 - naive
    with place(dialect, t=table) as here:
        if dialect == "sqlite":
            assert ask(check, here).reason is UnknownReason.MISCONFIGURED
        else:
            with pytest.raises(Misconfigured, match="declare the column's time zone"):
                ask(check, here)


def test_text_that_holds_no_times(dialect):
    """Values that are no time cannot be judged, nor a column without any value."""
    with place(dialect, t=column("text", "2026-01-01", "n/a")) as here:
        assert ask(Range(column="v", min="2026-01-01"), here).reason is UnknownReason.MISCONFIGURED
    with place(dialect, t=column("text", None, None)) as here:
        outcome = ask(Range(column="v", min="2026-01-01"), here)
    assert outcome.reason is UnknownReason.NO_DATA
    assert outcome.observed == {"rows": 2, "violations": 0}


def test_time_of_occurrence_of_times(dialect):
    """Times outside the range say since when, too."""
    table = column("timestamp", datetime(2026, 1, 1), datetime(2027, 1, 1))  # noqa: DTZ001 - naive
    with place(dialect, t=table) as here:
        outcome = ask(Range(column="v", max="2026-06-01"), here, loaded_at="loaded", zones=Zones("UTC"))
    assert outcome.occurrence.at == datetime(2026, 11, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "limits", "message"),
    [
        ("bool", {"min": 0}, "column 'v' is of type boolean; a numeric range needs a numeric column"),
        ("text", {"min": 0}, "column 'v' is of type string"),
        ("date", {"min": 0}, "column 'v' is of type date"),
        ("int", {"min": "2026-01-01"}, "column 'v' is of type int64"),
    ],
)
def test_column_of_another_kind(kind, limits, message):
    """Names the column and its type when the limits do not fit it."""
    with place("duckdb", t=column(kind)) as here, pytest.raises(Misconfigured, match=message):
        Question(Range(column="v", **limits), here).wants()


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"min": 2, "max": 1},
        {"min": 1, "max": "2026-01-01"},
        {"min": "2026-01-01T00:00Z", "max": "2026-01-02"},
        {"min": "2026-01-02", "max": "2026-01-01"},
        {"min": "soon"},
        {"min": True},
        {"min": float("nan")},
        {"min": float("inf")},
        {"max": 1, "warn": {"max": 0}},
    ],
)
def test_parameters(wrong):
    """Refuses no limits, limits of two kinds or in the wrong order, and what is no number or time."""
    with pytest.raises(ValidationError):
        Range(column="v", **wrong)


def test_share_filter_and_empty(dialect):
    """Allows a share among the rows of the `where`; no row is unknown."""
    check = Range(column="v", min=1, where="v < 2", max_ratio=0.5)
    with place(dialect, t=column("int", 0, 1, 9)) as here:
        assert ask(check, here).observed == {"rows": 2, "violations": 1}
        assert ask(check, here).status is Status.PASS
        assert ask(Range(column="v", min=1, where="v > 99"), here).reason is UnknownReason.NO_DATA


LIMITS = st.tuples(st.integers(-3, 3), st.integers(-3, 3)).map(sorted)


@settings(max_examples=examples(EXAMPLES))
@given(st.lists(st.integers(-5, 5) | st.none(), min_size=1, max_size=15), LIMITS, st.booleans(), st.booleans())
def test_agrees_with_python(values, limits, exclusive_min, exclusive_max):
    """Both engines count what a comparison in Python counts."""
    low, high = limits
    known = [value for value in values if value is not None]
    below = sum(value <= low if exclusive_min else value < low for value in known)
    bad = sum(
        (value <= low if exclusive_min else value < low) or (value >= high if exclusive_max else value > high)
        for value in known
    )
    assert below <= bad
    check = Range(column="v", min=low, max=high, exclusive_min=exclusive_min, exclusive_max=exclusive_max)
    for dialect in ENGINES:
        with place(dialect, t=column("int", *values)) as here:
            assert ask(check, here).observed == {"rows": len(values), "violations": bad}


def test_a_text_among_numbers_lies_outside_every_range():
    """SQLite puts texts above all numbers, so that a smallest value alone would let them pass."""
    with place("sqlite", t=Rows({"v": "NUMERIC"}, [(1,), ("CANARY",), (None,)])) as here:
        outcome = ask(Range(column="v", min=0), here)
    assert outcome.observed["violations"] == 1
