"""Time counts only while something is expected."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks._instants import Calendar, ZonedReading, moment_of_local_time, placed
from checks.parameters.scalars import Weekdays
from monitor.config.scalars import Schedule

NEW_YORK = ZoneInfo("America/New_York")  # back on 2026-11-01, forward on 2026-03-08
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def at(text, zone=UTC):
    """Return a moment from the wall clock of a zone."""
    return datetime.fromisoformat(text).replace(tzinfo=zone)


def weekdays(text="mon-fri", zone=UTC, **parameters):
    """Return a calendar of some weekdays."""
    return Calendar(zone if zone is not UTC else ZoneInfo("UTC"), Weekdays.parse(text), **parameters)


def test_always():
    """Without weekdays, holidays and clock times, time is time."""
    assert Calendar(NEW_YORK).elapsed(at("2026-11-01 00:00", NEW_YORK), at("2026-11-02 00:00", NEW_YORK)) == 25 * HOUR


def test_weekend_does_not_count():
    """From Friday 18:00 to Monday 10:00 sixteen working-day hours pass."""
    assert weekdays().elapsed(at("2026-11-13 18:00"), at("2026-11-16 10:00")) == 16 * HOUR
    assert weekdays().after(at("2026-11-13 18:00"), 16 * HOUR) == at("2026-11-16 10:00")


def test_holidays_do_not_count():
    """A holiday is no expected day, whatever its weekday."""
    calendar = weekdays(holidays=frozenset({date(2026, 11, 16)}))
    assert calendar.elapsed(at("2026-11-13 18:00"), at("2026-11-17 10:00")) == 16 * HOUR


def test_clock_times():
    """Only the hours between start and end count."""
    calendar = weekdays(start=time(9), end=time(19))
    assert calendar.elapsed(at("2026-11-13 18:00"), at("2026-11-16 10:00")) == 2 * HOUR
    assert calendar.after(at("2026-11-13 20:00"), HOUR) == at("2026-11-16 10:00")


def test_over_midnight():
    """An end that is not after the start lies on the next day, which need not be an expected one."""
    calendar = weekdays("fri", start=time(22), end=time(6))
    assert calendar.elapsed(at("2026-11-13 00:00"), at("2026-11-15 00:00")) == 8 * HOUR
    assert calendar.elapsed(at("2026-11-14 05:00"), at("2026-11-20 23:00")) == 2 * HOUR


@pytest.mark.parametrize(("day", "hours"), [("2026-11-01", 25), ("2026-03-08", 23), ("2026-03-15", 24)])
def test_days_of_other_lengths(day, hours):
    """The day on which clocks go back has 25 hours, the one on which they go forward 23."""
    calendar = weekdays("sun", NEW_YORK)
    start = at(f"{day} 00:00", NEW_YORK).astimezone(UTC)
    assert calendar.elapsed(start - DAY, start + 2 * DAY) == hours * HOUR
    assert calendar.after(start - DAY, hours * HOUR) == start + hours * HOUR


def test_sentinels():
    """The first and the last day of all calendars raise nothing; nothing is expected before 1970."""
    for zone in ("Asia/Tokyo", "America/New_York"):
        calendar = weekdays(zone=ZoneInfo(zone))
        year = calendar.elapsed(datetime(1, 1, 1, tzinfo=UTC), datetime(1971, 1, 1, tzinfo=UTC))
        assert 260 * DAY < year < 262 * DAY
    with pytest.raises(OverflowError):
        calendar.after(datetime(9999, 12, 1, tzinfo=UTC), 365 * DAY)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "Pacific/Kiritimati"])
@pytest.mark.parametrize("wall", ["0001-01-01T00:00:00", "9999-12-31T23:59:59", "9999-12-31T23:59:59-14:00"])
def test_what_people_write_for_always_and_never_is_a_moment(wall, zone):
    """As a limit and as a local time; the years 0 and 10000 of another zone are the first and the last moment."""
    moment = datetime.fromisoformat(wall)
    years = {date.min.year, date.max.year}
    assert moment_of_local_time(moment.replace(tzinfo=None), ZoneInfo(zone)).year in years
    for reading in (ZonedReading("utc", zone), ZonedReading("wall", zone)):
        limit = placed(moment, reading, zone)
        assert limit is not None
        assert limit.year in years


MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)).map(lambda naive: naive.replace(tzinfo=UTC))  # noqa: DTZ001 - made aware
CLOCKS = st.sampled_from([time(), time(1, 30), time(2, 30), time(9), time(22)])
CALENDARS = st.builds(
    Calendar,
    st.sampled_from(["UTC", "America/New_York", "Asia/Beirut", "Australia/Lord_Howe", "Asia/Tokyo"]).map(ZoneInfo),
    st.frozensets(st.integers(0, 6), min_size=1).map(Weekdays),
    st.frozensets(st.dates(date(2026, 1, 1), date(2026, 12, 31)), max_size=20),
    CLOCKS,
    CLOCKS,
)


@given(CALENDARS, st.lists(MOMENTS, min_size=3, max_size=3).map(sorted))
def test_adds_up(calendar, moments):
    """Expected time adds up, and is never negative or more than the time that passed."""
    first, middle, last = moments
    whole = calendar.elapsed(first, last)
    assert calendar.elapsed(first, middle) + calendar.elapsed(middle, last) == whole
    assert timedelta() <= whole <= last - first
    assert calendar.elapsed(last, first) == timedelta()


@given(CALENDARS, MOMENTS, st.timedeltas(timedelta(microseconds=1), timedelta(days=9)))
def test_after_is_when_it_has_elapsed(calendar, since, length):
    """The moment after a length of expected time is the first one at which that much has elapsed."""
    moment = calendar.after(since, length)
    assert calendar.elapsed(since, moment) == length
    assert calendar.elapsed(since, moment - timedelta(microseconds=1)) < length


@given(CALENDARS, MOMENTS, st.integers(0, 40))
def test_agrees_with_counting_minutes(calendar, since, quarters):
    """Agrees with asking each minute for its wall clock, where no window begins or ends in a shifted hour."""
    if {calendar.start, calendar.end} & {time(1, 30), time(2, 30), time()} and calendar.zone.key not in {
        "UTC",
        "Asia/Tokyo",
    }:
        calendar = Calendar(calendar.zone, calendar.days, calendar.holidays, time(9), time(22))
    since = since.replace(minute=0, second=0, microsecond=0)
    minutes = range(quarters * 15)
    expected = sum(
        _is_expected(calendar, (since + timedelta(minutes=minute)).astimezone(calendar.zone)) for minute in minutes
    )
    assert calendar.elapsed(since, since + timedelta(minutes=len(minutes))) == timedelta(minutes=expected)


def _is_expected(calendar, local):
    def opens(day):
        return day.weekday() in calendar.days and day not in calendar.holidays

    clock, today = local.time(), local.date()
    if calendar.start < calendar.end:
        return opens(today) and calendar.start <= clock < calendar.end
    return (opens(today) and clock >= calendar.start) or (opens(today - DAY) and clock < calendar.end)


@pytest.mark.parametrize(
    ("zone", "day", "clock"),
    [
        ("Europe/Berlin", date(2026, 3, 29), time(2, 0)),
        ("Europe/Berlin", date(2026, 3, 29), time(2, 59)),
        ("Europe/Berlin", date(2026, 10, 25), time(2, 30)),  # shown twice
        ("Australia/Lord_Howe", date(2026, 10, 4), time(2, 15)),  # half an hour
        ("America/Havana", date(2026, 3, 8), time(0, 30)),
        ("Africa/Cairo", date(2026, 4, 24), time(0, 0)),
        ("Asia/Tokyo", date(2026, 3, 29), time(2, 30)),
    ],
)
def test_a_clock_that_is_skipped_means_what_it_means_in_a_cron_line(zone, day, clock):
    """Expected times begin at the moment of the change, when a table that is scheduled for then is checked."""
    end = (datetime.combine(day, clock) + timedelta(hours=4)).time()
    noon = datetime.combine(day - timedelta(days=1), time(12), tzinfo=ZoneInfo(zone)).astimezone(UTC)
    slot = Schedule.parse(f"cron: {clock.minute} {clock.hour} * * *").next_after(noon, zone)
    calendar, instant = Calendar(ZoneInfo(zone), start=clock, end=end), timedelta(microseconds=1)
    assert calendar.after(noon, instant) == slot + instant
