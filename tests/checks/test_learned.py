"""Limits of checks that are learned from earlier measurements, and those set by hand in standard deviations."""

from datetime import timedelta

import numpy as np
import pytest
from pydantic import ValidationError

from checks import PastMeasurement, Status, UnknownReason, Zones
from checks.freshness import Freshness
from checks.metric import Metric
from checks.not_null import NotNull
from checks.volume import Volume
from tests.checks.ask import NOW, Question, Rows, ask, place

DAY = timedelta(days=1)
LEARNED = {"learned": {"false_alarms": "1 per 90d"}}
UTC_ZONE = Zones("UTC")
HOURS = Rows({"at": "timestamp", "n": "int"}, [((NOW - h * DAY / 24).replace(tzinfo=None), 2) for h in range(100)])


def noisy(mean, share=0.05, days=90, seed=4):
    """Return numbers of the days before now, the latest first."""
    return mean * np.exp(np.random.default_rng(seed).normal(0, share, days))


def history(observe, numbers):
    """Return a measurement for each of the days before now, oldest first."""
    days = list(enumerate(numbers, 1))
    return [PastMeasurement(NOW - day * DAY, Status.PASS, observe(float(n)), in_span=True) for day, n in reversed(days)]


def rows_of(number):
    """Return what `volume` observed."""
    return {"rows": round(number), "baseline": None}


@pytest.mark.parametrize(
    ("usual", "status", "message"),
    [
        (100, Status.PASS, "100 rows"),
        (200, Status.FAIL, "100 rows, below the learned limit"),
        (50, Status.FAIL, "100 rows, above the learned limit"),
    ],
)
def test_volume(usual, status, message):
    """The number of rows fails outside of what was learned, and the outcome says what is usual."""
    with place("duckdb", t=HOURS) as here:
        outcome = ask(Volume(limits=LEARNED), here, history=history(rows_of, noisy(usual)))
    assert outcome.status is status
    assert str(outcome.message).startswith(message)
    learned = outcome.observed["learned"]
    assert learned["low"] < learned["usual"] < learned["high"]
    assert learned["usual"] == pytest.approx(usual, rel=0.1)
    assert (learned["chance"], learned["compared_with"]) == (pytest.approx(1 / 90, abs=1e-6), 90)


def test_an_empty_table_is_below_what_was_learned():
    """No rows where there are usually some are a failure, not an absence of data."""
    with place("duckdb", t=Rows(HOURS.types)) as here:
        outcome = ask(Volume(limits=LEARNED), here, history=history(rows_of, noisy(100)))
    assert outcome.status is Status.FAIL


def test_too_little_history_is_unknown():
    """With too little to learn from the outcome is unknown and says how much is missing."""
    with place("duckdb", t=HOURS) as here:
        outcome = ask(Volume(limits=LEARNED), here, history=history(rows_of, noisy(100, days=30)))
        first = ask(Volume(limits=LEARNED), here)
    assert outcome.reason is UnknownReason.NO_DATA
    assert str(outcome.message) == "no learned limit yet: 24 more runs are needed, about 24 d"
    assert first.reason is UnknownReason.NO_DATA
    assert str(first.message).startswith("no learned limit yet: at least 10 runs in 54 d are needed")


def test_limits_by_hand_hold_before_anything_is_learned():
    """A fixed limit beside a learned one is judged from the first day on."""
    with place("duckdb", t=HOURS) as here:
        assert ask(Volume(min=101, limits=LEARNED), here).status is Status.FAIL


def test_deviation_by_hand():
    """A number of standard deviations around what is usual is a limit too; a larger one allows more."""
    pasts = history(rows_of, noisy(112))
    with place("duckdb", t=HOURS) as here:
        assert ask(Volume(deviation={"sigma": 1}), here, history=pasts).status is Status.FAIL
        outcome = ask(Volume(deviation={"sigma": 6}), here, history=pasts)
    assert outcome.status is Status.PASS
    assert outcome.observed["learned"]["chance"] is None


def test_a_softer_deviation_warns():
    """What lies between the two distances is a warning."""
    with place("duckdb", t=HOURS) as here:
        check = Volume(deviation={"sigma": 6}, warn={"deviation": {"sigma": 1}})
        assert ask(check, here, history=history(rows_of, noisy(112))).status is Status.WARN


@pytest.mark.parametrize(
    ("effect", "status"), [(20, Status.FAIL), (60, Status.PASS), ("60 %", Status.PASS), ("5%", Status.FAIL)]
)
def test_a_least_effect(effect, status):
    """A change below it is no alarm, in units of the number or as a share of what is usual; it reads back."""
    check = Volume(limits={"learned": {"false_alarms": "1 per 90d", "at_least": effect}})
    with place("duckdb", t=HOURS) as here:
        outcome = ask(check, here, history=history(rows_of, noisy(150)))
    assert outcome.status is status
    assert outcome.observed["learned"]["loss"] == pytest.approx({20: 25, 60: 60, "60 %": 90, "5%": 25}[effect], rel=0.3)
    assert Volume.model_validate(check.model_dump(mode="json")) == check


def test_holidays_are_neither_compared_nor_learned_from():
    """On a holiday nothing is compared; a holiday of the past is left out."""
    wild = [1.0 if day % 7 == 6 else n for day, n in enumerate(noisy(100), 1)]
    holidays = [(NOW - day * DAY).date() for day in range(1, 91) if day % 7 == 6]
    without = Volume(limits={"learned": {"false_alarms": "1 per 90d", "holidays": holidays}})
    today = Volume(limits={"learned": {"false_alarms": "1 per 90d", "holidays": [NOW.date()]}})
    with place("duckdb", t=HOURS) as here:
        outcome = ask(without, here, history=history(rows_of, wild))
        assert outcome.observed["learned"]["compared_with"] == 77
        assert ask(today, here, history=history(rows_of, noisy(100))).reason is UnknownReason.NO_DATA


def test_metric():
    """An aggregate is judged by what was learned of it."""
    check = Metric(aggregate="sum", column="n", limits=LEARNED)
    with place("duckdb", t=HOURS) as here:
        for usual, status in ((200, Status.PASS), (100, Status.FAIL), (400, Status.FAIL)):
            pasts = history(lambda n: {"value": n, "baseline": None}, noisy(usual))
            assert ask(check, here, history=pasts).status is status


def test_metric_of_a_window(dialect):
    """With `time_column` and `window` only recent rows are aggregated."""
    for window, value in (("10h", 20), ("1d", 48)):
        check = Metric(aggregate="sum", column="n", min=0, time_column="at", window=window, timezone="UTC")
        with place(dialect, t=HOURS) as here:
            assert ask(check, here).observed["value"] == value
    with place(dialect, t=Rows(HOURS.types, HOURS.rows[50:])) as here:
        assert ask(check, here).reason is UnknownReason.NO_DATA
        counting = Metric(aggregate="count", max=9, time_column="at", window="1d", timezone="UTC")
        assert ask(counting, here).reason is UnknownReason.NO_DATA


def test_a_smallest_value_is_not_learned():
    """A smallest or largest value is a value of the table, which is not stored, so nothing is learned of it."""
    with pytest.raises(ValidationError, match="'limits' compares with earlier results"):
        Metric(aggregate="max", column="n", limits=LEARNED)


def test_freshness():
    """The age of the newest row fails above what was learned; a young table never does."""
    check = Freshness(column="at", limits=LEARNED)
    late = Rows(HOURS.types, [(at - 5 * DAY / 24, n) for at, n in HOURS.rows])
    pasts = history(lambda n: {"expected_age_s": round(n)}, noisy(3600))
    with place("duckdb", t=HOURS) as here:
        assert ask(check, here, zones=UTC_ZONE, history=pasts).status is Status.PASS
    with place("duckdb", t=late) as here:
        outcome = ask(check, here, zones=UTC_ZONE, history=pasts)
    assert outcome.status is Status.FAIL
    assert "learned limit" in str(outcome.message)
    assert outcome.occurrence is not None
    with place("duckdb", t=late) as here:
        assert ask(check, here, zones=UTC_ZONE).reason is UnknownReason.NO_DATA


def test_null_share():
    """The share of NULL of each column fails above what was learned of that column."""
    check = NotNull(columns=["a", "b"], limits=LEARNED)
    rows = [(None if i < 30 else 1, None if i < 5 else 1) for i in range(1000)]
    pasts = history(lambda n: {"rows": 1000, "nulls": {"a": round(n), "b": 5}}, noisy(10, 0.2))
    with place("duckdb", t=Rows({"a": "int", "b": "int"}, rows)) as here:
        outcome = ask(check, here, history=pasts)
    assert outcome.status is Status.FAIL
    assert str(outcome.message).startswith("a: 3.0% of the rows are NULL, above the learned limit")
    assert outcome.observed["learned"]["b"]["low"] is None
    with place("duckdb", t=Rows({"a": "int", "b": "int"}, rows[20:])) as here:
        assert ask(check, here, history=pasts).status is Status.PASS


def test_a_promise_is_shared_by_a_table():
    """Each column is a number of its own, and the numbers of a table divide the promise."""
    assert NotNull(columns=["a", "b"], limits=LEARNED).learned_numbers == 2
    assert NotNull(columns=["a", "b"]).learned_numbers == 0
    assert Volume(min=1).learned_numbers == 0
    assert Volume(deviation={"sigma": 3}).learned_numbers == 0
    with place("duckdb", t=HOURS) as here:
        question = Question(Volume(limits=LEARNED), here)
        alone = question.ask(history(rows_of, noisy(100))).observed["learned"]
        assert question.wants().earlier.span == timedelta(weeks=26)
    assert alone["chance"] == pytest.approx(1 / 90, abs=1e-6)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({}, "at least one of"),
        ({"limits": LEARNED, "deviation": {"sigma": 3}}, "either 'limits' or 'deviation'"),
        ({"limits": {"learned": {"false_alarms": "sometimes"}}}, "such as 1 per 90d"),
        ({"limits": {"learned": {"false_alarms": "0 per 90d"}}}, "more than 0 false alarms"),
        ({"limits": {"learned": {"false_alarms": "1 per 90"}}}, "a duration such as 26h"),
        ({"limits": {"learned": {"false_alarms": "1 per 90d", "at_least": 0}}}, "a number above 0 such as 20"),
        ({"limits": {"learned": {"false_alarms": "1 per 90d", "at_least": "a few"}}}, "a share of what is usual"),
        ({"limits": {"learned": {"false_alarms": "1 per 90d", "at_least": True}}}, "a number above 0 such as 20"),
        ({"deviation": {"sigma": 0}}, "greater than 0"),
        ({"deviation": {"sigma": 3, "window": "1w"}}, "a window between 84d and 728d"),
    ],
)
def test_what_is_refused(words, problem):
    """What cannot be a limit is refused with what was expected."""
    with pytest.raises(ValidationError, match=problem):
        Volume(**words)


def test_a_promise_reads_back():
    """A promise is written as it was typed, and a check comes back from its own dump."""
    check = Volume(limits=LEARNED)
    assert check.model_dump(mode="json")["limits"]["learned"]["false_alarms"] == "1 per 90d"
    assert Volume.model_validate(check.model_dump(mode="json")) == check
