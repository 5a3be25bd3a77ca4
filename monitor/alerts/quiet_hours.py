"""Determine until when quiet hours hold an alert back, by the wall clock of their zone.

`days` are those on which a quiet stretch begins; one that ends before it starts ends on the next day. A time that the
clocks show twice is quiet both times, one that they skip never was. Stretches that touch are one.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from checks import Severity
from incidents import BusinessCalendar, from_us, to_us
from monitor.config import QuietHours

_AHEAD: Final = timedelta(days=8)
"""Further than any stretch reaches: not all days of a week are quiet."""


def held_until(quiet: QuietHours, severity: Severity, now: datetime, *, zone: str) -> datetime | None:
    """Return when the quiet hours end that hold an alert of a severity back; None if nothing holds it.

    `zone` is the project's, for quiet hours without one of their own. What is at least as severe as one of
    `let_through` is let through.
    """
    return None if lets_through(quiet, severity) else quiet_until(quiet, now, zone=zone)


def lets_through(quiet: QuietHours, severity: Severity) -> bool:
    """Check whether alerts of a severity pass quiet hours."""
    return any(severity.rank >= loud.rank for loud in quiet.let_through)


def quiet_until(quiet: QuietHours, now: datetime, *, zone: str) -> datetime | None:
    """Return when the stretch of quiet hours ends that a moment lies in, in UTC; None if it lies in none."""
    hours = BusinessCalendar(frozenset(quiet.days), quiet.start, quiet.end, Decimal(0), quiet.timezone or zone)
    stretches = hours.between(to_us(now), to_us(now + _AHEAD))
    if stretches.starts.size == 0 or int(stretches.starts[0]) > to_us(now):
        return None
    return from_us(int(stretches.ends[0]))
