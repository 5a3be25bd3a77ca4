"""The periods of reports: ISO weeks, calendar months and quarters, on the project's wall clock.

A period has as many hours as its clock shows: a week with a change of summer time has 167 or 169.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final, Self
from urllib.parse import quote
from zoneinfo import ZoneInfo

from monitor.config.prices import midnight

if TYPE_CHECKING:
    from monitor.reporting.scope import ReportScope

_FIRST_YEAR: Final = 1970
"""Reports include earlier periods, and a store holds no earlier times."""
_MOST_BYTES: Final = 255
"""A file name on Linux, macOS and Windows has at most so many bytes."""
_KEPT_BYTES: Final = 150
"""Bytes of a key that stay in a name with a digest."""


class PeriodError(ValueError):
    """A period that cannot be read or that does not exist."""


@dataclass(frozen=True, slots=True)
class PeriodPart:
    """A day of a week, or a week of a longer period: `[start, end)` in UTC, between the project's midnights."""

    date: date
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Period(ABC):
    """A calendar period, named by its first day, in an IANA zone. Periods of a kind meet without gap or overlap."""

    first: date
    zone: str
    unit: ClassVar[str]
    """Its name in keys and options: `week`."""
    part_unit: ClassVar[str]
    """The unit of its parts."""
    frequency: ClassVar[str]
    """The name of its report: `weekly`."""
    example: ClassVar[str]
    """Its notation in words, with an example."""
    trend: ClassVar[int]
    """Periods in the trend of a report."""
    latest: ClassVar[timedelta]
    """How late a scheduled report is still generated."""

    @classmethod
    @abstractmethod
    def parse(cls, name: str, zone: str) -> Self:
        """Read a name.

        Raises:
            PeriodError: it is none of this kind, or one that does not exist.
        """

    @classmethod
    @abstractmethod
    def of_date(cls, day: date, zone: str) -> Self:
        """Return the period in which a day lies."""

    @abstractmethod
    def back(self, count: int) -> Self:
        """Return the period that many earlier (negative: later)."""

    @property
    @abstractmethod
    def number(self) -> int:
        """Return its number within the year."""

    @classmethod
    def containing(cls, moment: datetime, zone: str) -> Self:
        """Return the period in which an aware time lies."""
        return cls.of_date(moment.astimezone(ZoneInfo(zone)).date(), zone)

    @classmethod
    def last_complete(cls, now: datetime, zone: str) -> Self:
        """Return the last period that was over at `now`."""
        return cls.containing(now, zone).back(1)

    @property
    def year(self) -> int:
        """Return the year of which it is a part."""
        return self.first.year

    @property
    def last(self) -> date:
        """Return its last day."""
        return self.back(-1).first - timedelta(days=1)

    @property
    def start(self) -> datetime:
        """Return when it begins, UTC."""
        return midnight(self.first, self.zone)

    @property
    def end(self) -> datetime:
        """Return when it is over, UTC."""
        return midnight(self.last + timedelta(days=1), self.zone)

    @property
    def parts(self) -> tuple[PeriodPart, ...]:
        """Return its days or weeks in order; they meet without gap or overlap, and the outer ones may be cut off."""
        starts = [*self._part_starts(), self.last + timedelta(days=1)]
        return tuple(
            PeriodPart(day, midnight(day, self.zone), midnight(following, self.zone))
            for day, following in pairwise(starts)
        )

    def file_name(self, scope: "ReportScope | None", locale: str, *, among: Iterable[str] = ()) -> str:
        """Return the name of its report as a file; `scope` None: of everything.

        A domain is named by its key, an owner as `owner=KEY`, a product as `product=KEY`. Characters that a name may
        not have are `%XX`. A digest is added where the name would be too long, and where another key of `among` differs
        in case only: it would be the same file on macOS and Windows.
        """
        start, end = f"tablewatch-{self}", f"-{locale}.html"
        if scope is None:
            return f"{start}{end}"
        key = scope.key
        part = re.sub(r"[^\w-]", lambda character: quote(character[0], safe=""), key)
        if scope.kind != "domain":  # "=" is in no key that was quoted
            part = f"{scope.kind}={part}"
        is_ambiguous = any(other != key and other.casefold() == key.casefold() for other in among)
        if is_ambiguous or len(f"{start}-{part}{end}".encode()) > _MOST_BYTES:
            digest = sha256(key.encode()).hexdigest()[:12]
            part = f"{part.encode()[:_KEPT_BYTES].decode(errors='ignore')}-{digest}"
        return f"{start}-{part}{end}"

    def _part_starts(self) -> Iterator[date]:
        """Yield the first day, and each Monday after it."""
        day = self.first
        while day <= self.last:
            yield day
            day += timedelta(days=7 - day.weekday())


class Week(Period):
    """An ISO week, Monday to Sunday: `2026-W46`."""

    __slots__ = ()
    unit, part_unit, frequency, trend, latest = "week", "day", "weekly", 12, timedelta(days=3)
    example = "year and ISO week such as 2026-W46"

    @classmethod
    def parse(cls, name: str, zone: str) -> Self:
        """Read a week such as `2026-W46`."""
        year, number = _numbers(cls, r"(\d{4})-W(\d{2})", name)
        try:
            return cls(date.fromisocalendar(year, number, 1), zone)
        except ValueError:
            last = date(year, 12, 28).isocalendar().week if year else 52
            raise PeriodError(f"week '{name}' does not exist; the weeks of {year:04} are 01 to {last}") from None

    @classmethod
    def of_date(cls, day: date, zone: str) -> Self:
        """Return the week in which a day lies."""
        return cls(day - timedelta(days=day.weekday()), zone)

    def back(self, count: int) -> Self:
        """Return the week that many weeks earlier (negative: later)."""
        return type(self)(self.first - timedelta(weeks=count), self.zone)

    def __str__(self) -> str:
        """Return its name, `2026-W46`."""
        return f"{self.year:04}-W{self.number:02}"

    @property
    def number(self) -> int:
        """Return the ISO week number, 1 to 53."""
        return self.first.isocalendar().week

    @property
    def year(self) -> int:
        """Return the ISO year."""
        return self.first.isocalendar().year

    def _part_starts(self) -> Iterator[date]:
        return (self.first + timedelta(days=number) for number in range(7))


class _Months(Period):
    """Whole calendar months."""

    __slots__ = ()
    months: ClassVar[int]
    part_unit = "week"

    @classmethod
    def numbered(cls, year: int, number: int, zone: str) -> Self:
        """Return the period of a year by its number, from 1; beyond the year it is one of another."""
        years, month = divmod((number - 1) * cls.months, 12)
        return cls(date(year + years, month + 1, 1), zone)

    @classmethod
    def of_date(cls, day: date, zone: str) -> Self:
        """Return the period in which a day lies."""
        return cls.numbered(day.year, (day.month - 1) // cls.months + 1, zone)

    def back(self, count: int) -> Self:
        """Return the period that many earlier (negative: later)."""
        return self.numbered(self.year, self.number - count, self.zone)

    @property
    def number(self) -> int:
        """Return its number within the year, from 1."""
        return (self.first.month - 1) // self.months + 1

    @classmethod
    def _existing(cls, year: int, number: int, *, name: str, zone: str) -> Self:
        most = 12 // cls.months
        if not (year and 1 <= number <= most):
            raise PeriodError(f"{cls.unit} '{name}' does not exist; the {cls.unit}s of a year are 1 to {most}")
        return cls.numbered(year, number, zone)


class Month(_Months):
    """A calendar month: `2026-11`."""

    __slots__ = ()
    months = 1
    unit, frequency, trend, latest = "month", "monthly", 6, timedelta(days=10)
    example = "year and month such as 2026-11"

    @classmethod
    def parse(cls, name: str, zone: str) -> Self:
        """Read a month such as `2026-11`."""
        return cls._existing(*_numbers(cls, r"(\d{4})-(\d{2})", name), name=name, zone=zone)

    def __str__(self) -> str:
        """Return its name, `2026-11`."""
        return f"{self.year:04}-{self.number:02}"


class Quarter(_Months):
    """A quarter of a calendar year: `2026-Q4`."""

    __slots__ = ()
    months = 3
    unit, frequency, trend, latest = "quarter", "quarterly", 5, timedelta(days=30)
    example = "year and quarter such as 2026-Q4"

    @classmethod
    def parse(cls, name: str, zone: str) -> Self:
        """Read a quarter such as `2026-Q4`."""
        return cls._existing(*_numbers(cls, r"(\d{4})-Q(\d)", name), name=name, zone=zone)

    def __str__(self) -> str:
        """Return its name, `2026-Q4`."""
        return f"{self.year:04}-Q{self.number}"


PERIODS: Final[tuple[type[Period], ...]] = (Week, Month, Quarter)
"""The kinds of periods, the shortest first."""


_SHAPES: Final = {Week: r"\d{4}-?W\d+", Month: r"\d{4}-\d+", Quarter: r"\d{4}-?Q\d+"}


def parse_period(name: str, zone: str) -> Period:
    """Read a week, a month or a quarter.

    Raises:
        PeriodError: it is none of them, or does not exist.
    """
    text = name.strip().upper()
    kind = next((kind for kind, shape in _SHAPES.items() if re.fullmatch(shape, text)), None)
    if kind is None:
        raise PeriodError(f"period '{name}' not understood; write {', '.join(kind.example for kind in PERIODS)}")
    return kind.parse(name, zone)


def _numbers(kind: type[Period], pattern: str, name: str) -> tuple[int, int]:
    match = re.fullmatch(pattern, name.strip().upper())
    if match is None:
        raise PeriodError(f"{kind.unit} '{name}' not understood; write {kind.example}")
    year, number = int(match[1]), int(match[2])
    if 0 < year < _FIRST_YEAR:
        raise PeriodError(f"{kind.unit} '{name}' is too long ago; the first year of a report is {_FIRST_YEAR}")
    return year, number
