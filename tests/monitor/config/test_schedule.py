"""When something is due."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from monitor.config.scalars import Cron, Schedule

_ZONES = ("UTC", "Asia/Tokyo", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca")
_MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone


def _slots(text: str, zone: str, *, start: datetime, end: datetime) -> Iterator[datetime]:
    schedule = Schedule.parse(text)
    moment = schedule.next_after(start, zone)
    while moment < end:
        yield moment
        moment = schedule.next_after(moment, zone)


def _day(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


@given(moment=_MOMENTS, minutes=st.integers(1, 10_000), zone=st.sampled_from(_ZONES))
def test_every_is_evenly_spaced_and_counts_from_the_epoch(moment: datetime, minutes: int, zone: str) -> None:
    """The next slot of `every` comes within one period, on a multiple of it, whatever the zone."""
    schedule = Schedule.parse(f"every {minutes}m")
    slot = schedule.next_after(moment, zone)
    period = timedelta(minutes=minutes)
    assert moment < slot <= moment + period
    assert (slot - _day(1970, 1, 1)) % period == timedelta()
    assert schedule.longest_period() == period


@pytest.mark.parametrize(
    ("line", "weekdays"),
    [
        ("1", {0}),
        ("0", {6}),
        ("7", {6}),
        ("mon-fri", {0, 1, 2, 3, 4}),
        ("5-7", {4, 5, 6}),
        ("sat-mon", {5, 6, 0}),
        ("mon,wed", {0, 2}),
        ("*/2", {6, 1, 3, 5}),
        ("1-5/2", {0, 2, 4}),
        ("*", {0, 1, 2, 3, 4, 5, 6}),
    ],
)
def test_weekdays_mean_what_cron_means(line: str, weekdays: set[int]) -> None:
    """Numbers count from Sunday, 7 is Sunday too, names and ranges over the week's end work."""
    slots = _slots(f"cron: 0 9 * * {line}", "UTC", start=_day(2026, 11, 1), end=_day(2026, 11, 15))
    assert {slot.weekday() for slot in slots} == weekdays


def test_a_limited_day_and_weekday_are_either_or() -> None:
    """As in cron, `0 9 1 * mon` is due on the first of the month and on Mondays."""
    slots = list(_slots("cron: 0 9 1 * mon", "UTC", start=_day(2026, 11, 1), end=_day(2026, 12, 2)))
    assert [slot.day for slot in slots] == [1, 2, 9, 16, 23, 30, 1]


def test_a_line_goes_by_the_wall_clock_of_the_zone() -> None:
    """Nine o'clock in New York is 13:00Z in summer and 14:00Z in winter."""
    schedule = Schedule.parse("cron: 0 9 * * *")
    assert schedule.next_after(_day(2026, 7, 1), "America/New_York").hour == 13
    assert schedule.next_after(_day(2026, 12, 1), "America/New_York").hour == 14


@pytest.mark.parametrize(
    ("zone", "start", "text", "expected"),
    [
        ("Europe/Berlin", _day(2026, 3, 28), "cron: 30 2 * * *", ["03-28T02:30", "03-29T03:00", "03-30T02:30"]),
        ("Europe/Berlin", _day(2026, 3, 29), "cron: */20 2 * * *", ["03-29T03:00", "03-30T02:00", "03-30T02:20"]),
        ("Europe/Berlin", _day(2026, 10, 24), "cron: 30 2 * * *", ["10-24T02:30", "10-25T02:30", "10-26T02:30"]),
        ("Australia/Lord_Howe", _day(2026, 10, 3), "cron: 15 2 * * *", ["10-04T02:30", "10-05T02:15", "10-06T02:15"]),
        ("Pacific/Apia", _day(2011, 12, 29), "cron: 0 6 * * *", ["12-29T06:00", "12-31T00:00", "12-31T06:00"]),
    ],
)
def test_a_skipped_time_is_due_after_the_jump_and_a_doubled_one_once(
    zone: str, start: datetime, text: str, expected: list[str]
) -> None:
    """With fixed hours, clock changes neither lose a slot nor run one twice."""
    slots = _slots(text, zone, start=start, end=start + timedelta(days=9))
    local = [next(slots).astimezone(ZoneInfo(zone)).strftime("%m-%dT%H:%M") for _ in range(3)]
    assert local == expected


@pytest.mark.parametrize("zone", _ZONES)
@pytest.mark.parametrize(("text", "minutes"), [("cron: */15 * * * *", 15), ("cron: 7 * * * *", 60)])
def test_a_line_of_any_hour_goes_by_elapsed_time(zone: str, text: str, minutes: int) -> None:
    """`*` in the hour runs through both clock changes of a year at the same pace (Lord Howe shifts by half an hour)."""
    slots = list(_slots(text, zone, start=_day(2026, 2, 1), end=_day(2026, 11, 15)))
    gaps = {(after - before) // timedelta(minutes=1) for before, after in pairwise(slots)}
    assert gaps == ({60, 90} if zone == "Australia/Lord_Howe" and minutes == 60 else {minutes})


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Africa/Casablanca"])
@pytest.mark.parametrize("text", ["cron: 30 2 * * *", "cron: 0,30 1-3 * * sun", "cron: 15 8-18/5 1,15 * *"])
def test_slots_equal_a_scan_of_every_minute(zone: str, text: str) -> None:
    """Outside the clock changes, the slots are exactly the minutes whose wall clock fits the line."""
    start, end = _day(2026, 1, 1), _day(2026, 4, 15)
    minute, hour, day, _, weekday = text.removeprefix("cron: ").split()
    wanted = {
        "30": {30}, "0,30": {0, 30}, "15": {15}, "2": {2}, "1-3": {1, 2, 3}, "8-18/5": {8, 13, 18},
    }  # fmt: skip
    scanned, seen = [], set()
    for step in range((end - start) // timedelta(minutes=1)):
        wall = (start + timedelta(minutes=step + 1)).astimezone(ZoneInfo(zone))
        due = wall.minute in wanted[minute] and wall.hour in wanted[hour]
        due &= day == "*" or wall.day in {1, 15}
        due &= weekday == "*" or wall.weekday() == 6
        naive = wall.replace(tzinfo=None, fold=0)
        if due and naive not in seen:
            seen.add(naive)
            scanned.append(wall.astimezone(UTC))
    found = [slot for slot in _slots(text, zone, start=start, end=end) if slot.astimezone(ZoneInfo(zone)).hour != 3]
    skipped = {slot for slot in scanned if slot.astimezone(ZoneInfo(zone)).hour == 3}
    assert found == [slot for slot in scanned if slot not in skipped]


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("cron: 0 6 * * mon-fri", timedelta(days=3)),
        ("cron: * 9-17 * * mon-fri", timedelta(days=2, hours=15, minutes=1)),
        ("cron: */15 * * * *", timedelta(minutes=15)),
        ("cron: 0 0,6 * * *", timedelta(hours=18)),
        ("cron: 0 0 29 2 *", timedelta(days=1461)),
        ("cron: 0 9 1 * mon", timedelta(days=7)),
        ("cron: 0 9 31 * *", timedelta(days=61)),
    ],
)
def test_the_longest_period_is_the_longest_gap(text: str, period: timedelta) -> None:
    """The longest time between two slots in a row is found over weekends, nights and leap years."""
    assert Schedule.parse(text).longest_period() == period


@given(moment=_MOMENTS, zone=st.sampled_from(_ZONES))
def test_the_next_slot_lies_ahead_and_none_lies_between(moment: datetime, zone: str) -> None:
    """Asking from just before a slot gives that slot."""
    schedule = Schedule.parse("cron: 10,40 */6 * * tue-sat")
    slot = schedule.next_after(moment, zone)
    assert slot > moment
    assert schedule.next_after(slot - timedelta(microseconds=1), zone) == slot


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hourly", "a schedule such as 'every 15m' or 'cron: 0 6 * * mon-fri', not 'hourly'"),
        ("every 5 minutes", "a duration such as 26h, not '5 minutes'"),
        ("every 0s", "a duration longer than 0s"),
        ("every", "a schedule such as"),
        ("cron: 0 6 * *", "five fields (minute hour day month weekday), not 4"),
        ("cron: 61 6 * * *", "not '61 6 * * *'"),
        ("cron: 0 6 * * mos", "day-of-week 'mos'"),
        ("cron: 0 6 * * 8", "day-of-week '8'"),
        ("cron: 0 0 31 2 *", "which never matches"),
        ("cron: 0 8 * * mon#1", "numbers, names"),
        ("15", "a schedule such as"),
    ],
)
def test_a_schedule_that_cannot_be_read_says_why(text: str, said: str) -> None:
    """The message shows what was seen and what works."""
    with pytest.raises(ValueError, match=re.escape(said)):
        Schedule.parse(text)


def test_schedules_are_written_back_as_text() -> None:
    """A model reads and writes schedules as people type them, in one spelling."""

    class Plan(BaseModel):
        schedule: Schedule
        cron: Cron

    plan = Plan.model_validate({"schedule": "Every  90m", "cron": "0 8 * *  MON"})
    assert plan.model_dump(mode="json") == {"schedule": "every 90m", "cron": "0 8 * * mon"}
    assert Plan.model_validate(plan.model_dump()) == plan
    with pytest.raises(ValidationError, match="a cron line such as"):
        Plan.model_validate({"schedule": "every 1h", "cron": 5})
