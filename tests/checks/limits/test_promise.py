"""Limits that are learned from the past, and the false alarms that they promise."""

from datetime import timedelta

import numpy as np
import pytest
from scipy import stats

from checks.limits import LearnedLimit, LimitRule, MissingHistory, TimedValue, learn_limit
from checks.limits.baseline import residuals_at, spacing_of
from tests.checks.limits.series import DAY, NOISES, START, ZONE, weekly_series

RULE = LimitRule(per_day=1 / 90)


def daily(values, *, start=0, expected=False):
    """Return one look a day."""
    return [TimedValue(START + (start + day) * DAY, float(value), expected) for day, value in enumerate(values)]


def learned(looks, value, *, rule=RULE):
    """Return what is learned from looks about a value of the next day."""
    return learn_limit(looks, TimedValue(looks[-1].at + DAY, float(value)), rule=rule, zone=ZONE)


def noise(days, seed=0, level=1000.0):
    """Return a level with noise of five percent."""
    return level * np.exp(np.random.default_rng(seed).normal(0, 0.05, days))


@pytest.mark.parametrize("noise_of", NOISES)
def test_the_promise_is_kept(noise_of):
    """Over 200 series with a week, a trend and holidays, false alarms lie in the 95 % interval of those promised.

    They are judged from the eighth week on, when history is shortest, for 90 days: one alarm each is promised. How many
    are to be expected is computed from the known noise, whatever its tails.
    """
    low, high = stats.poisson.interval(0.95, 200)
    assert low <= 200 * 90 * np.mean([_chance(seed, noise_of) for seed in range(200)]) <= high


def _chance(seed, noise_of):
    """Return the chance of a false alarm at a look, the mean of looks eight days apart."""
    series, chances = weekly_series(seed, noise_of, 146), []
    for day in range(56 + seed % 8, 146, 8):
        limit = learn_limit(series.looks(day), TimedValue(START + day * DAY, 1.0), rule=RULE, zone=ZONE)
        chances += [series.chance_of_alarm(day, limit)] if isinstance(limit, LearnedLimit) else []
    return np.mean(chances)


def test_a_change_is_seen():
    """Half of the usual number, or none at all, is below the limit; twice the usual number is above it."""
    looks = daily(noise(90))
    for value, side in ((1000, 0), (500, -1), (0, -1), (2000, 1)):
        assert learned(looks, value).side == side


@pytest.mark.parametrize("days", [56, 90, 180])
@pytest.mark.parametrize("promised_in_days", [90, 450])
def test_an_alarm_that_lasts_stays_an_alarm(days, promised_in_days):
    """What was flagged yesterday and is not over is no distance of the past: the same value is flagged today."""
    rule = LimitRule(per_day=1 / promised_in_days)
    for seed in range(20):
        looks = daily(noise(days, seed))
        first = learned(looks, 1000, rule=rule)
        value = first.usual * (first.high / first.usual) ** 1.6
        assert learned(looks, value, rule=rule).side == 1
        again = [*looks, TimedValue(looks[-1].at + DAY, value, unanswered=True)]
        assert learned(again, value, rule=rule).side == 1


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


@pytest.mark.parametrize(
    ("days", "per_day", "missing"), [(53, 1 / 90, 1), (10, 1 / 90, 44), (40, 1 / 900, 16), (17, 0.1, 10)]
)
def test_too_little_history_says_how_much_is_missing(days, per_day, missing):
    """History is needed for six tenths of the time of one promised alarm, at most eight weeks, and three weekdays."""
    rule = LimitRule(per_day=per_day)
    assert learned(daily(noise(days)), 1000, rule=rule) == MissingHistory(missing, missing * DAY)
    assert isinstance(learned(daily(noise(days + missing)), 1000, rule=rule), LearnedLimit)


@pytest.mark.parametrize(
    ("every", "looks", "weeks"), [(timedelta(hours=1), 1, 8), (timedelta(minutes=5), 12, 8), (DAY * 7, 1, 10)]
)
def test_the_history_that_is_needed_is_a_length_of_time(every, looks, weeks):
    """Hourly looks, and looks each five minutes of which one an hour is shown, need eight weeks; weekly ones ten."""
    step = every * looks
    values = noise(weeks * timedelta(weeks=1) // step)
    shown = [TimedValue(START + number * step, float(value), looks=looks) for number, value in enumerate(values)]
    now = TimedValue(shown[-1].at + step, 1000.0)
    assert isinstance(learn_limit(shown, now, rule=RULE, zone=ZONE), LearnedLimit)
    missing = learn_limit(shown[: len(shown) * 3 // 4], shown[len(shown) * 3 // 4], rule=RULE, zone=ZONE)
    assert timedelta(weeks=1) < missing.length < timedelta(weeks=4)


def test_nothing_at_all_is_said_without_a_length():
    """Without a second look nobody knows how long more looks would take."""
    assert learn_limit([], TimedValue(START, 1.0), rule=RULE, zone=ZONE).length is None


def test_more_frequent_looks_have_a_smaller_chance_each():
    """The promise is about time: hourly looks get a wider limit than daily ones on the same noise."""
    values = noise(24 * 7 * 8)
    hourly = [TimedValue(START + number * timedelta(hours=1), float(value)) for number, value in enumerate(values)]
    often = learn_limit(hourly, TimedValue(hourly[-1].at + timedelta(hours=1), 1000.0), rule=RULE, zone=ZONE)
    seldom = learned(daily(noise(100)), 1000)
    assert often.high / often.usual > seldom.high / seldom.usual
    assert (often.chance, seldom.chance) == pytest.approx((1 / 2160, 1 / 90))


def test_a_number_of_a_larger_family_gets_a_smaller_share():
    """A table with ten learned numbers keeps one promise: each gets a tenth of it, so a wider limit."""
    looks = daily(noise(100))
    assert learned(looks, 1000, rule=LimitRule(per_day=1 / 900)).high > learned(looks, 1000).high


def test_numbers_that_never_move():
    """A number that was always the same has that number for its limit; zeros are compared as differences."""
    assert learned(daily([50] * 60), 50).side == 0
    assert learned(daily([50] * 60), 51).side == 1
    assert learned(daily([0] * 60), 0).side == 0
    assert learned(daily([0] * 60), 2, rule=LimitRule(per_day=1 / 90, floor=1.0)).side == 0


def test_thinned_looks_keep_their_spacing():
    """Looks of which one an hour is shown say how many it stands for: the time between two looks is known."""
    looks = [TimedValue(START + number * timedelta(hours=1), 1.0, looks=4) for number in range(10)]
    assert spacing_of(looks) == timedelta(minutes=15)


def test_the_value_that_is_judged_is_not_in_its_baseline():
    """What is usual does not depend on the value now."""
    looks = daily(noise(60))
    assert learned(looks, 1).usual == learned(looks, 10**9).usual
    assert residuals_at(looks, looks[-1].at + DAY, weeks=4, zone=ZONE, spacing=DAY).slot_values == 8


def test_every_look_has_a_residual():
    """The first weeks are compared with the next ones; a steady growth is then no reason for larger residuals."""
    looks = daily(1000 * np.exp(0.01 * np.arange(56)))
    residuals = residuals_at(looks, looks[-1].at + DAY, weeks=4, zone=ZONE, spacing=DAY)
    assert len(residuals.past) == 56
    assert residuals.past == pytest.approx(np.full(56, 0.175), abs=0.04)


def test_a_run_of_unanswered_looks_is_one_residual():
    """Looks in an alarm that nobody answered are in no median, and each run of them is as far as its farthest."""
    looks = daily(noise(80))
    bad = {70: 2000.0, 71: 3000.0, 75: 500.0}
    marked = [look._replace(value=bad[day], unanswered=True) if day in bad else look for day, look in enumerate(looks)]
    residuals = residuals_at(marked, looks[-1].at + DAY, weeks=4, zone=ZONE, spacing=DAY)
    assert np.exp(residuals.unanswered) == pytest.approx([3, 0.5], rel=0.1)
    assert len(residuals.past) == 77
