"""A week of the project: Monday 00:00 to Monday 00:00 on its wall clock, so 167 or 169 hours when clocks change."""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Self
from zoneinfo import ZoneInfo

from monitor.config.prices import midnight

_NAME: Final = re.compile(r"(\d{4})-W(\d{2})")


_FIRST_YEAR: Final = 1970
"""Reports look back some weeks, and times before it are none that a store holds."""


class WeekError(ValueError):
    """A week that cannot be read or that does not exist."""


@dataclass(frozen=True, slots=True)
class Day:
    """A day of the project: `[start, end)` in UTC; 23 or 25 hours long when clocks change."""

    date: date
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Week:
    """An ISO week, named by its Monday, in an IANA zone."""

    monday: date
    zone: str

    @classmethod
    def parse(cls, name: str, zone: str) -> Self:
        """Read a week such as `2026-W46`.

        Raises:
            WeekError: not a week, or a week that the year does not have.
        """
        match = _NAME.fullmatch(name.strip().upper())
        if match is None:
            raise WeekError(f"week '{name}' not understood; write year and ISO week such as 2026-W46")
        year, number = int(match[1]), int(match[2])
        if 0 < year < _FIRST_YEAR:
            raise WeekError(f"week '{name}' is too long ago; the first year of a report is {_FIRST_YEAR}")
        try:
            return cls(date.fromisocalendar(year, number, 1), zone)
        except ValueError:
            last = date(year, 12, 28).isocalendar().week if year else 52
            raise WeekError(f"week '{name}' does not exist; the weeks of {year:04} are 01 to {last}") from None

    @classmethod
    def containing(cls, moment: datetime, zone: str) -> Self:
        """Return the week in which an aware time lies."""
        today = moment.astimezone(ZoneInfo(zone)).date()
        return cls(today - timedelta(days=today.weekday()), zone)

    @classmethod
    def last_complete(cls, now: datetime, zone: str) -> Self:
        """Return the last week that was over at `now`."""
        return cls.containing(now, zone).back(1)

    def __str__(self) -> str:
        """Return its name, `2026-W46`."""
        year, number, _ = self.monday.isocalendar()
        return f"{year:04}-W{number:02}"

    @property
    def number(self) -> int:
        """Return the ISO week number, 1 to 53."""
        return self.monday.isocalendar().week

    @property
    def year(self) -> int:
        """Return the ISO year."""
        return self.monday.isocalendar().year

    @property
    def sunday(self) -> date:
        """Return its last day."""
        return self.monday + timedelta(days=6)

    @property
    def start(self) -> datetime:
        """Return when it begins, UTC."""
        return self._midnight(0)

    @property
    def end(self) -> datetime:
        """Return when it is over, UTC."""
        return self._midnight(7)

    @property
    def days(self) -> tuple[Day, ...]:
        """Return its seven days, Monday first; they meet without gap or overlap."""
        return tuple(Day(self.monday + timedelta(days=i), self._midnight(i), self._midnight(i + 1)) for i in range(7))

    def back(self, weeks: int) -> Self:
        """Return the week that many weeks earlier (negative: later)."""
        return type(self)(self.monday - timedelta(weeks=weeks), self.zone)

    def _midnight(self, day: int) -> datetime:
        return midnight(self.monday + timedelta(days=day), self.zone)
