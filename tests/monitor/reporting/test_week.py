"""A week of the project."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.reporting.week import Week, WeekError

ZONES = ("UTC", "Asia/Tokyo", "America/New_York", "Europe/Berlin", "Asia/Beirut", "Pacific/Chatham", "America/Santiago")
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive by contract


def test_named():
    """A week is read and written as ISO names it."""
    week = Week.parse("2026-W46", "Asia/Tokyo")
    assert (str(week), week.year, week.number) == ("2026-W46", 2026, 46)
    assert (week.monday, week.sunday) == (date(2026, 11, 9), date(2026, 11, 15))
    assert week.start == datetime(2026, 11, 8, 15, tzinfo=UTC)
    assert week.end - week.start == timedelta(days=7)
    assert Week.parse(" 2026-w46 ", "Asia/Tokyo") == week


@pytest.mark.parametrize("name", ["2026W46", "2026-46", "W46", "2026-W4", "", "last", "2026-W46-1"])
def test_not_a_week(name):
    """What is no week is refused with the form to write."""
    with pytest.raises(WeekError, match=r"write year and ISO week such as 2026-W46"):
        Week.parse(name, "UTC")


@pytest.mark.parametrize(("name", "last"), [("2025-W53", 52), ("2026-W54", 53), ("2026-W00", 53)])
def test_week_that_the_year_lacks(name, last):
    """A week that the year does not have is refused, saying which it has."""
    with pytest.raises(WeekError, match=f"01 to {last}"):
        Week.parse(name, "UTC")


@pytest.mark.parametrize(
    ("zone", "name", "hours"),
    [("America/New_York", "2026-W10", 167), ("America/New_York", "2026-W44", 169), ("Asia/Tokyo", "2026-W44", 168)],
)
def test_clocks_change(zone, name, hours):
    """A week in which clocks change has 167 or 169 hours."""
    week = Week.parse(name, zone)
    assert week.end - week.start == timedelta(hours=hours)


def test_last_complete():
    """On a Monday morning the last complete week ended that midnight; a minute before, it was the one before."""
    monday = datetime(2026, 11, 15, 15, tzinfo=UTC)
    assert str(Week.last_complete(monday, "Asia/Tokyo")) == "2026-W46"
    assert str(Week.last_complete(monday - timedelta(minutes=1), "Asia/Tokyo")) == "2026-W45"
    assert str(Week.last_complete(monday, "UTC")) == "2026-W45"


def test_midnight_that_does_not_exist():
    """Where clocks jump over midnight, the day begins at the jump."""
    week = Week.parse("2022-W36", "America/Santiago")  # Sunday 2022-09-11 began at 01:00
    sunday = week.days[6]
    assert sunday.start == datetime(2022, 9, 11, 4, tzinfo=UTC)
    assert sunday.end - sunday.start == timedelta(hours=23)


@given(moment=MOMENTS, zone=st.sampled_from(ZONES))
def test_days_tile_the_week(moment, zone):
    """Every moment lies in exactly one week, and the days of a week meet without gap or overlap."""
    week = Week.containing(moment, zone)
    assert week.start <= moment < week.end
    assert week.back(1).end == week.start
    assert week.back(-1).start == week.end
    edges = [edge for day in week.days for edge in (day.start, day.end)]
    assert edges[0] == week.start
    assert edges[-1] == week.end
    assert edges[1:-1:2] == edges[2::2]


@given(moment=MOMENTS, zone=st.sampled_from(ZONES))
def test_name_leads_back(moment, zone):
    """A week is found again by its name."""
    week = Week.containing(moment, zone)
    assert Week.parse(str(week), zone) == week
