"""Slots of the week and kinds of days of the month: which values are compared with each other."""

from calendar import monthrange
from datetime import datetime, timedelta
from math import comb
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.limits import LearnedLimit, LimitRule, TimedValue, learn_limit
from checks.limits.slots import _chance_by_luck, compare_by_rhythm
from tests.checks.limits.series import DAY, START, ZONE

RULE = LimitRule(per_day=1 / 90)
WEEK = np.array([1, 1, 1, 1, 1, 0.3, 0.2])


def last_day(day):
    """Check whether a day is the last of its month."""
    return day.day == monthrange(day.year, day.month)[1]


def last_business_day(day):
    """Check whether a day is the last one from Monday to Friday of its month."""
    following = day + DAY * (3 if day.weekday() == 4 else 1)
    return day.weekday() < 5 and following.month != day.month


KINDS = {
    "last-day": last_day,
    "last-business-day": last_business_day,
    "first-business-day": lambda day: (
        (day.weekday() < 5 and day.day == 1) or (day.weekday() == 0 and day.day in {2, 3})
    ),
    "day-15": lambda day: day.day == 15,
    "quarter-end": lambda day: last_day(day) and day.month % 3 == 0,
}


def looks_of(is_kind, days, *, factor=3.0, seed=5):
    """Return one look a day of Poisson numbers with a week, times a factor on some days."""
    rng, moments = np.random.default_rng(seed), [START + day * DAY for day in range(days)]
    means = [1000 * WEEK[at.weekday()] * (factor if is_kind(at) else 1.0) for at in moments]
    return [TimedValue(at, float(rng.poisson(mean))) for at, mean in zip(moments, means, strict=True)]


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_days_are_told_apart(name):
    """With days of the month that are three times as large, half of what is usual is below the limit on every day."""
    is_kind, days = KINDS[name], 420
    looks = looks_of(is_kind, days)
    kinds = set()
    for now in [look for look in looks[-95:] if is_kind(look.at) or look.at.day % 10 == 4]:
        past = [look for look in looks if now.at - 360 * DAY <= look.at < now.at]
        limit = learn_limit(past, now._replace(value=now.value / 2), rule=RULE, zone=ZONE)
        assert limit.side == -1
        assert limit.rhythm == (name if is_kind(now.at) else None)
        kinds.add(limit.rhythm)
    assert kinds == {name, None}


@pytest.mark.parametrize("seed", range(4))
def test_no_kind_is_told_apart_where_there_is_none(seed):
    """A week of Poisson numbers has no days of the month."""
    looks = looks_of(lambda _: False, 260, seed=seed)
    for day in range(190, 260, 7):
        limit = learn_limit(looks[day - 182 : day], looks[day], rule=RULE, zone=ZONE)
        assert isinstance(limit, LearnedLimit)
        assert limit.rhythm is None


def test_hours_of_the_last_day():
    """Of hourly numbers the hours of a day of the month are compared with the same hours of such days."""
    rng = np.random.default_rng(1)
    moments = [START + hour * timedelta(hours=1) for hour in range(24 * 150)]
    means = [(200 + 100 * (at.hour > 8)) * (4 if last_day(at) and at.hour > 8 else 1) for at in moments]
    looks = [TimedValue(at, float(rng.poisson(mean))) for at, mean in zip(moments, means, strict=True)]
    now = next(look for look in reversed(looks) if last_day(look.at) and look.at.hour == 12)
    limit = learn_limit([look for look in looks if look.at < now.at], now, rule=RULE, zone=ZONE)
    assert (limit.side, limit.rhythm) == (0, "last-day")
    assert limit.usual == pytest.approx(1200, rel=0.1)


@given(
    st.lists(st.booleans(), min_size=8, max_size=60).filter(lambda own: 3 <= sum(own) <= len(own) // 2), st.randoms()
)
def test_the_chance_by_luck(own, random):
    """It is the smaller of both sides' hypergeometric chances, twice; with all own days on top it is the smallest."""
    is_kind = np.array(own)
    distances = np.array([random.random() for _ in own])
    chance = _chance_by_luck(distances, is_kind)
    size = int(is_kind.sum())
    assert chance >= 2 / comb(len(own), size)
    assert _chance_by_luck(-distances, is_kind) == pytest.approx(chance)
    if size == 3:
        assert _chance_by_luck(np.where(is_kind, 2.0, distances), is_kind) == pytest.approx(2 / comb(len(own), 3))
    assert _chance_by_luck(np.zeros(len(own)), is_kind) >= 1


def test_two_months_are_too_short_for_a_kind():
    """Within two months no day of the month comes three times."""
    moments = [datetime(2026, 3, 1, tzinfo=ZoneInfo("UTC")) + day * DAY for day in range(60)]
    values = np.array([3.0 if last_day(at) else 1.0 for at in moments[:-1]])
    _, kinds = compare_by_rhythm(values, np.full(59, fill_value=True), np.zeros(60, dtype=int), moments, most=4)
    assert set(kinds) == {""}
