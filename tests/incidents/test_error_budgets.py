"""Error budgets: what is spent, how fast, and when it is used up, against a count of minutes."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import OccurrenceMethod
from incidents import ErrorBudget, Incident, IncidentHistory, LevelSurvey, LevelVerdict, Window, error_budget, fast_burn
from tests.incidents.test_service_levels import MINUTE_US, _episode, _histories, _history, _incident, _minute, _us

PER = 240
PROVEN = OccurrenceMethod.BAD_ROWS


def _budget(history: IncidentHistory, allowed: int = 12, *, at: int = PER) -> ErrorBudget:
    """Return the budget of some minutes in four hours."""
    survey = LevelSurvey.of(history, Window(_us(at - PER), _us(at)), as_of_us=_us(at))
    return error_budget(survey, allowed_us=allowed * MINUTE_US, per_us=PER * MINUTE_US)


def _down(incidents: Sequence[Incident], planned: set[int], start: int, end: int) -> tuple[int, int, int]:
    """Count the minutes in which any table was down: as seen, at least, at most."""
    sets: list[set[int]] = [set(), set(), set()]
    for incident in incidents:
        for episode in incident.episodes:
            onset, detected = episode.onset, episode.detected_at
            if _minute(detected) >= end:
                continue
            latest = onset.at if onset.method is PROVEN else detected
            over = min(_minute(episode.resolved_at), end)
            for minutes, begin in zip(sets, (onset.at, latest, onset.earliest), strict=True):
                bad = set(range(_minute(begin), over))
                minutes.update(bad - planned if incident.table == "orders" else bad)
    seen, low, high = (len({minute for minute in minutes if start <= minute < end}) for minutes in sets)
    return seen, low, high


@settings(deadline=None)
@given(_histories(), st.integers(1, 60), st.integers(1, 200))
def test_a_budget_agrees_with_a_count_of_minutes(history: Any, allowed: int, at: int) -> None:
    """Spent, left, both burn rates, the verdict and the forecast follow from the minutes that tables were down."""
    incidents, _, planned = history
    spans = {"orders": [(_us(minute), _us(minute + 1)) for minute in planned]}
    budget = _budget(_history(incidents, planned=spans), allowed, at=at)
    seen, low, high = _down(incidents, planned, at - PER, at)
    minutes = [Fraction(time, MINUTE_US) for time in (budget.spent.seen, budget.spent.low, budget.spent.high)]
    assert minutes == [seen, low, high]
    left = [Fraction(time, MINUTE_US) for time in (budget.left.seen, budget.left.low, budget.left.high)]
    assert left == [allowed - seen, allowed - high, allowed - low]
    kept = LevelVerdict.KEPT if high <= allowed else LevelVerdict.UNKNOWN
    assert budget.verdict is (LevelVerdict.BROKEN if low > allowed else kept)
    for rate, length in zip(budget.rates, (24, 2), strict=True):
        spent = _down(incidents, planned, at - length, at)
        assert [rate.seen, rate.low, rate.high] == [Fraction(time * PER, allowed * length) for time in spent]
    recent = _down(incidents, planned, at - 24, at)
    times = (budget.exhaustion.expected, budget.exhaustion.latest, budget.exhaustion.soonest)
    for total, lately, time in zip((seen, low, high), recent, times, strict=True):
        if total >= allowed:
            assert time == 0
        elif lately == 0:
            assert time is None
        else:  # going on like that, so many more minutes are spent in each minute
            assert time is not None
            assert time / MINUTE_US * Fraction(lately, 24) == allowed - total


def test_a_burn_rate_of_one_uses_up_the_budget_in_its_period() -> None:
    """12 minutes in 240 are one in 20: at that rate, what is left lasts for the rest of the period."""
    budget = _budget(_history([_incident(1, _episode(238, 238, 238, 239, PROVEN))]))
    assert budget.rates[0].seen == Fraction(1, 24) * 20
    assert budget.rates[1].seen == Fraction(1, 2) * 20
    one = _budget(_history([_incident(1, _episode(234, 234, 234, 234 + 6, PROVEN))]), allowed=60)
    assert one.rates[0].seen == 1
    assert one.exhaustion.expected == (60 - 6) * 4 * MINUTE_US


@settings(deadline=None)
@given(_histories(), st.integers(1, 60), st.integers(-10, 60))
def test_a_budget_is_spent_too_fast_when_both_parts_of_the_period_say_so(history: Any, allowed: int, at: int) -> None:
    """The most severe rule of which the minutes down in both parts are more than its rate allows; else none."""
    incidents, _, planned = history
    spans = {"orders": [(_us(minute), _us(minute + 1)) for minute in planned]}
    per = 8640  # minutes, so that each part is whole
    survey = LevelSurvey.of(_history(incidents, planned=spans), Window(_us(at - per), _us(at)), as_of_us=_us(at))
    burn = fast_burn(survey, allowed_us=allowed * MINUTE_US, per_us=per * MINUTE_US)
    expected = None
    for severity, rate, long, short in (("warning", 1, 864, 72), ("error", 6, 72, 6), ("critical", 14.4, 12, 1)):
        down = [Fraction(_down(incidents, planned, at - length, at)[0], length) for length in (long, short)]
        if all(share * per > allowed * Fraction(str(rate)) for share in down):
            expected = severity
    assert (None if burn is None else burn.rule.severity.value) == expected


def test_time_in_which_nobody_looked_keeps_no_budget() -> None:
    """It may have been downtime: the verdict is unknown, and the budget may be used up already."""
    budget = _budget(_history([], unseen={"orders": [(_us(0), _us(100))]}))
    assert (budget.verdict, budget.spent.low, budget.spent.high) == (LevelVerdict.UNKNOWN, 0, 100 * MINUTE_US)
    assert (budget.exhaustion.expected, budget.exhaustion.soonest) == (None, 0)


@pytest.mark.parametrize(("at", "minutes"), [(30, 20), (60, 40), (PER + 10, 40), (PER + 30, 20), (PER + 60, 0)])
def test_spent_time_leaves_the_rolling_period_again(at: int, minutes: int) -> None:
    """Forty minutes of downtime count for four hours after each of them."""
    history = _history([_incident(1, _episode(10, 10, 10, 50, PROVEN))])
    assert _budget(history, 60, at=at).spent.seen == minutes * MINUTE_US
