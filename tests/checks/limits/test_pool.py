"""Tables that learn their limits together: the promise is of all, and nothing is judged before they carry it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.limits import DistancePool, LearnedLimit, LimitRule, MissingHistory, PooledLook, TimedValue, learn_pooled
from checks.limits.pool import LEAST_STEPS, PredictedStep, step_of

START, DAY, UTC_ZONE = datetime(2026, 1, 5, 6, tzinfo=UTC), timedelta(days=1), ZoneInfo("UTC")
GROUP = "rows, days, moving"
RULE = LimitRule(per_day=1.0)


def _looks(values: Sequence[float], **more: bool) -> list[TimedValue]:
    return [TimedValue(START + number * DAY, value, **more) for number, value in enumerate(values)]


def _noise(days: int, seed: int = 1, spread: float = 0.1) -> list[float]:
    return (1_000 * np.exp(np.random.default_rng(seed).normal(0, spread, days))).tolist()


def _pool(distances: Sequence[float], *, numbers: int = 100, band: int = 0, group: str = GROUP) -> DistancePool:
    looks = [PooledLook(f"t{at:04}", START, group, band, float(value)) for at, value in enumerate(distances)]
    return DistancePool(looks, numbers=numbers)


def test_a_table_needs_a_few_looks_of_its_own() -> None:
    """How many are missing is part of the answer; values of unanswered alarms are none of them."""
    for number in range(LEAST_STEPS + 1):
        step = step_of("rows", tuple(_looks(_noise(number))), TimedValue(START + 30 * DAY, 1.0), unit=1, zone=UTC_ZONE)
        assert isinstance(step, MissingHistory)
        assert step.looks == LEAST_STEPS + 1 - number
    bad = tuple(look._replace(unanswered=True) for look in _looks(_noise(20)))
    assert isinstance(step_of("rows", bad, TimedValue(START + 30 * DAY, 1.0), unit=1, zone=UTC_ZONE), MissingHistory)


@pytest.mark.parametrize(
    ("values", "usual"),
    [
        ([500.0] * 20, 500),  # still
        ([1_000.0 + 10 * day for day in range(20)], 1_200),  # it grows as it did
        ([900.0 if day % 7 in {5, 6} else 1_800.0 for day in range(33)], 900),  # a Saturday
        ([0.0] * 20, 0),
    ],
)
def test_what_is_usual_follows_from_the_past(values: list[float], usual: float) -> None:
    """The last value and its usual step, or the usual value of the slot: whichever was nearer."""
    now = TimedValue(START + len(values) * DAY, usual)
    step = step_of("rows", tuple(_looks(values)), now, unit=1, zone=UTC_ZONE)
    assert isinstance(step, PredictedStep)
    assert step.value(0.0) == pytest.approx(usual, rel=0.002, abs=0.001)
    assert abs(step.distance) < 0.1


def test_a_promise_that_the_pool_does_not_carry_is_unknown() -> None:
    """Six tenths of the looks in which one alarm is promised are needed, on each side half of them."""
    past, now = _looks(_noise(12)), TimedValue(START + 12 * DAY, 1_000.0)
    needed = 120  # one alarm a day among 100 numbers is a chance of 1/200 on each side
    short, enough = (_pool(np.random.default_rng(0).normal(size=size).tolist()) for size in (needed - 1, needed))
    verdict = learn_pooled("rows", past, now, pool=short, rule=RULE, zone=UTC_ZONE)
    assert isinstance(verdict.limit, MissingHistory)
    assert (verdict.limit.looks, verdict.step is None) == (1, False)
    assert isinstance(learn_pooled("rows", past, now, pool=enough, rule=RULE, zone=UTC_ZONE).limit, LearnedLimit)
    others = _pool([0.0] * needed, group="rows, hours, moving")
    assert isinstance(learn_pooled("rows", past, now, pool=others, rule=RULE, zone=UTC_ZONE).limit, MissingHistory)


def test_shorter_pasts_are_added_to_longer_ones_and_not_the_reverse() -> None:
    """Distances of tables that are known less are wider, so that adding them promises no more."""
    past, now = _looks(_noise(35)), TimedValue(START + 35 * DAY, 1_000.0)
    normal = np.random.default_rng(0).normal(size=200).tolist()
    assert isinstance(
        learn_pooled("rows", past, now, pool=_pool(normal, band=0), rule=RULE, zone=UTC_ZONE).limit, LearnedLimit
    )
    few = _looks(_noise(12))
    later = TimedValue(START + 12 * DAY, 1_000.0)
    assert isinstance(
        learn_pooled("rows", few, later, pool=_pool(normal, band=2), rule=RULE, zone=UTC_ZONE).limit, MissingHistory
    )


@given(seed=st.integers(0, 10_000), numbers=st.integers(20, 500))
def test_as_many_of_the_pool_are_beyond_the_limit_as_promised(seed: int, numbers: int) -> None:
    """Of distances of any distribution the promised share begins an alarm, and at most one more: a rank is rounded."""
    distances = 3 * np.random.default_rng(seed).standard_t(3, size=2_000)
    tail = _pool(distances.tolist(), numbers=numbers).tail(GROUP, 0, 0.5 / numbers, above_only=True)
    if isinstance(tail, int):
        assert 0.5 / numbers * 2_000 < 0.6
        return
    beyond = distances > tail.high
    assert np.sum(beyond[1:] & ~beyond[:-1]) <= 2_000 * 0.5 / numbers + 1


def test_the_limit_and_its_power_are_values_of_the_table() -> None:
    """A loss of a third is beyond the limits of a calm table; how rare it is, is read off all looks."""
    past = _looks([10_000.0 + 7 * day for day in range(20)])
    pool = _pool(np.random.default_rng(0).normal(size=1_000).tolist(), group="rows, days, calm")
    verdict = learn_pooled("rows", past, TimedValue(START + 20 * DAY, 6_700.0), pool=pool, rule=RULE, zone=UTC_ZONE)
    limit = verdict.limit
    assert isinstance(limit, LearnedLimit)
    assert (limit.side, verdict.odds) == (-1, 1_001)
    assert limit.usual == pytest.approx(10_140, rel=0.001)
    assert limit.loss == pytest.approx(limit.usual - limit.low)
    assert limit.low > 9_000
    calm = learn_pooled("rows", past, TimedValue(START + 20 * DAY, 10_100.0), pool=pool, rule=RULE, zone=UTC_ZONE)
    assert isinstance(calm.limit, LearnedLimit)
    assert calm.limit.side == 0


def test_within_two_per_cent_nothing_is_an_alarm() -> None:
    """Where no table ever changed, the first row more is none either."""
    past = _looks([10_000.0] * 20)
    pool = _pool([0.0] * 1_000, group="rows, days, calm")
    for value, side in ((10_150.0, 0), (9_850.0, 0), (10_500.0, 1), (9_500.0, -1)):
        limit = learn_pooled(
            "rows", past, TimedValue(START + 20 * DAY, value), pool=pool, rule=RULE, zone=UTC_ZONE
        ).limit
        assert isinstance(limit, LearnedLimit)
        assert limit.side == side


def test_far_unanswered_alarms_do_not_widen_the_limit() -> None:
    """Each bad day would hide the next."""
    normal = np.random.default_rng(0).normal(size=1_000).tolist()
    looks = [PooledLook(f"t{at}", START, GROUP, 0, value) for at, value in enumerate(normal)]
    bad = [PooledLook("bad", START + day * DAY, GROUP, 0, -50.0, unanswered=True) for day in range(20)]
    without, beside = (
        DistancePool(all_, numbers=100).tail(GROUP, 0, 0.005, above_only=False) for all_ in (looks, looks + bad)
    )
    assert not isinstance(without, int)
    assert not isinstance(beside, int)
    assert (beside.low, beside.high) <= (without.low, without.high)
    assert beside.high <= without.high
