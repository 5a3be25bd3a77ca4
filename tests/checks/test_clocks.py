"""Wall clocks become moments, also in the hour that a clock shows twice."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from checks._instants import latest_local_time, moment_of_local_time, read_local_time

NEW_YORK = ZoneInfo("America/New_York")  # back at 2026-11-01 06:00 UTC, forward at 2026-03-08 07:00 UTC
ZONES = [
    NEW_YORK,
    ZoneInfo("Australia/Lord_Howe"),
    ZoneInfo("Asia/Tokyo"),
    ZoneInfo("UTC"),
    ZoneInfo("Antarctica/Troll"),
]
MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2027, 12, 31)).map(lambda naive: naive.replace(tzinfo=UTC))  # noqa: DTZ001 - made aware


def at(text):
    """Return a moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def wall(text):
    """Return a naive wall clock."""
    return datetime.fromisoformat(text)


def test_ordinary_hours():
    """Outside the repeated hour it is simply the wall clock."""
    assert latest_local_time(at("2026-11-01 05:30"), NEW_YORK) == wall("2026-11-01 01:30")
    assert latest_local_time(at("2026-11-01 07:00"), NEW_YORK) == wall("2026-11-01 02:00")


def test_repeated_hour():
    """While an hour is shown again, all of it has been shown."""
    end = wall("2026-11-01 01:59:59.999999")
    assert latest_local_time(at("2026-11-01 06:00"), NEW_YORK) == end
    assert latest_local_time(at("2026-11-01 06:15"), NEW_YORK) == end
    assert latest_local_time(at("2026-11-01 06:59:59.999999"), NEW_YORK) == end


def test_ambiguous_wall_clock_is_the_latest_that_is_not_after_now():
    """A clock time shown twice is its second showing once that has come, its first before."""
    shown_twice = wall("2026-11-01 01:30")
    assert read_local_time(shown_twice, NEW_YORK, not_after=at("2026-11-01 06:29")) == at("2026-11-01 05:30")
    assert read_local_time(shown_twice, NEW_YORK, not_after=at("2026-11-01 06:30")) == at("2026-11-01 06:30")


def test_skipped_wall_clock():
    """A clock time that was skipped lies before now if either reading does."""
    skipped = wall("2026-03-08 02:30")
    assert read_local_time(skipped, NEW_YORK, not_after=at("2026-03-08 07:10")) == at("2026-03-08 06:30")
    assert read_local_time(skipped, NEW_YORK, not_after=at("2026-03-08 08:00")) == at("2026-03-08 07:30")


@given(MOMENTS, st.sampled_from(ZONES), st.timedeltas(timedelta(), timedelta(hours=4)))
def test_nothing_written_lies_beyond(moment, zone, ago):
    """Whatever a clock showed up to a moment is at or before the latest wall clock, and reads back as not later."""
    shown = (moment - ago).astimezone(zone).replace(tzinfo=None)
    latest = latest_local_time(moment, zone)
    assert shown <= latest
    assert read_local_time(shown, zone, not_after=moment) <= moment
    assert read_local_time(latest, zone, not_after=moment) <= moment


@given(MOMENTS, st.sampled_from(ZONES))
def test_reads_back(moment, zone):
    """The wall clock of now is read as now."""
    shown = moment.astimezone(zone).replace(tzinfo=None)
    assert read_local_time(shown, zone, not_after=moment) == moment


@given(MOMENTS, st.sampled_from([*ZONES, ZoneInfo("Pacific/Apia"), ZoneInfo("America/Havana")]))
def test_configured_local_time_is_the_first_moment(moment, zone):
    """No clock of the zone shows a configured local time before its moment; where it is skipped, clocks change then."""
    local = moment.replace(tzinfo=None)
    result = moment_of_local_time(local, zone)
    shown = result.astimezone(zone).replace(tzinfo=None)
    just_before = (result - timedelta(microseconds=1)).astimezone(zone).replace(tzinfo=None)
    assert shown == local or just_before < local < shown
    assert all((result - timedelta(minutes=30 * n)).astimezone(zone).replace(tzinfo=None) < local for n in range(1, 9))


def test_configured_local_time_around_changes():
    """A skipped time is the moment of the change, one that is shown twice the first of both."""
    assert moment_of_local_time(wall("2026-03-08 02:00"), NEW_YORK) == at("2026-03-08 07:00")
    assert moment_of_local_time(wall("2026-03-08 02:59"), NEW_YORK) == at("2026-03-08 07:00")
    assert moment_of_local_time(wall("2026-11-01 01:30"), NEW_YORK) == at("2026-11-01 05:30")
    lord_howe, apia = ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Pacific/Apia")
    assert moment_of_local_time(wall("2026-10-04 02:15"), lord_howe) == at("2026-10-03 15:30")
    assert moment_of_local_time(wall("2011-12-30 10:00"), apia) == at("2011-12-30 10:00")
