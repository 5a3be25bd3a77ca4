"""Slots against a scan of every minute of two years, in zones that change their clocks in every way there is."""

from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pandas as pd
import pytest

from monitor.config import Schedule

_START, _END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
_ZONES = (
    "UTC",
    "Asia/Tokyo",
    "Asia/Kathmandu",  # 45 minutes off the hour
    "Europe/Berlin",
    "Europe/Dublin",  # winter time is its "daylight saving time"
    "America/New_York",
    "America/Santiago",  # the clocks jump at midnight
    "America/St_Johns",
    "Africa/Casablanca",  # changes around Ramadan
    "Australia/Lord_Howe",  # half an hour
    "Pacific/Chatham",
)
_BY_THE_WALL = (
    "30 2 * * *",
    "0,30 0-3 * * *",
    "0 0 * * *",
    "45 1,2,3 * * sun",
    "15 8-18/5 1,15 * *",
    "10 4 13 * fri",
)
_BY_ELAPSED_TIME = ("17 * * * *", "0 */6 * * *", "*/30 * * * mon")


@cache
def _scan(zone: str) -> tuple[pd.DatetimeIndex, pd.DatetimeIndex]:
    """Return every minute, and what a clock on the wall shows then."""
    minutes = pd.date_range(_START, _END, freq="1min", inclusive="left", unit="s")
    return minutes, minutes.tz_convert(zone).tz_localize(None)


def _fits(wall: pd.DatetimeIndex, line: str) -> np.ndarray:
    minute, hour, day, _, weekday = line.split()
    fits = _in(wall.minute, minute, 60) & _in(wall.hour, hour, 24)
    of_month, of_week = _in(wall.day, day, 32), _in((wall.day_of_week + 1) % 7, weekday, 7)
    return fits & ((of_month | of_week) if "*" not in (day, weekday) else (of_month & of_week))


def _in(values: pd.Index, field: str, end: int) -> np.ndarray:
    names = {"sun": 0, "mon": 1, "fri": 5}
    wanted: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if first == "*":
            low, high = 0, end - 1
        else:
            low = names[first] if first in names else int(first)
            high = int(last) if last else low
        wanted.update(range(low, high + 1, int(step or 1)))
    return np.isin(values, sorted(wanted))


def _slots(line: str, zone: str) -> list[datetime]:
    schedule, found, moment = Schedule.parse(f"cron: {line}"), [], _START - timedelta(microseconds=1)
    while (moment := schedule.next_after(moment, zone)) < _END:
        found.append(moment)
    return found


@pytest.mark.parametrize("zone", _ZONES)
@pytest.mark.parametrize("line", _BY_THE_WALL)
def test_fixed_hours_are_due_once_when_the_wall_clock_first_reaches_them(zone: str, line: str) -> None:
    """Each wall time of the line is due once: at its first showing, or when the clock jumps over it."""
    minutes, wall = _scan(zone)
    every = pd.date_range(wall[0], wall[-1], freq="1min", unit="s")
    wanted = every[_fits(every, line)]
    reached = np.searchsorted(np.maximum.accumulate(wall.to_numpy()), wanted.to_numpy(), side="left")
    assert _slots(line, zone) == list(minutes[np.unique(reached)].to_pydatetime())


@pytest.mark.parametrize("zone", _ZONES)
@pytest.mark.parametrize("line", _BY_ELAPSED_TIME)
def test_lines_of_any_hour_are_due_whenever_the_wall_clock_fits(zone: str, line: str) -> None:
    """With `*` or `*/n` as the hour, an hour that is shown twice is run twice, and one that is skipped not at all."""
    minutes, wall = _scan(zone)
    assert _slots(line, zone) == list(minutes[_fits(wall, line)].to_pydatetime())
