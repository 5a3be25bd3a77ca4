"""Waits of faults under schedules, rates of faults, and months inside their forecast."""

import random
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pytest

from benchmarks.plan import months_inside, simulated_table
from checks import Kind, OccurrenceMethod, Severity
from incidents import (
    BusinessCalendar,
    Episode,
    FoundBy,
    Incident,
    Onset,
    Pricing,
    RateCard,
    Resolution,
    Spans,
    State,
    Window,
    price,
)
from incidents.detection_forecast import FaultHistory, WaitTimes, count_faults, fault_rates, forecast_month
from incidents.spans import HOUR_US

START = datetime(2026, 11, 2, tzinfo=UTC)  # a Monday
HOUR = timedelta(hours=1)
WEEK = Window.of(START, START + 7 * 24 * HOUR)
CALENDAR = BusinessCalendar(frozenset(range(5)), time(9), time(19), Decimal("0.2"), "UTC")


def _slots(hours: float, *, days: int = 10) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.arange(WEEK.start_us, WEEK.start_us + days * 24 * HOUR_US, int(hours * HOUR_US), dtype=np.int64)


@pytest.mark.parametrize("hours", [1 / 12, 0.25, 1, 6, 24])
def test_a_fault_waits_half_the_time_between_two_runs(hours: float) -> None:
    """The mean is half of it, no wait is longer, and each more failing run adds all of it."""
    waits = WaitTimes.of(_slots(hours), WEEK)
    assert waits.mean == pytest.approx(hours / 2)
    assert hours * 0.9 <= waits.waits[-1] <= hours
    assert waits.runs_a_day == pytest.approx(24 / hours)
    assert WaitTimes.of(_slots(hours), WEEK, opens_after=2).mean == pytest.approx(1.5 * hours)


def test_uneven_schedules_wait_by_the_square() -> None:
    """Runs at 0:00 and 6:00: a quarter of faults waits 3 h, three quarters 9 h."""
    slots = np.sort(np.concatenate((_slots(24), _slots(24) + 6 * HOUR_US)))
    assert WaitTimes.of(slots, WEEK).mean == pytest.approx(0.25 * 3 + 0.75 * 9)


def test_waits_are_charged_as_downtime_is_priced() -> None:
    """The mean wait in hours of the full rate is that of the same undetected hours, priced as incidents are."""
    inside = CALENDAR.between(WEEK.start_us, WEEK.end_us + 100 * HOUR_US)
    waits = WaitTimes.of(_slots(6), WEEK, charge=lambda moments: 0.2 * moments + 0.8 * inside(moments))
    incidents = [
        _incident(number, START + number * HOUR + HOUR / 2, START + (number // 6 + 1) * 6 * HOUR)
        for number in range(7 * 24)
    ]
    card = RateCard(None, {"orders": Decimal(1)}, {}, business_hours=CALENDAR)
    window = Window.of(START, START + 20 * 24 * HOUR)
    cost = price(Spans.of(incidents), window, pricing=Pricing.of([card], {}), as_of_us=window.end_us)
    assert float(cost.amount) / len(incidents) == pytest.approx(waits.mean_charged, rel=1e-9)


def _incident(number: int, began: datetime, detected: datetime, **changes: object) -> Incident:
    episode = Episode(Onset(began, began, detected, OccurrenceMethod.LAST_GOOD_RUN), detected, detected)
    values: dict[str, object] = {
        "id": number,
        "fingerprint": f"orders.c{number}",
        "table": "orders",
        "check_id": f"orders.c{number}",
        "kind": Kind.QUALITY,
        "severity": Severity.ERROR,
        "title": "x",
        "title_values": {},
        "found_by": FoundBy.CHECK,
        "state": State.RESOLVED,
        "episodes": (episode,),
        "resolution": Resolution.FIXED,
    }
    return Incident(**(values | changes))  # type: ignore[arg-type]


def test_what_counts_as_a_fault() -> None:
    """Episodes with a common undetected time are of one fault; people, false alarms and first runs make none."""
    first = _incident(6, START + HOUR, START + 2 * HOUR)
    onset = Onset(START + 40 * HOUR, START + 30 * HOUR, START + 40 * HOUR, OccurrenceMethod.FIRST_OBSERVATION)
    incidents = [
        _incident(1, START + 10 * HOUR, START + 12 * HOUR),
        _incident(2, START + 11 * HOUR, START + 12 * HOUR),
        _incident(3, START + 12 * HOUR, START + 13 * HOUR),
        _incident(4, START + 20 * HOUR, START + 21 * HOUR, check_id=None),
        _incident(5, START + 25 * HOUR, START + 26 * HOUR, resolution=Resolution.FALSE_POSITIVE),
        first,
        _incident(7, START, START, episodes=(Episode(onset, START + 40 * HOUR),)),
    ]
    since = Window.of(START + 3 * HOUR, START + 100 * HOUR)
    assert count_faults(Spans.of(incidents), since) == {"orders": (2, 3)}
    assert count_faults(Spans.of(incidents), WEEK) == {"orders": (3, 4)}


def test_a_table_is_drawn_towards_its_pool() -> None:
    """Few days of a table count less than many; a table without history has the rate of its pool, else of all."""
    histories = {f"t{number}": FaultHistory(1, 1, 30.0) for number in range(9)}
    histories |= {"often": FaultHistory(9, 9, 30.0), "short": FaultHistory(1, 1, 1.0), "new": FaultHistory()}
    histories["alone"] = FaultHistory()
    pools = dict.fromkeys(histories, "gold") | {"alone": "bronze"}
    rates = {name: rate.episodes_a_day for name, rate in fault_rates(histories, pools).items()}
    pool = (19 + 0.5) / 301
    assert rates["new"] == rates["alone"] == pytest.approx(pool)
    assert 1 / 30 < rates["t0"] < pool
    assert pool < rates["short"] < 1.0
    assert pool < rates["often"] < 9 / 30
    assert fault_rates({"new": FaultHistory()}, {"new": None}) == {}


def test_no_fault_in_many_days_is_a_small_rate() -> None:
    """Where no fault was seen, half of one is expected in the time that was watched."""
    rates = fault_rates({"a": FaultHistory(0, 0, 50.0), "b": FaultHistory(0, 0, 50.0)}, {"a": None, "b": None})
    assert rates["a"].episodes_a_day == pytest.approx(0.5 / 100, rel=0.5)


def test_faults_of_several_checks_count_as_often() -> None:
    """A fault that three checks find is three incidents, whose hours are priced each."""
    rates = fault_rates({"a": FaultHistory(9, 27, 90.0), "b": FaultHistory(9, 9, 90.0)}, {"a": 1, "b": 1})
    assert rates["a"].episodes_a_day > 2 * rates["b"].episodes_a_day


def test_a_forecast_is_the_same_every_time() -> None:
    """The draws are fixed, and what is expected lies inside its bounds."""
    rates = fault_rates({"a": FaultHistory(3, 3, 30.0), "b": FaultHistory(1, 1, 30.0)}, {"a": 1, "b": 1})
    waits = WaitTimes.of(_slots(6), WEEK)
    tables = [(rates[name], 100.0, waits) for name in ("a", "b")]
    one, other = forecast_month(tables, 28), forecast_month(tables, 28)
    assert one == other
    for part in (one.undetected, one.ttd, one.cost):
        assert part.low <= part.expected <= part.high
    assert one.ttd.expected == pytest.approx(3)
    assert one.cost.expected == pytest.approx(100 * one.undetected.expected)
    episodes = sum(rate.episodes_a_day for rate in rates.values()) * 28
    assert one.undetected.expected == pytest.approx(3 * episodes)


def test_months_that_were_not_used_lie_inside_their_forecast() -> None:
    """At least nine in ten of 200 figures of 50 simulated projects do; the benchmark measures more of them."""
    inside = [is_inside for seed in range(50) for _, is_inside in months_inside(_project(seed), 2)]
    assert len(inside) == 200
    assert sum(inside) >= 180


def _project(seed: int) -> list[object]:
    rng = random.Random(seed)
    return [simulated_table(rng, "any moment", days=84) for _ in range(20)]
