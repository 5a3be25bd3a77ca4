"""The verdict of a check: what it found, how much it matters, since when, in sentences that any language can render.

A message is its English text with named places and the numbers and names that go into them. Rendering looks the text up
in a catalogue and formats each place by its kind: `{rows:count}` 26,115 · `{age:duration}` 1 d 2 h · `{ttr:hours}` 26 h
· `{at:time}` · `{part:ratio}` 2.5% · `{sum:number}` 1,234.5 · `{x}` as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from string import Formatter
from typing import Any, Final, Protocol, TypeAlias

from checks.parameters.numbers import grouped

SEGMENT: Final = "@segment"
"""The value of a message that names the segment it is about; no place of a text can have this name."""


class MessageFormatter(Protocol):
    """Renders texts in one language: texts, numbers, times."""

    def text(self, text: str) -> str:
        """Return the translation of a text."""

    def plural(self, name: str, many: str, number: int) -> str:
        """Return the translation of the form that fits a number."""

    def format(self, value: Any, kind: str) -> str:
        """Return a value of a kind (`count`, `number`, `duration` in seconds, `time`, `ratio`) as text."""


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence: its English text and its values; if it counts something, the singular form and which value counts."""

    text: str
    values: Mapping[str, Any] = field(default_factory=dict)
    one: str | None = None
    counted: str | None = None

    def given(self, **values: Any) -> Message:
        """Return the same sentence with these values."""
        return replace(self, values=values)

    def __str__(self) -> str:
        """Format it in English."""
        return self.render(PlainEnglish())

    def render(self, localizer: MessageFormatter) -> str:
        """Format it in the localizer's language; one about a segment of the table begins with that."""
        return self._sentence(localizer) if self.segment is None else f"{self.segment}: {self._sentence(localizer)}"

    @property
    def segment(self) -> str | None:
        """Return what people see of the segment of the table that the sentence is about; None of a whole table."""
        segment = self.values.get(SEGMENT)
        return None if segment is None else str(segment)

    def about(self, segment: str) -> Message:
        """Return the same sentence about a segment of the table."""
        return replace(self, values={**self.values, SEGMENT: segment})

    def _sentence(self, localizer: MessageFormatter) -> str:
        if self.one is not None and self.counted is not None:
            text = localizer.plural(self.one, self.text, int(self.values[self.counted]))
        else:
            text = localizer.text(self.text)
        return _fill(text, self.values, localizer)


@lru_cache(maxsize=4_096)
def _parts_of(text: str) -> Sequence[tuple[str, str | None, str | None, str | None]]:
    """Return what `Formatter.parse` says of a text: pages fill in the same ones again and again."""
    return tuple(Formatter().parse(text))


def _fill(text: str, values: Mapping[str, Any], localizer: MessageFormatter) -> str:
    parts = []
    for literal, name, kind, _ in _parts_of(text):
        parts.append(literal)
        if name is not None:
            parts.append(_format(values[name], kind or "", localizer))
    return "".join(parts)


def _format(value: Any, kind: str, localizer: MessageFormatter) -> str:
    if isinstance(value, str) and kind == "number":  # with more digits than JSON's numbers have
        number = grouped(value)
        return value if number is None else localizer.format(number, kind)
    if isinstance(value, str) and kind != "time":
        return value
    if isinstance(value, Sequence) and not isinstance(value, str) and kind != "dates":
        return ", ".join(_format(item, kind, localizer) for item in value)
    return localizer.format(value, kind)


class PlainEnglish:
    """English without a locale database: for the terminal, logs and tests."""

    def text(self, text: str) -> str:
        """Return the text itself."""
        return text

    def plural(self, name: str, many: str, number: int) -> str:
        """Return the singular for exactly one."""
        return name if number == 1 else many

    def format(self, value: Any, kind: str) -> str:  # noqa: PLR0911 - one line for each kind
        """Format a value by its kind."""
        match kind:
            case "count":
                return f"{int(value):,}"
            case "dates":
                return " to ".join(map(str, value))
            case "duration":
                return format_duration(value)
            case "hours":
                return format_duration(value, days=False)
            case "ratio":
                sign, shown = nearest_ratio(value)
                return f"{sign}{float(shown):.1%}" if abs(shown) < _SMALL else f"{sign}{float(shown):.0%}"
            case "number":
                return _grouped(value)
            case "time":
                return _iso_time(value)
            case _:
                return str(value)


def _iso_time(value: Any) -> str:
    """Write a time to the second, as it is or as JSON keeps it in the store."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return str(value)
    return moment.isoformat(timespec="seconds") if isinstance(moment, datetime) else str(moment)


def _grouped(value: Any) -> str:
    """Write whole numbers and decimals with all their digits, others with six."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,f}" if isinstance(value, Decimal) else f"{float(value):,.6g}"


def nearest_ratio(value: Any) -> tuple[str, Any]:
    """Return how a share is said: the sign `<`, `>` or none, and what is shown after it.

    Rounding never makes nothing or all of a share that is neither: `<0.1%`, `>99%`; 0% and 100% are exact.
    """
    if 0 < value <= _LEAST / 2:
        return "<", _LEAST
    if 1 - _STEP / 2 <= value < 1:
        return ">", 1 - _STEP
    if 1 < value <= 1 + _STEP / 2:
        return ">", Fraction(1)
    return "", value


_SMALL: Final = Fraction(1, 10)
"""Shares below this are said with one decimal."""
_LEAST, _STEP = Fraction(1, 1000), Fraction(1, 100)
"""What the last digit of a small and of a large share is worth."""


def format_duration(value: timedelta | float, *, days: bool = True) -> str:
    """Return a length of time (seconds or a timedelta) in its two largest units: `2 h 12 min`, `5 d 3 h`, `41 s`.

    Times of incidents and sums of them have no days: 24 h are not 1 d where people count working hours.
    """
    seconds = round(value.total_seconds() if isinstance(value, timedelta) else value)
    sign, seconds = ("-" if seconds < 0 else ""), abs(seconds)
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))[0 if days else 1 :]:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count:,} {unit}")
    return sign + (" ".join(parts[:2]) or ("0 s" if days else "0 min"))


Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


class Status(StrEnum):
    """What a check found. `unknown` is neither good nor bad: the question could not be answered."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """How much a broken limit matters; ranks incidents and alerts, never decides whether a check fails."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Return 0 for info up to 3 for critical."""
        return tuple(Severity).index(self)


class UnknownReason(StrEnum):
    """Why a check could not be evaluated."""

    NO_DATA = "no-data"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    PERMISSION = "permission"
    MISCONFIGURED = "misconfigured"
    BUG = "bug"


class Kind(StrEnum):
    """What an incident of this check is about: data that is wrong, or a release that would disclose."""

    QUALITY = "quality"
    DISCLOSURE = "disclosure"


class OccurrenceMethod(StrEnum):
    """How the time at which data went bad was found."""

    LAST_GOOD_RUN = "last-good-run"
    FRESHNESS_DEADLINE = "freshness-deadline"
    BAD_ROWS = "bad-rows"
    FIRST_OBSERVATION = "first-observation"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A sharper time of occurrence than the last passing run, seen in the data itself."""

    at: datetime
    method: OccurrenceMethod


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict. Holds numbers and names, never a data value of the table."""

    status: Status
    message: Message
    observed: Mapping[str, Json] = field(default_factory=dict)
    expected: Mapping[str, Json] = field(default_factory=dict)
    reason: UnknownReason | None = None
    occurrence: Occurrence | None = None

    def __post_init__(self) -> None:
        if (self.status is Status.UNKNOWN) != (self.reason is not None):
            raise ValueError("an outcome has a reason if and only if it is unknown")


def unknown(reason: UnknownReason, message: Message, observed: Mapping[str, Json] | None = None) -> Outcome:
    """Return the outcome of a question that could not be answered."""
    return Outcome(Status.UNKNOWN, message, observed or {}, reason=reason)
