"""The only module that reads the clock; all others get `now` as an argument."""

import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    """Returns the time."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""

    def monotonic(self) -> float:
        """Return seconds since some fixed moment; never goes back. Differences are lengths of time."""

    def uptime(self) -> tuple[float, str | None]:
        """Return seconds that never go back and go on in sleep, and the id of the boot at which they began, if any."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds since some fixed moment."""
        return time.monotonic()

    def uptime(self) -> tuple[float, str | None]:
        """Return the seconds since the machine was started, its sleep included, and which start that was, on Linux."""
        if not hasattr(time, "CLOCK_BOOTTIME"):
            return time.monotonic(), None
        return time.clock_gettime(time.CLOCK_BOOTTIME), _boot()


class SimulatedClock:
    """A clock that stands still until it is moved: replays weeks in seconds, and makes tests exact."""

    def __init__(self, start: datetime) -> None:
        """Stand at a moment.

        Raises:
            ValueError: the moment is naive.
        """
        self._now = _in_utc(start)
        self._origin = self._now

    def now(self) -> datetime:
        """Return the moment at which the clock stands, in UTC."""
        return self._now

    def monotonic(self) -> float:
        """Return the simulated seconds since the clock was made."""
        return (self._now - self._origin).total_seconds()

    def uptime(self) -> tuple[float, str | None]:
        """Return the simulated seconds; they began with this clock."""
        return self.monotonic(), None

    def advance(self, length: timedelta) -> datetime:
        """Move forward by a length of time and give the new moment."""
        return self.advance_to(self._now + length)

    def advance_to(self, moment: datetime) -> datetime:
        """Move forward to a moment and give it.

        Raises:
            ValueError: the moment is naive or lies in the past.
        """
        moment = _in_utc(moment)
        if moment < self._now:
            stands, asked = self._now.isoformat(), moment.isoformat()
            raise ValueError(f"a simulated clock only moves forward; it is at {stands}, requested {asked}")
        self._now = moment
        return moment


@cache
def _boot() -> str | None:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return None


def iso(moment: datetime | None) -> str | None:
    """Return a moment as JSON has it."""
    return None if moment is None else moment.isoformat()


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a timestamp needs a time zone")
    return moment.astimezone(UTC)
