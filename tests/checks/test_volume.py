"""There are as many rows as there should be."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Misconfigured, Status, UnknownReason, Zones
from checks.volume import Volume
from tests.checks.ask import ENGINES, EXAMPLES, NOW, Question, Rows, ask, past, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "baseline"}
EFFECTS = {
    "min": ({}, 4, 5),
    "max": ({}, 4, 3),
    "min_ratio": ({}, 0.1, 0.5),
    "max_ratio": ({"weeks": 1}, 1, 0.5),
    "weeks": ({"min_ratio": 0.5}, 1, 4),
    "column": ({"min": 2, "window": "4h", "timezone": "UTC"}, "at", "later", "hours"),
    "window": ({"min": 2, "column": "at", "timezone": "UTC"}, "4h", "2h"),
    "timezone": ({"min": 2, "column": "at", "window": "4h"}, "UTC", "Asia/Tokyo"),
    "where": ({"min": 4}, ABSENT, "id > 1"),
    "warn": ({"min": 4}, ABSENT, {"min": 5}),
    "on_empty": ({"max": 9, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"min": 1000},
    {"min": 1},
    {"min_ratio": 0.5, "compare": "same_weekday"},
    {"column": "seen", "window": "1d", "min": 1},
    {"column": "name", "window": "1d", "min": 1},
    {"max": 1, "where": "CAST(code AS INTEGER) > 5"},
    {"min": 1000, "by": ["code", "name"]},
]

DAY = timedelta(days=1)
TYPES = {"at": "timestamp", "kind": "text"}
UTC_ZONE = Zones("UTC")


def table(count, kind="x"):
    """Return a table of so many rows, one an hour back from now."""
    return Rows(TYPES, [((NOW - number * DAY / 24).replace(tzinfo=None), kind) for number in range(count)])


def week(rows, weeks=1):
    """Return what was seen so many weeks ago."""
    return past({"rows": rows, "baseline": None}, weeks * 7 * DAY)


@pytest.mark.parametrize(
    ("limits", "status", "message"),
    [
        ({"min": 3, "max": 3}, Status.PASS, "3 rows"),
        ({"min": 4}, Status.FAIL, "3 rows, at least 4 expected"),
        ({"max": 2}, Status.FAIL, "3 rows, at most 2 expected"),
        ({"min": 0}, Status.PASS, "3 rows"),
    ],
)
def test_limits(dialect, limits, status, message):
    """Fails outside of the limits, which are allowed themselves."""
    with place(dialect, t=table(3)) as here:
        outcome = ask(Volume(**limits), here)
    assert outcome.status is status
    assert str(outcome.message) == message
    assert outcome.observed == {"rows": 3, "baseline": None}
    assert outcome.expected == limits


def test_softer_limit_warns(dialect):
    """Fewer rows than the limit of `warn` and more than the limit are a warning."""
    with place(dialect, t=table(3)) as here:
        assert ask(Volume(min=2, warn={"min": 4}), here).status is Status.WARN
        assert ask(Volume(min=2, warn={"min": 3}), here).status is Status.PASS


def test_empty_table(dialect):
    """No rows fail where rows are demanded; otherwise they are unknown, or what `on_empty` says."""
    with place(dialect, t=table(0)) as here:
        outcome = ask(Volume(min=1), here)
        assert outcome.status is Status.FAIL
        assert str(outcome.message) == "0 rows, at least 1 expected"
        assert ask(Volume(max=9), here).reason is UnknownReason.NO_DATA
        assert ask(Volume(max=9), here).observed == {"rows": 0, "baseline": None}
        assert ask(Volume(max=9, on_empty="pass"), here).status is Status.PASS


def test_same_weekday(dialect):
    """Compares with the median of the same weekday in the weeks before."""
    check = Volume(min_ratio=0.5, max_ratio=2)
    history = [week(10, 1), week(4, 2), week(6, 3)]
    for rows, status in [(2, Status.FAIL), (3, Status.PASS), (12, Status.PASS), (13, Status.FAIL)]:
        with place(dialect, t=table(rows)) as here:
            outcome = ask(check, here, history=history)
        assert outcome.status is status
        assert outcome.observed == {"rows": rows, "baseline": 6}
    assert str(outcome.message) == "13 rows, more than 200% of the usual 6 for this weekday"


def test_median_of_an_even_number():
    """The median of two weeks is between them."""
    with place("duckdb", t=table(1)) as here:
        outcome = ask(Volume(min_ratio=0.5), here, history=[week(3, 1), week(2, 2)])
    assert outcome.observed["baseline"] == 2.5
    assert str(outcome.message) == "1 row, less than 50% of the usual 2.5 for this weekday"


def test_ratio_is_exact():
    """29 rows are not less than 0.29 of 100."""
    with place("duckdb", t=table(29)) as here:
        assert ask(Volume(min_ratio=0.29, max_ratio=0.29), here, history=[week(100)]).status is Status.PASS


def test_no_history():
    """Without a measurement on this weekday a ratio cannot be judged; a broken limit is broken all the same."""
    with place("duckdb", t=table(3)) as here:
        outcome = ask(Volume(min_ratio=0.5, weeks=2), here)
        assert ask(Volume(min_ratio=0.5, min=9), here).status is Status.FAIL
    assert outcome.reason is UnknownReason.NO_DATA
    assert str(outcome.message) == (
        "no baseline yet: no measurement on this weekday in the last 2 weeks, outside incidents and planned maintenance"
    )
    assert outcome.observed == {"rows": 3, "baseline": None}


def test_nothing_where_something_is_usual():
    """No rows where some are usual break the ratio; on a weekday that is usually empty they are no answer."""
    with place("duckdb", t=table(0)) as here:
        assert ask(Volume(min_ratio=0.5), here, history=[week(100)]).status is Status.FAIL
        assert ask(Volume(min_ratio=0.5), here, history=[week(0)]).reason is UnknownReason.NO_DATA
    with place("duckdb", t=table(2)) as here:
        assert ask(Volume(max_ratio=2), here, history=[week(0)]).status is Status.FAIL


def test_what_is_asked_of_the_past():
    """Asks for 7, 14 ... days ago when a ratio is to be judged, also one of `warn`; else for nothing."""
    with place("duckdb", t=table(1)) as here:
        assert Question(Volume(min=1), here).wants().earlier is None
        ages = Question(Volume(min=1, warn={"min_ratio": 0.5}, weeks=2), here).wants().earlier.ages
    assert ages == (7 * DAY, 14 * DAY)


def test_measurements_of_other_ages_do_not_count():
    """Only what was asked for by age enters the median, and only if it was a number."""
    history = [week(10), past({"rows": None}, 14 * DAY), past({}, 21 * DAY)]
    with place("duckdb", t=table(9)) as here:
        assert ask(Volume(min_ratio=1), here, history=history).observed["baseline"] == 10


def test_window(dialect):
    """Counts the rows after now - window up to now, also among those of a `where`."""
    rows = [(NOW - age).replace(tzinfo=None) for age in (timedelta(0), DAY / 2, DAY, 2 * DAY, -DAY / 24)]
    with place(dialect, t=Rows(TYPES, [*((at, "x") for at in rows), (None, "x"), (rows[0], "y")])) as here:
        assert ask(Volume(column="at", window="1d", min=1), here, zones=UTC_ZONE).observed["rows"] == 3
        check = Volume(column="at", window="1d", min=1, where="kind = 'x'")
        assert ask(check, here, zones=UTC_ZONE).observed["rows"] == 2


def test_empty_window(dialect):
    """A window without rows fails where rows are demanded, even if the table has older rows or no times at all."""
    old = (NOW - 9 * DAY).replace(tzinfo=None)
    for rows in ([(old, "x")], [(None, "x")], []):
        with place(dialect, t=Rows(TYPES, rows)) as here:
            assert ask(Volume(column="at", window="1d", min=1), here, zones=UTC_ZONE).status is Status.FAIL
            assert ask(Volume(column="at", window="1d", max=9), here, zones=UTC_ZONE).reason is UnknownReason.NO_DATA


def test_window_over_what_is_no_time(dialect):
    """Values that are no time, and wall clocks without a zone, cannot be placed in a window."""
    check = Volume(column="kind", window="1d", min=1)
    with place(dialect, t=table(1)) as here:
        assert ask(check, here, zones=UTC_ZONE).reason is UnknownReason.MISCONFIGURED
    with place("duckdb", t=table(1)) as here, pytest.raises(Misconfigured, match="declare one for the source"):
        ask(Volume(column="at", window="1d", min=1), here)


def test_window_of_naive_values_in_a_zone(dialect):
    """Naive values are placed by the zone of the check, else of the column."""
    tokyo = datetime(2026, 11, 20, 18, 0)  # noqa: DTZ001 - 09:00 UTC
    with place(dialect, t=Rows(TYPES, [(tokyo, "x")])) as here:
        near = Volume(column="at", window="1h", min=1, timezone="Asia/Tokyo")
        assert ask(near, here, zones=UTC_ZONE, now=datetime(2026, 11, 20, 9, 30, tzinfo=UTC)).status is Status.PASS
        assert ask(near, here, zones=UTC_ZONE, now=datetime(2026, 11, 20, 18, 30, tzinfo=UTC)).status is Status.FAIL


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"min": -1},
        {"min": 2, "max": 1},
        {"min_ratio": 2, "max_ratio": 1},
        {"min": 1, "column": "at"},
        {"min": 1, "window": "1d"},
        {"min": 1, "weeks": 0},
        {"max": 5, "warn": {"min": 9}},
    ],
)
def test_parameters(wrong):
    """Refuses no limits, limits in the wrong order, and a window without a column."""
    with pytest.raises(ValidationError):
        Volume(**wrong)


@settings(max_examples=examples(EXAMPLES))
@given(st.integers(0, 12), st.integers(1, 6), st.integers(6, 12))
def test_agrees_with_python(count, low, high):
    """Both engines judge a count as Python does."""
    expected = Status.PASS if low <= count <= high else Status.FAIL
    for dialect in ENGINES:
        with place(dialect, t=table(count)) as here:
            assert ask(Volume(min=low, max=high), here).status is expected
