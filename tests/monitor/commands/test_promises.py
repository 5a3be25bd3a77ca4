"""The promise of a learned limit is measured by how people answered its alarms."""

from dataclasses import replace
from datetime import timedelta

import pytest

from checks.freshness import Freshness
from checks.not_null import NotNull
from checks.volume import Volume
from incidents import AnsweredAlarms, Incident, Resolution, State
from monitor.summaries.promises import LearnedPower, promise_of
from store import open_store
from tests.monitor.commands.terminal import NOW, Terminal

LEARNED = Volume(id="today", limits={"learned": {"false_alarms": "1 per 90d"}})
DAY = timedelta(days=1)


def measured(incidents, *, days=180, check=LEARNED):
    """Return the promise of a check that was watched for so many days."""
    return promise_of(check, "orders.today", incidents, since=NOW - days * DAY, now=NOW)


@pytest.fixture
def alarm(terminal: Terminal) -> Incident:
    """Return an incident of the check that a passing run closed."""
    terminal.sql("INSERT INTO orders VALUES (9, NULL)")
    terminal("check")
    shown = terminal.json("incident", "show", "1")
    assert shown["check_id"] == "orders.not-null"
    with open_store(f"sqlite:///{terminal.folder}/store.db") as store, store.reading() as tx:
        incident = tx.incidents.get(1)
    return replace(incident, check_id="orders.today", state=State.RESOLVED, resolution=Resolution.FIXED)


def test_alarms_are_counted_by_their_answer(alarm: Incident) -> None:
    """False alarms count for what was seen; unanswered ones may have been false; others are said beside it."""
    false = replace(alarm, resolution=Resolution.FALSE_POSITIVE, answered=True)
    real = replace(alarm, answered=True)
    expected = replace(alarm, resolution=Resolution.EXPECTED, answered=True)
    lasting = replace(alarm, state=State.OPEN, resolution=None, answered=True)
    others = [replace(alarm, check_id="orders.rows"), replace(alarm, resolution=Resolution.DUPLICATE)]
    promise = measured([false, false, real, expected, alarm, lasting, *others])
    assert promise.answers == AnsweredAlarms(real=1, expected=1, false=2, unanswered=2)
    assert (promise.seen, promise.seen_at_most) == (1.0, 2.0)
    assert promise.sentence() == (
        "promised 1 per 90d, seen 1, at most 2: 6 alarms in 180 d (2 false, 1 real, 1 expected, 2 unanswered)"
    )


def test_nothing_is_claimed_before_the_time_of_the_promise() -> None:
    """A rate of false alarms a quarter is not reported after a week."""
    promise = measured([], days=7)
    assert (promise.seen, promise.seen_at_most) == (None, None)
    assert promise.sentence().startswith("promised 1 per 90d, watched for 7 d only: 0 alarms")


def test_a_limit_by_hand_promises_nothing() -> None:
    """Only learned limits with a promise are measured."""
    assert measured([], check=Volume(min=1)) is None
    assert measured([], check=Volume(deviation={"sigma": 3})) is None
    assert promise_of(LEARNED, "orders.today", [], since=None, now=NOW) is None


def test_a_table_shows_its_promises(terminal: Terminal) -> None:
    """`table show` and its JSON say what was promised and what was seen."""
    old = "      - {type: not_null, columns: [customer]}\n"
    new = "      - {id: today, type: volume, limits: {learned: {false_alarms: 1 per 90d}}}\n"
    terminal.configure(**{old: new})
    terminal("check", "orders")
    checks = {one["check_id"]: one["promise"] for one in terminal.json("table", "show", "orders")["check_results"]}
    assert checks["orders.primary-key"] is None
    assert checks["orders.today"]["promised"] == "1 per 90d"
    with terminal.at(NOW + 100 * DAY):
        assert "promised 1 per 90d, seen 0: 0 alarms in 100 d" in " ".join(
            terminal("table", "show", "orders").out.split()
        )


def test_the_weekly_report_shows_promises(terminal: Terminal) -> None:
    """The report names the check, what was promised and what was seen at most; its JSON has the numbers."""
    old = "      - {type: not_null, columns: [customer]}\n"
    new = "      - {id: today, type: volume, limits: {learned: {false_alarms: 1 per 90d}}}\n"
    terminal.configure(**{old: new})
    terminal("check", "orders")
    with terminal.at(NOW + 100 * DAY):
        text = terminal("report", "--format", "markdown").out
        (promise,) = terminal("report", "--format", "json").json["coverage"]["promises"]
    assert "False alarms of orders.today: promised 1 per 90d, seen at most 0." in text
    assert (promise["check_id"], promise["promised"], promise["seen"]) == ("orders.today", "1 per 90d", 0.0)


def _power(column, usual, loss, excess):
    return LearnedPower(column=column, usual=usual, loss=loss, excess=excess)


@pytest.mark.parametrize(
    ("check", "power", "says"),
    [
        (
            Volume(min=1),
            _power(None, 200.0, 30.0, 50.0),
            "a loss of 30 (15% of the usual value), an excess of 50",
        ),
        (Volume(min=1), _power(None, 200.0, None, 50.0), "a loss of none"),
        (
            NotNull(columns=["a"]),
            _power("a", 0.01, None, 0.02),
            "orders.x (a): the smallest change",
        ),
        (NotNull(columns=["a"]), _power("a", 0.01, None, 0.02), "an excess of 2.0%"),
        (
            Freshness(column="at", max_age="1d"),
            _power(None, 3600.0, None, 7200.0),
            "an excess of 2 h",
        ),
    ],
)
def test_the_power_is_a_sentence(check, power, says) -> None:
    """The smallest loss and excess are in the unit of the check, with the share of what is usual of a number."""
    assert says in str(power.message(check, "orders.x"))


def test_the_power_is_shown_beside_the_promise(terminal: Terminal) -> None:
    """`table show` and its JSON say what a learned limit would detect, once there is one."""
    old = "      - {type: not_null, columns: [customer]}\n"
    new = "      - {id: today, type: volume, limits: {learned: {false_alarms: 1 per 1d}}}\n"
    terminal.configure(**{old: new})
    for day in range(14):
        with terminal.at(NOW + day * DAY):
            terminal("check", "orders")
    checks = {one["check_id"]: one["promise"] for one in terminal.json("table", "show", "orders")["check_results"]}
    (power,) = checks["orders.today"]["power"]
    assert power["column"] is None
    assert power["loss"] is not None
    assert "the smallest change detected with a chance of one half" in " ".join(
        terminal("table", "show", "orders").out.split()
    )
