"""Limits that are learned from the past, and the false alarms that they promise."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from checks.limits import LearnedLimit, LimitRule, MissingHistory, TimedValue, learn_limit
from checks.limits.baseline import residuals_at, spacing_of
from tests.checks.limits.series import DAY, NOISES, START, ZONE, weekly_series
from tests.tiers import examples

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
    # unnoticed: the median of eight weeks stays, that of four does not
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
    ("days", "per_day", "missing"), [(53, 1 / 90, 1), (10, 1 / 90, 44), (40, 1 / 900, 16), (9, 0.1, 1)]
)
def test_too_little_history_says_how_much_is_missing(days, per_day, missing):
    """History is needed for six tenths of the time of one promised alarm, at most eight weeks, and ten looks."""
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


def test_without_any_history_what_is_missing_is_a_lower_bound():
    """Without a second run the number of runs is a bound, and their length is that of the promise."""
    missing = learn_limit([], TimedValue(START, 1.0), rule=RULE, zone=ZONE)
    assert missing.at_least
    assert missing.length == timedelta(days=54)


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
    """Runs in an unanswered alarm are in no median, and each run of them is as far as its farthest."""
    looks = daily(noise(80))
    bad = {70: 2000.0, 71: 3000.0, 75: 500.0}
    marked = [look._replace(value=bad[day], unanswered=True) if day in bad else look for day, look in enumerate(looks)]
    residuals = residuals_at(marked, looks[-1].at + DAY, weeks=4, zone=ZONE, spacing=DAY)
    assert np.exp(residuals.unanswered) == pytest.approx([3, 0.5], rel=0.1)
    assert len(residuals.past) == 77


def alarms_of(values, rule, *, window=120):
    """Return the limits of each day that could be judged, with its value; each value counts for later days."""
    looks = daily(values)
    judged = [
        (look, learn_limit(looks[day - window : day], look, rule=rule, zone=ZONE))
        for day, look in enumerate(looks)
        if day >= window
    ]
    return [(look.value, limit) for look, limit in judged if isinstance(limit, LearnedLimit)]


@pytest.mark.parametrize("zeros", [0.02, 0.045, 0.08])
@pytest.mark.parametrize("per", [30, 365])
def test_zeros_now_and_then_are_ranked(zeros, per):
    """A number that is 0 on some days of a hundred raises no more alarms than promised, as its zeros count again."""
    rng = np.random.default_rng(7)
    values = np.where(rng.random(240) < zeros, 0, rng.normal(100, 5, 240))
    judged = alarms_of(values, LimitRule(per_day=1 / per))
    assert sum(bool(limit.side) for _, limit in judged) <= stats.poisson.isf(0.01, len(judged) / per)
    if zeros < 0.05:  # of more, two of four values of a weekday are 0 now and then, and what is usual is lower
        assert np.median([limit.high for _, limit in judged]) < 130, "zeros do not widen the limit above"


def test_a_rare_count_keeps_its_promise():
    """Poisson numbers with a mean of 3, which are 0 on one day of twenty, raise no more alarms than promised."""
    judged = alarms_of(np.random.default_rng(3).poisson(3, 240), RULE)
    assert sum(bool(limit.side) for _, limit in judged) <= stats.poisson.isf(0.01, len(judged) / 90)


def test_the_first_zero_is_an_alarm_and_the_second_is_not():
    """What was never 0 is infinitely far at 0; once one was answered it is a value like others."""
    values = noise(120)
    assert learned(daily(values), 0).side == -1
    assert learned(daily(np.where(np.arange(120) == 80, 0, values)), 0, rule=LimitRule(per_day=1 / 365)).side == 0
    after = learned(daily(np.where(np.arange(120) == 80, 0, values)), -1)
    assert (after.side, after.low, after.loss) == (-1, 0, None)
    lasting = [*daily(values), TimedValue(START + 120 * DAY, 0.0, unanswered=True)]
    assert learned(lasting, 0).side == -1


def test_the_tails_of_both_sides_are_ranked_apart():
    """Where values reach far above and little below, the limit below is near."""
    peaks = np.arange(120) % 23 == 5
    limit = learned(daily(noise(120) * np.where(peaks, 8, 1)), 1000)
    assert limit.high / limit.usual > 7
    assert limit.low / limit.usual > 0.7


@pytest.mark.parametrize("shape", [np.ones(7), np.array([1, 1, 1, 1, 1, 0.3, 0.2])])
@pytest.mark.parametrize("level", [0.0, -400.0])
def test_the_power_is_what_is_noticed_half_of_the_time(shape, level):
    """Lowered by the stated loss or raised by the stated excess, values of the same noise are flagged half the time."""
    looks = daily(noise(119) * np.tile(shape, 17) + level)
    limit = learned(looks, 1)
    usual = noise(400, seed=9) * shape[119 % 7] + level
    for change, side in ((-limit.loss, -1), (limit.excess, 1)):
        changed = usual * (1 + change / limit.usual) if level == 0 else usual + change
        flagged = np.mean(changed < limit.low) if side < 0 else np.mean(changed > limit.high)
        assert 0.2 < flagged < 0.8
    assert limit.usual - limit.low == pytest.approx(limit.loss, rel=0.25)


def test_a_loss_that_is_never_noticed_is_none():
    """Where zeros come often, no loss is noticed, and none is stated; of a table's age there is no loss."""
    zeros = np.where(np.random.default_rng(1).random(120) < 0.3, 0, noise(120))
    assert learned(daily(zeros), 0).loss is None
    assert learned(daily(noise(120)), 1000, rule=LimitRule(per_day=1 / 90, above_only=True)).loss is None


@pytest.mark.parametrize(
    "least", [LimitRule(per_day=1 / 30, at_least=400), LimitRule(per_day=1 / 30, at_least_share=0.4)]
)
def test_a_least_effect(least):
    """Nothing within it is flagged, what lies beyond is; the power says so."""
    looks = daily(noise(90))
    assert learned(looks, 750, rule=LimitRule(per_day=1 / 30)).side == -1
    for value, side in ((700, 0), (1300, 0), (500, -1), (1500, 1)):
        assert learned(looks, value, rule=least).side == side
    assert learned(looks, 1000, rule=least).loss == pytest.approx(400, rel=0.1)


def test_slots_become_finer_as_data_come():
    """Hourly numbers are judged after four days by hours of the day, and by hours of the week once there are enough."""
    hours = np.arange(24 * 7 * 9)
    week = np.where(hours // 24 % 7 < 5, 1.0, 0.3) * (1.2 + np.sin(hours / 24 * 2 * np.pi))
    values = noise(len(hours)) * week
    looks = [TimedValue(START + hour * timedelta(hours=1), float(value)) for hour, value in enumerate(values)]
    rule = LimitRule(per_day=1 / 7)
    judged = {days: learn_limit(looks[: days * 24], looks[days * 24], rule=rule, zone=ZONE) for days in (4, 5, 20, 62)}
    assert isinstance(judged[4], MissingHistory)
    assert all(isinstance(judged[days], LearnedLimit) for days in (5, 20, 62))
    assert judged[62].usual == pytest.approx(1000 * week[62 * 24], rel=0.1)
    assert judged[62].high / judged[62].usual < 1.4


_EXTREME = st.sampled_from([0.0, 5e-324, 1e-308, 1.0, -5.0, 1e16, -1e308, 1e308, 1.7e308, -1.7e308])


@given(st.data(), st.sampled_from([RULE, LimitRule(sigma=4.0, floor=0.1)]))
@settings(max_examples=examples(100), deadline=None)
def test_values_at_the_end_of_floating_point_numbers_are_judged(data, rule):
    """No warning of NumPy, no error and no NaN come of them, also where expected alarms change the level."""
    kinds = data.draw(st.lists(_EXTREME, min_size=1, max_size=4))
    random = data.draw(st.randoms(use_true_random=False))
    looks = [
        look
        for day in range(data.draw(st.integers(3, 70)))
        for look in daily([random.choice(kinds)], start=day, expected=random.random() < 0.2)
    ]
    limit = learned(looks, data.draw(_EXTREME), rule=rule)
    assert isinstance(limit, MissingHistory) or not np.isnan([limit.low, limit.high, limit.usual]).any()
