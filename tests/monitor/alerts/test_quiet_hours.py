"""Quiet hours on the wall clock."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Severity
from monitor.alerts.hold import held_until, quiet_until
from monitor.config import QuietHours, Weekdays

ZONES = (
    "Asia/Tokyo",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Africa/Cairo",
    "Pacific/Apia",
    "UTC",
)


def quiet(start="22:00", end="07:00", **others):
    """Make quiet hours."""
    return QuietHours.model_validate({"start": start, "end": end, **others})


def shown_as_quiet(hours, local):
    """Report by the hands of the clock whether it is quiet."""
    clock, today = local.time(), local.weekday() in hours.days
    yesterday = (local.weekday() - 1) % 7 in hours.days
    if hours.start < hours.end:
        return today and hours.start <= clock < hours.end
    return (today and clock >= hours.start) or (yesterday and clock < hours.end)


@given(
    zone=st.sampled_from(ZONES),
    moment=st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1)).map(lambda one: one.replace(tzinfo=UTC)),  # noqa: DTZ001 - hypothesis takes naive bounds
    start=st.times().map(lambda one: time(one.hour, one.minute)),
    end=st.times().map(lambda one: time(one.hour, one.minute)),
    days=st.sets(st.integers(0, 6), min_size=1, max_size=6),
)
@example("Europe/Berlin", datetime(2026, 10, 25, 0, 30, tzinfo=UTC), time(1), time(2, 15), {6})
@example("Europe/Berlin", datetime(2026, 3, 29, 0, 59, tzinfo=UTC), time(1, 30), time(2, 30), {6})
def test_it_is_quiet_when_the_clock_on_the_wall_says_so(zone, moment, start, end, days):
    """Whatever clocks do, it is quiet exactly while they show quiet hours; the end is when they first do not."""
    hours = QuietHours(days=Weekdays(frozenset(days)), start=start, end=end)
    until = quiet_until(hours, moment, zone=zone)
    assert (until is not None) == shown_as_quiet(hours, moment.astimezone(ZoneInfo(zone)))
    if until is None:
        return
    assert until > moment
    assert not shown_as_quiet(hours, until.astimezone(ZoneInfo(zone)))
    step = max((until - moment) / 50, timedelta(seconds=1))
    inside = moment
    while inside < until:
        assert shown_as_quiet(hours, inside.astimezone(ZoneInfo(zone)))
        inside += step


@pytest.mark.parametrize(
    ("moment", "until"),
    [
        ("2026-11-20 21:59", None),
        ("2026-11-20 22:00", "2026-11-21 07:00"),
        ("2026-11-21 03:00", "2026-11-21 07:00"),
        ("2026-11-21 07:00", None),
        ("2026-11-22 23:00", None),
    ],
)
def test_nights_end_in_the_morning(moment, until):
    """`days` are those on which a night begins: that of Friday lasts into Saturday, that of Sunday is not one."""
    zone = ZoneInfo("Asia/Tokyo")
    found = quiet_until(
        quiet(days="fri"), datetime.fromisoformat(moment).replace(tzinfo=zone).astimezone(UTC), zone="Asia/Tokyo"
    )
    assert (None if found is None else f"{found.astimezone(zone):%Y-%m-%d %H:%M}") == until


def test_stretches_that_touch_are_one():
    """A quiet weekend of two whole days ends on Monday."""
    weekend = quiet("00:00", "00:00", days="sat-sun")
    assert quiet_until(weekend, datetime(2026, 11, 21, 12, tzinfo=UTC), zone="UTC") == datetime(
        2026, 11, 23, tzinfo=UTC
    )


def test_its_own_zone_comes_before_the_projects():
    """Quiet hours with a zone go by its clocks."""
    here = quiet(timezone="America/New_York")
    noon_in_tokyo = datetime(2026, 11, 20, 3, tzinfo=UTC)
    assert held_until(here, Severity.ERROR, noon_in_tokyo, zone="Asia/Tokyo") == datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("loud", "severity", "held"),
    [
        ([], Severity.CRITICAL, True),
        (["critical"], Severity.CRITICAL, False),
        (["critical"], Severity.ERROR, True),
        (["warning"], Severity.CRITICAL, False),
        (["warning"], Severity.INFO, True),
    ],
)
def test_what_is_severe_is_let_through(loud, severity, held):
    """What is at least as severe as one of `let_through` passes."""
    night = datetime(2026, 11, 20, 23, tzinfo=UTC)
    assert (held_until(quiet(let_through=loud), severity, night, zone="UTC") is not None) == held


def test_quiet_hours_that_never_end_are_refused():
    """A whole day on all days would keep everything back for ever; some whole days are fine."""
    with pytest.raises(ValidationError, match="never end"):
        quiet("09:00", "09:00")
    assert quiet("09:00", "09:00", days="mon-sat")
