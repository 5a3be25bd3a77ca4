"""Limits that are learned from the past, and the false alarms that they promise."""

from datetime import timedelta

import numpy as np
import pytest

from checks.limits import LearnedLimit, LimitRule, Look, Method, MissingHistory, learn_limit
from checks.limits.baseline import residuals_at, spacing_of
from checks.limits.promise import _episodes, _poisson_tail
from tests.checks.limits.series import DAY, START, ZONE, weekly_series
from tests.tiers import examples

RULE = LimitRule(per_day=1 / 90)


def daily(values, *, start=0, expected=False):
    """Return one look a day."""
    return [Look(START + (start + day) * DAY, float(value), expected) for day, value in enumerate(values)]


def learned(looks, value, *, rule=RULE):
    """Return what is learned from looks about a value of the next day."""
    return learn_limit(looks, Look(looks[-1].at + DAY, float(value)), rule=rule, zone=ZONE)


def noise(days, seed=0, level=1000.0):
    """Return a level with noise of five percent."""
    return level * np.exp(np.random.default_rng(seed).normal(0, 0.05, days))


@pytest.mark.parametrize(("noise_of", "most"), [("normal", 1.1), ("laplace", 1.3), ("t3", 1.6)])
def test_the_promise_is_kept(noise_of, most):
    """Over series with a week, a trend and holidays, false alarms are not more frequent than promised.

    The chance of an alarm is computed from the known noise, so few series are enough; `benchmarks/learned_limits.py`
    counts alarms over 200 series. Heavy tails may exceed the promise by what a limit from half a year cannot know.
    """
    chances = []
    for seed in range(examples(40)):
        series = weekly_series(seed, noise_of, 180)
        day = next(day for day in range(170, 180) if day not in series.holidays)
        limit = learn_limit(series.looks(day), Look(START + day * DAY, 1.0), rule=RULE, zone=ZONE)
        assert isinstance(limit, LearnedLimit)
        chances.append(series.chance_of_alarm(day, limit))
    assert 0.2 < np.mean(chances) * 90 < most


def test_a_change_is_seen():
    """Half of the usual number, or none at all, is below the limit; twice the usual number is above it."""
    looks = daily(noise(90))
    for value, side in ((1000, 0), (500, -1), (0, -1), (2000, 1)):
        assert learned(looks, value).side == side


def test_two_bad_weeks_out_of_four_do_not_move_a_baseline():
    """Two weeks of bad days inside incidents are left out by the store; what is usual stays what it was."""
    values = noise(120)
    looks = daily(values)
    without = [look for day, look in enumerate(looks) if not 92 <= day < 106]
    bad = [look._replace(value=600.0) if 92 <= day < 106 else look for day, look in enumerate(looks)]
    usual = learned(looks, 1000).usual
    assert learned(without, 1000).usual == pytest.approx(usual, rel=0.05)
    # nobody noticed them: the median of eight weeks stays, that of four does not
    assert learned(bad, 1000, rule=LimitRule(per_day=1 / 90, weeks=8)).usual == pytest.approx(usual, rel=0.05)


def test_a_confirmed_change_of_level_is_a_new_baseline():
    """After a person said that twice the rows are expected, and it stays so, twice the rows are usual at once."""
    looks = daily(noise(90)) + daily(noise(2, seed=1, level=2000.0), start=90, expected=True)
    after = learned(looks, 2000)
    assert after.side == 0
    assert after.usual == pytest.approx(2000, rel=0.1)
    assert learned(looks + daily([2000.0], start=92), 1000).side == -1


def test_a_confirmed_peak_is_left_out():
    """A peak that a person said was expected changes nothing, since the number comes back to what was usual."""
    looks = daily(noise(90)) + daily([3000.0], start=90, expected=True)
    back = learned(looks, 1000)
    assert back.side == 0
    assert back.usual == pytest.approx(1000, rel=0.1)


def test_the_shape_of_the_week_is_known_after_a_change_of_level():
    """Weekends stay weekends after a change of level that began on a weekday."""
    shape = np.array([1, 1, 1, 1, 1, 0.3, 0.3])
    values = noise(91) * np.tile(shape, 13)
    looks = daily(values) + daily([2000.0, 2000.0, 2000.0, 2000.0, 2000.0], start=91, expected=True)
    assert learned(looks, 600).side == 0
    assert learned(looks, 2000).side == 1


@pytest.mark.parametrize(("days", "missing"), [(34, 1), (30, 5), (10, 25)])
def test_too_little_history_says_how_much_is_missing(days, missing):
    """Five weeks of daily looks are needed: three for what is usual, two for how far values are from it."""
    result = learned(daily(noise(days)), 1000)
    assert result == MissingHistory(missing, missing * DAY)
    assert isinstance(learned(daily(noise(days + missing)), 1000), LearnedLimit)


def test_nothing_at_all_is_said_without_a_length():
    """Without a second look nobody knows how long more looks would take."""
    assert learn_limit([], Look(START, 1.0), rule=RULE, zone=ZONE).length is None


def test_more_frequent_looks_have_a_smaller_chance_each():
    """The promise is about time: hourly looks get a wider limit than daily ones on the same noise."""
    values = noise(24 * 7 * 6)
    hourly = [Look(START + number * timedelta(hours=1), float(value)) for number, value in enumerate(values)]
    often = learn_limit(hourly, Look(hourly[-1].at + timedelta(hours=1), 1000.0), rule=RULE, zone=ZONE)
    seldom = learned(daily(noise(100)), 1000)
    assert often.high / often.usual > seldom.high / seldom.usual
    assert often.expected_alarms == pytest.approx(7 / 90)


def test_a_number_of_a_larger_family_gets_a_smaller_share():
    """A table with ten learned numbers keeps one promise: each gets a tenth of it, so a wider limit."""
    looks = daily(noise(100))
    assert learned(looks, 1000, rule=LimitRule(per_day=1 / 900)).high > learned(looks, 1000).high


def test_a_method_that_raised_too_many_alarms_gives_way():
    """Residuals that are calm for weeks and wild for a day refute the tight limit; a wider one is chosen."""
    rng = np.random.default_rng(2)
    calm, wild = rng.normal(0, 0.01, 180), rng.normal(0, 0.6, 180)
    values = 1000 * np.exp(np.where(rng.random(180) < 0.08, wild, calm))
    result = learned(daily(values), 1000)
    assert _poisson_tail(result.alarms, result.expected_alarms) >= 0.05
    assert result.method in set(Method)


def test_numbers_that_never_move():
    """A number that was always the same has that number for its limit; zeros are compared as differences."""
    assert learned(daily([50] * 60), 50).side == 0
    assert learned(daily([50] * 60), 51).side == 1
    assert learned(daily([0] * 60), 0).side == 0
    assert learned(daily([0] * 60), 2, rule=LimitRule(per_day=1 / 90, floor=1.0)).side == 0


def test_consecutive_looks_at_one_anomaly_are_one_alarm():
    """Runs of flagged looks count once, also over the end of a week."""
    flags = np.array([True, True, False, True])
    assert _episodes(flags, was_alarm=False) == 2
    assert _episodes(flags, was_alarm=True) == 1


def test_thinned_looks_keep_their_spacing():
    """Looks of which one an hour is shown say how many it stands for: the time between two looks is known."""
    looks = [Look(START + number * timedelta(hours=1), 1.0, looks=4) for number in range(10)]
    assert spacing_of(looks) == timedelta(minutes=15)


def test_the_value_that_is_judged_is_not_in_its_baseline():
    """What is usual does not depend on the value now."""
    looks = daily(noise(60))
    assert learned(looks, 1).usual == learned(looks, 10**9).usual
    assert residuals_at(looks, looks[-1].at + DAY, weeks=4, zone=ZONE, spacing=DAY).slot_values == 8
