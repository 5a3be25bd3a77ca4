"""Turn local times into moments and back, also where clocks skip an hour or show it twice.

One rule for every local time that a configuration names (cron lines, the calendars of freshness, maintenance, prices):
one that clocks show twice means the first time, one that they skip means the moment of the change. Local times in data
have a rule of their own, `read_local_time`: data cannot be newer than the time at which they were read.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_STEP = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


def moment_of_local_time(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment, in UTC, at which clocks show a naive local time, or of the change that skips it.

    Raises:
        OverflowError: the moment lies outside the years 1 to 9999 in UTC.
    """
    moment = local.replace(tzinfo=zone).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == local:
        return moment
    return first_change(local.replace(tzinfo=zone, fold=1).astimezone(UTC), moment, zone)


def first_change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Return when clocks change between two moments that differ in their offset, in UTC; it is a whole second."""
    while after - before > _SECOND:
        middle = before + (after - before) / 2
        if _offset(middle.astimezone(zone)) == _offset(before.astimezone(zone)):
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def latest_local_time(moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the latest naive wall clock that a zone has shown up to a moment.

    That is the wall clock of the moment, except while an hour is shown again: then it is the last instant of that
    hour, which was shown before. No wall clock that was written by then lies beyond it.
    """
    local = moment.astimezone(zone)
    if not local.fold:
        return local.replace(tzinfo=None)
    repeated = _offset(local.replace(fold=0)) - _offset(local)
    first, last = timedelta(), repeated  # the clock went back at most `repeated` ago: find when, to the microsecond
    while last - first > _STEP:
        middle = (first + last) // 2
        if (moment - middle).astimezone(zone).fold:
            first = middle
        else:
            last = middle
    return (moment - last).astimezone(zone).replace(tzinfo=None)


def read_local_time(wall: datetime, zone: ZoneInfo, *, not_after: datetime) -> datetime:
    """Return the moment that a naive wall clock means, in UTC.

    One that a clock shows twice, or skips, has two readings: the latest that is not after `not_after` is taken, else
    the earlier one.

    Raises:
        OverflowError: the moment lies outside the years 1 to 9999 in UTC.
    """
    early, late = sorted(wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    return late if late <= not_after else early


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta()
