"""Read the times that people type: `2026-11-11T10:10+09:00`, `2026-11-11 10:10`, `2h ago`, `now`, dates for windows.

A time without an offset is read on the wall clock of the project, and the reader says so. One that the clocks of that
zone skip, or show twice, is refused: guessing would add an hour to figures.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Final, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

from checks import format_duration
from checks.parameters.scalars import parse_duration
from monitor.config.prices import midnight
from monitor.terminal.problem import ExitCode, Problem, Stop

T = TypeVar("T")

_EXAMPLE: Final = "2026-11-11T10:10+09:00, '2026-11-11 10:10'"
_YEARS: Final = range(1970, 2200)
_LONG: Final = 1_000 * 3_600
"""Seconds from which minutes say nothing any more."""

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME: Final = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})[T ](?P<clock>\d{2}:\d{2}(:\d{2}([.,]\d{1,6})?)?) ?(?P<offset>Z|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_EXACT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{3}|\.\d{6})?(?:Z|[+-]\d{2}:\d{2})", re.ASCII)
"""As most systems write it, with an offset: read a million times without a second look."""
_SLASHED: Final = re.compile(r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?P<rest>| (?P<hour>\d{1,2}):.*)")
"""As spreadsheets write it in Japan, `2026/10/5 9:30`: after a year the month always comes before the day."""


_EPOCH: Final = re.compile(r"(?P<seconds>\d{10})(?P<thousandths>\d{3})?", re.ASCII)
"""Seconds or milliseconds since 1970, as programs export times from September 2001 on."""


class UnreadableTime(ValueError):
    """A text that is no time, or none that we could be sure of. `reason` says why without the text."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"'{text}' {reason}")
        self.reason = reason


class ParsedTime(NamedTuple):
    """A moment in UTC; `assumed`: it had no offset and was read on the wall clock of the reader's zone."""

    at: datetime
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class TimeReader:
    """Reads times at a moment, in an IANA zone.

    With patterns of `strptime` it reads times of those forms and ISO 8601 with an offset only: a pattern says what the
    numbers mean. Without `relative`, as for files, no `now` and no `2h ago`, but seconds or milliseconds since 1970.
    """

    zone: str
    now: datetime
    patterns: Sequence[str] = ()
    relative: bool = True

    def read(self, text: str) -> ParsedTime:
        """Return the moment of a time.

        Raises:
            UnreadableTime: it is none, or the zone's clocks skip it or show it twice.
        """
        if not self.patterns and _EXACT.fullmatch(text):
            return ParsedTime(_parsed(text, text).astimezone(UTC))
        return self._read_inexact(text)

    def _read_inexact(self, text: str) -> ParsedTime:
        if not self.patterns and (match := _TIME.fullmatch(text)):
            return self._read_iso(match, text)
        words = " ".join(text.split())
        if self.patterns:
            return self._read_patterns(words)
        if self.relative and (words.lower() == "now" or words.lower().endswith(" ago")):
            return ParsedTime(self.now if words.lower() == "now" else self._ago(words[:-4]))
        if match := _TIME.fullmatch(words):
            return self._read_iso(match, text)
        if not self.relative and (number := _EPOCH.fullmatch(words)):
            return self._read_epoch(number)
        words = _with_hyphens(words)
        if _DAY.fullmatch(words):
            _parsed(words, text)
            raise UnreadableTime(text, "is a date without a time; expected a date and time such as '2026-11-11 10:10'")
        match = _TIME.fullmatch(words)
        if match is None:
            raise UnreadableTime(text, f"is not a valid time; expected {self._example()}")
        return self._read_iso(match, text)

    def _example(self) -> str:
        if self.relative:
            return f"{_EXAMPLE} or '2h ago'"
        return f"{_EXAMPLE}, '2026/11/11 10:10' or seconds since 1970; --time-format names another form"

    def _read_epoch(self, match: re.Match[str]) -> ParsedTime:
        whole = datetime.fromtimestamp(int(match["seconds"]), UTC)
        return ParsedTime(_in_range(whole, match[0]) + timedelta(milliseconds=int(match["thousandths"] or 0)))

    def _read_iso(self, match: re.Match[str], text: str) -> ParsedTime:
        offset = (match["offset"] or "").upper()
        return self._placed(_parsed(f"{match['day']}T{match['clock']}{offset}", text), text)

    def read_bound(self, text: str) -> datetime:
        """Return the beginning or end of a window: a time, a date (its midnight in the zone), or `7d` (so long ago).

        Raises:
            UnreadableTime: it is none of these.
        """
        words = text.strip()
        if _DAY.fullmatch(words):
            return midnight(_parsed(words, text).date(), self.zone)
        if re.fullmatch(r"[0-9]+[wdhms][0-9wdhms]*", words):
            return self._ago(words)
        return self.read(text).at

    def _ago(self, length: str) -> datetime:
        try:
            return self.now - parse_duration(length.replace(" ", ""))
        except ValueError as error:
            raise UnreadableTime(f"{length} ago", f"is not a valid time; expected {error}") from None

    def _read_patterns(self, words: str) -> ParsedTime:
        results = {pattern: parsed for pattern in self.patterns if (parsed := _by_pattern(words, pattern)) is not None}
        if len(set(results.values())) > 1:
            raise UnreadableTime(words, f"is ambiguous between {', '.join(results)}; keep one format")
        for parsed in results.values():
            return self._placed(_in_range(parsed, words), words)
        if not self.relative and (number := _EPOCH.fullmatch(words)):
            return self._read_epoch(number)
        match = _TIME.fullmatch(words)
        if match is None or not match["offset"]:
            forms = " or ".join(self.patterns)
            raise UnreadableTime(words, f"is not a time of the form {forms}, nor ISO 8601 with an offset")
        return self._read_iso(match, words)

    def _placed(self, parsed: datetime, text: str) -> ParsedTime:
        if parsed.tzinfo is not None:
            return ParsedTime(parsed.astimezone(UTC))
        zone = ZoneInfo(self.zone)
        early, late = parsed.replace(tzinfo=zone), parsed.replace(tzinfo=zone, fold=1)
        if early.utcoffset() != late.utcoffset():  # PEP 495: the two differ where a time is skipped or happens twice
            if early.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != parsed:
                raise UnreadableTime(
                    text, f"does not exist in {self.zone} (skipped by daylight saving time); use another time"
                )
            offsets = " or ".join(_offset(item) for item in (early, late))
            raise UnreadableTime(text, f"is ambiguous in {self.zone} (daylight saving time); add the offset, {offsets}")
        return ParsedTime(early.astimezone(UTC), assumed=True)


def _by_pattern(words: str, pattern: str) -> datetime | None:
    try:
        return datetime.strptime(words, pattern)  # noqa: DTZ007 - a pattern may have no offset; `_placed` sees to it
    except ValueError:
        return None


def _with_hyphens(words: str) -> str:
    """Return a time that is written with slashes, its year first, as one with hyphens; any other as it is."""
    match = _SLASHED.fullmatch(words)
    if match is None:
        return words
    clock = "" if match["hour"] is None else f" {match['hour']:0>2}{match['rest'][1 + len(match['hour']) :]}"
    return f"{match['year']}-{match['month']:0>2}-{match['day']:0>2}{clock}"


def _parsed(iso: str, text: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(iso)
    except ValueError:
        raise UnreadableTime(text, "is not a valid date or time") from None
    return _in_range(parsed, text)


def _in_range(parsed: datetime, text: str) -> datetime:
    if parsed.year not in _YEARS:
        raise UnreadableTime(text, f"is out of range; expected a year from {_YEARS.start} to {_YEARS.stop - 1}")
    return parsed


def _offset(moment: datetime) -> str:
    minutes = (moment.utcoffset() or timedelta()) // timedelta(minutes=1)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


class TypedTimes:
    """Reads the times of a command's options, and says once which zone was assumed for those without an offset.

    `named` returns what a problem calls an option.
    """

    def __init__(self, reader: TimeReader, note: Callable[[str], None], named: Callable[[str], str] = str) -> None:
        self._reader = reader
        self._note = note
        self._named = named
        self._said = False

    def moment(self, option: str, text: str | None) -> datetime | None:
        """Return the time of an option; None if it was not given.

        Raises:
            Stop: it is no time.
        """
        if text is None:
            return None
        moment = self._read(option, text, self._reader.read)
        if moment.assumed and not self._said:
            self._said = True
            self._note(
                f"note: times without an offset are interpreted in {self._reader.zone}, the time zone of the project"
            )
        return moment.at

    def bound(self, option: str, text: str | None) -> datetime | None:
        """Return the time of an option that may be a date or a length of time ago; None if it was not given.

        Raises:
            Stop: it is neither.
        """
        return None if text is None else self._read(option, text, self._reader.read_bound)

    def length(self, option: str, text: str) -> timedelta:
        """Return the length of time of an option.

        Raises:
            Stop: it is none.
        """
        try:
            return parse_duration(text)
        except ValueError as error:
            message = f"{self._named(option)}: expected {error}"
            raise Stop(ExitCode.USAGE, Problem("time.unreadable", message, field=option)) from None

    def _read(self, option: str, text: str, read: Callable[[str], T]) -> T:
        try:
            return read(text)
        except UnreadableTime as error:
            message = f"{self._named(option)}: {error}"
            raise Stop(ExitCode.USAGE, Problem("time.unreadable", message, field=option)) from None


def format_time(moment: datetime, zone: str) -> str:
    """Format a moment on the wall clock of a zone: `Wed 2026-11-11 10:10`."""
    return f"{moment.astimezone(ZoneInfo(zone)):%a %Y-%m-%d %H:%M}"


def format_hours(microseconds: Fraction | int) -> str:
    """Format a length of time in hours, never days, by its two largest units: `61 h 10 min`, `42 min`, `33,593 h`."""
    seconds = round(Fraction(microseconds) / 1_000_000)
    if seconds >= _LONG:
        return f"{round(Fraction(microseconds) / 3_600_000_000):,} h"
    return format_duration(seconds, days=False)
