"""Weeks, months and quarters of the project."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.reporting.period import PERIODS, Month, PeriodError, Quarter, Week, parse_period

ZONES = ("UTC", "Asia/Tokyo", "America/New_York", "Europe/Berlin", "Asia/Beirut", "Pacific/Chatham", "America/Santiago")
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive by contract


def test_named():
    """A week is read and written as ISO names it."""
    week = Week.parse("2026-W46", "Asia/Tokyo")
    assert (str(week), week.year, week.number) == ("2026-W46", 2026, 46)
    assert (week.first, week.last) == (date(2026, 11, 9), date(2026, 11, 15))
    assert week.start == datetime(2026, 11, 8, 15, tzinfo=UTC)
    assert week.end - week.start == timedelta(days=7)
    assert Week.parse(" 2026-w46 ", "Asia/Tokyo") == week


@pytest.mark.parametrize("name", ["2026W46", "2026-46", "W46", "2026-W4", "", "last", "2026-W46-1"])
def test_not_a_week(name):
    """What is no week is refused with the form to write."""
    with pytest.raises(PeriodError, match=r"write year and ISO week such as 2026-W46"):
        Week.parse(name, "UTC")


@pytest.mark.parametrize(("name", "last"), [("2025-W53", 52), ("2026-W54", 53), ("2026-W00", 53)])
def test_week_that_the_year_lacks(name, last):
    """A week that the year does not have is refused, saying which it has."""
    with pytest.raises(PeriodError, match=f"01 to {last}"):
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
    sunday = week.parts[6]
    assert sunday.start == datetime(2022, 9, 11, 4, tzinfo=UTC)
    assert sunday.end - sunday.start == timedelta(hours=23)


@pytest.mark.parametrize(
    ("kind", "name", "first", "last", "before"),
    [
        (Month, "2026-11", date(2026, 11, 1), date(2026, 11, 30), "2026-10"),
        (Month, "2024-02", date(2024, 2, 1), date(2024, 2, 29), "2024-01"),
        (Month, "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12"),
        (Quarter, "2026-Q4", date(2026, 10, 1), date(2026, 12, 31), "2026-Q3"),
        (Quarter, "2026-q1", date(2026, 1, 1), date(2026, 3, 31), "2025-Q4"),
    ],
)
def test_months_and_quarters(kind, name, first, last, before):
    """A month and a quarter are those of the calendar, and their names say which."""
    period = kind.parse(name, "Asia/Tokyo")
    assert (period.first, period.last, str(period.back(1))) == (first, last, before)
    assert parse_period(name, "Asia/Tokyo") == period
    assert str(period) == name.upper()


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (Month, "2026-13", "the months of a year are 1 to 12"),
        (Month, "2026-00", "the months of a year are 1 to 12"),
        (Month, "2026-W46", "write year and month such as 2026-11"),
        (Quarter, "2026-Q5", "the quarters of a year are 1 to 4"),
        (Quarter, "2026-4", "write year and quarter such as 2026-Q4"),
        (Month, "1969-12", "the first year of a report is 1970"),
        (Month, "0000-01", "does not exist"),
    ],
)
def test_not_a_month_or_quarter(kind, name, message):
    """What is no month or no quarter is refused with the form to write."""
    with pytest.raises(PeriodError, match=message):
        kind.parse(name, "UTC")


@pytest.mark.parametrize("name", ["", "yesterday", "2026"])
def test_a_name_of_no_period(name):
    """What names no period of any kind is refused, too."""
    with pytest.raises(PeriodError, match="not understood"):
        parse_period(name, "UTC")


@pytest.mark.parametrize(
    ("kind", "name", "hours"),
    [(Month, "2026-03", 31 * 24 - 1), (Month, "2026-11", 30 * 24 + 1), (Quarter, "2026-Q1", 90 * 24 - 1)],
)
def test_clocks_change_in_months(kind, name, hours):
    """A month or quarter in which clocks change is an hour shorter or longer; one with both changes is not."""
    period = kind.parse(name, "America/New_York")
    assert period.end - period.start == timedelta(hours=hours)


def test_the_weeks_of_a_month_are_cut_off_at_its_ends():
    """The parts of a month are its weeks: the first from the 1st, the others from Mondays."""
    assert [part.date.day for part in Month.parse("2026-11", "UTC").parts] == [1, 2, 9, 16, 23, 30]
    assert [part.date.day for part in Month.parse("2026-02", "UTC").parts] == [1, 2, 9, 16, 23]
    assert len(Quarter.parse("2026-Q4", "UTC").parts) == 14


@given(moment=MOMENTS, zone=st.sampled_from(ZONES), kind=st.sampled_from(PERIODS))
def test_parts_tile_the_period(moment, zone, kind):
    """Every moment lies in exactly one period of a kind, and its parts meet without gap or overlap."""
    period = kind.containing(moment, zone)
    assert period.start <= moment < period.end
    assert period.back(1).end == period.start
    assert period.back(-1).start == period.end
    assert period.back(7).back(-7) == period
    edges = [edge for part in period.parts for edge in (part.start, part.end)]
    assert edges[0] == period.start
    assert edges[-1] == period.end
    assert edges[1:-1:2] == edges[2::2]


@given(moment=MOMENTS, zone=st.sampled_from(ZONES), kind=st.sampled_from(PERIODS))
def test_name_leads_back(moment, zone, kind):
    """A period is found again by its name, which no period of another kind has."""
    period = kind.containing(moment, zone)
    assert kind.parse(str(period), zone) == parse_period(str(period), zone) == period
