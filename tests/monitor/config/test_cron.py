"""Slots are counted without going through them, and as many are found as there are."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.config import Schedule
from monitor.config.cron import next_slot
from tests.tiers import examples

LINES = (
    "* * * * *", "*/7 * * * *", "30 * * * *", "15 */5 * * *", "0 0 * * *", "30 2 * * *", "0,59 0-3 * * *",
    "0 0 1 * mon", "45 1 29 2 *", "10 */2 * 3,10 sun", "0 6 * * mon-fri", "5 0 13 * fri",
)  # fmt: skip
ZONES = (
    "UTC", "Asia/Tokyo", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Asuncion", "Asia/Beirut",
    "Africa/Casablanca", "Pacific/Apia", "America/Scoresbysund",
)  # fmt: skip


BEGIN = datetime(2011, 1, 1, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def _one_by_one(schedule: Schedule, after: datetime, until: datetime, zone: str) -> list[datetime]:
    found = []
    while (slot := schedule.next_after(after, zone)) <= until:
        found.append(slot)
        after = slot
    return found


@pytest.mark.parametrize("zone", ZONES)
@settings(max_examples=examples(8), deadline=None)
@given(
    line=st.sampled_from(LINES),
    start=st.integers(0, 16 * 365 * 1440),
    length=st.integers(0, 40 * 1440),
    most=st.integers(1, 120),
)
@example(line="* * * * *", start=360 * 1440, length=8 * 1440, most=101)  # Apia goes without a day
@example(line="30 2 * * *", start=60 * 1440, length=365 * 1440, most=3)
@example(line="0,59 0-3 * * *", start=60 * 1440, length=365 * 1440, most=3)
def test_slots_are_counted_as_they_come(zone: str, line: str, start: int, length: int, most: int) -> None:
    """The number, and the last of them, are those of going from one to the next, also around changes of the clocks."""
    schedule = Schedule.parse(f"cron: {line}")
    after = BEGIN + start * MINUTE
    until = after + length * MINUTE
    slots = _one_by_one(schedule, after, until, zone)
    assert schedule.count_between(after, until, zone) == len(slots)
    assert list(schedule.last_between(after, until, zone, most=most)) == slots[-most:]


@given(
    minutes=st.integers(1, 3000),
    start=st.integers(0, 10**9),
    length=st.integers(0, 100_000),
    most=st.integers(1, 50),
)
def test_even_slots_are_counted_as_they_come(minutes: int, start: int, length: int, most: int) -> None:
    """The same of a schedule that is evenly spaced."""
    schedule = Schedule.parse(f"every {minutes}m")
    after = BEGIN + timedelta(seconds=start)
    until = after + length * MINUTE
    slots = _one_by_one(schedule, after, until, "UTC")
    assert schedule.count_between(after, until, "UTC") == len(slots)
    assert list(schedule.last_between(after, until, "UTC", most=most)) == slots[-most:]


def test_a_year_of_minutes_is_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a year the daemon asks for few slots of a line that is due every minute."""
    asked: list[datetime] = []

    def counted(line: str, moment: datetime, zone: ZoneInfo) -> datetime:
        asked.append(moment)
        return next_slot(line, moment, zone)

    monkeypatch.setattr("monitor.config.cron.next_slot", counted)
    schedule = Schedule.parse("cron: * * * * *")
    first = datetime(2025, 6, 1, tzinfo=UTC)
    until = first + 365 * DAY
    assert schedule.count_between(first, until, "Europe/Berlin") == 365 * 1440
    assert schedule.last_between(first, until, "Europe/Berlin", most=2) == (until - MINUTE, until)
    assert len(asked) < 20_000
