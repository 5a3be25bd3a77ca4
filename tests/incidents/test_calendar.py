"""Business hours on the wall clock of a zone, across every change of the clocks."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incidents import BusinessCalendar, from_us, to_us

HALF_HOUR = 1_800_000_000
ZONES = ["UTC", "Asia/Tokyo", "America/New_York", "Europe/London", "Asia/Kolkata", "Australia/Lord_Howe"]
half_hours = st.integers(0, 47).map(lambda number: time(number // 2, number % 2 * 30))


def is_business(hours, moment):
    """Report by the wall clock whether a moment lies in business hours."""
    wall = moment.astimezone(ZoneInfo(hours.zone))
    clock, today, yesterday = wall.time(), wall.weekday() in hours.days, (wall.weekday() - 1) % 7 in hours.days
    if hours.start < hours.end:
        return today and hours.start <= clock < hours.end
    return (today and clock >= hours.start) or (yesterday and clock < hours.end)


@given(
    st.frozensets(st.integers(0, 6)),
    half_hours,
    half_hours,
    st.sampled_from(ZONES),
    st.sampled_from([date(2026, 3, 6), date(2026, 3, 27), date(2026, 4, 3), date(2026, 10, 2), date(2026, 10, 30)]),
    st.integers(1, 48 * 6),
)
def test_business_hours_are_what_the_wall_clock_shows(days, start, end, zone, begin, length):
    """Half hour by half hour, through weekends on which clocks change: inside when the wall clock says so."""
    hours = BusinessCalendar(days, start, end, Decimal("0.5"), zone)
    first = to_us(datetime(begin.year, begin.month, begin.day, tzinfo=UTC))
    moments = first + HALF_HOUR * np.arange(length)
    measure = hours.between(first, first + HALF_HOUR * length)
    assert measure.covers(moments).tolist() == [is_business(hours, from_us(moment)) for moment in moments.tolist()]
    assert int((measure.ends - measure.starts).sum()) == HALF_HOUR * int(measure.covers(moments).sum())


@pytest.mark.parametrize(("day", "length"), [("2026-03-08", 3), ("2026-11-01", 5), ("2026-06-07", 4)])
def test_a_day_of_changing_clocks_is_as_long_as_it_is(day, length):
    """In New York, midnight to four on the wall clock lasts three hours in spring, five in autumn, else four."""
    hours = BusinessCalendar(frozenset(range(7)), time(0), time(4), Decimal(0), "America/New_York")
    midnight = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo("America/New_York")).astimezone(UTC)
    measure = hours.between(to_us(midnight), to_us(midnight + timedelta(hours=12)))
    assert int((measure.ends - measure.starts).sum()) == length * 2 * HALF_HOUR


def test_a_whole_day_ends_at_midnight():
    """From 00:00 to 00:00 is the whole day, and days side by side are one stretch."""
    hours = BusinessCalendar(frozenset(range(5)), time(0), time(0), Decimal(0), "UTC")
    monday = to_us(datetime(2026, 1, 5, tzinfo=UTC))
    week = hours.between(monday, monday + 7 * 48 * HALF_HOUR)
    assert week.starts.tolist() == [monday]
    assert week.ends.tolist() == [monday + 5 * 48 * HALF_HOUR]
