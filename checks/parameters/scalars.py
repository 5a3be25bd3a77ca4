"""Read the small words people type: durations, weekdays, clock times, zones.

Each type takes its text, is its Python value inside, and is written back as text; each tells editors its pattern
through the JSON schema. Errors say what was seen and show one that works.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time, timedelta
from functools import cache
from typing import Annotated, Any, Final, Self, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    ValidationInfo,
)
from pydantic import WithJsonSchema as JsonSchema
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, core_schema

from sources import did_you_mean

# --- durations ------------------------------------------------------------------------------------------------------

_UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION: Final = re.compile("(?=.)" + "".join(f"(?:(?P<{unit}>[0-9]{{1,10}}){unit})?" for unit in _UNITS))
_LONGEST: Final = timedelta(days=36_525)


def parse_duration(text: object) -> timedelta:
    """Return the length of time that a text such as `90s`, `15m`, `26h`, `1h30m`, `7d` or `1w` names, in whole seconds.

    A timedelta is taken as it is.

    Raises:
        ValueError: it is none, has no unit, has a sign or fraction, or is longer than 100 years.
    """
    if isinstance(text, timedelta):
        seconds: float = text.total_seconds()
    elif isinstance(text, str) and (match := _DURATION.fullmatch(text)):
        seconds = sum(int(count) * _UNITS[unit] for unit, count in match.groupdict(default="0").items())
    elif isinstance(text, int | float) and not isinstance(text, bool):
        raise ValueError(f"a duration such as 26h, not the bare number {text}; write {text:g}s if seconds were meant")
    else:
        raise ValueError(f"a duration such as 26h, not {text!r}; whole numbers with units w, d, h, m, s, largest first")
    if not 0 <= seconds <= _LONGEST.total_seconds() or seconds != int(seconds):
        raise ValueError(f"a duration of whole seconds between 0s and {say(_LONGEST)}, not {text}")
    return timedelta(seconds=seconds)


def say(duration: timedelta) -> str:
    """Return the text of a duration in the largest unit that divides it: `26h`, `90m`, `7d`."""
    seconds = round(duration.total_seconds())
    unit = next(unit for unit in ("d", "h", "m", "s") if seconds % _UNITS[unit] == 0) if seconds else "s"
    return f"{seconds // _UNITS[unit]}{unit}"


def _longer_than_nothing(duration: timedelta) -> timedelta:
    if not duration:
        raise ValueError("a duration longer than 0s")
    return duration


Duration: TypeAlias = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(say, return_type=str),
    JsonSchema(
        {
            "type": "string",
            "pattern": "^(?=.)([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$",
            "description": "A duration: whole numbers with units w, d, h, m, s, largest first.",
            "examples": ["15m", "26h", "1h30m", "7d"],
        }
    ),
]
PositiveDuration: TypeAlias = Annotated[Duration, AfterValidator(_longer_than_nothing)]

# --- weekdays -------------------------------------------------------------------------------------------------------

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class Weekdays:
    """Some days of the week, Monday is 0: `5 in days`, `for day in days`; `str(days)` is its text."""

    numbers: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `mon-fri`, `mon,wed`, `sat-mon` (over the week's end) or a mixture, in any case.

        Raises:
            ValueError: an unknown day; the nearest one is suggested.
        """
        numbers: set[int] = set()
        for part in text.lower().split(","):
            first, dash, last = (word.strip() for word in part.partition("-"))
            start = cls._number(first)
            length = (cls._number(last) - start) % 7 if dash else 0
            numbers.update((start + step) % 7 for step in range(length + 1))
        return cls(frozenset(numbers))

    @staticmethod
    def _number(word: str) -> int:
        if word not in _DAYS:
            hint = did_you_mean(word[:3], _DAYS)
            raise ValueError(f"weekdays such as mon-fri or mon,wed,sat, not {word!r}{hint}")
        return _DAYS.index(word)

    def __contains__(self, weekday: int) -> bool:
        return weekday in self.numbers

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self.numbers))

    def __str__(self) -> str:
        if len(self.numbers) == len(_DAYS):
            return "mon-sun"
        runs = []
        for start in (day for day in self if (day - 1) % 7 not in self.numbers):
            length = next(step for step in range(1, 7) if (start + step) % 7 not in self.numbers)
            first, last = _DAYS[start], _DAYS[(start + length - 1) % 7]
            runs.append(first if length == 1 else f"{first}{',' if length == 2 else '-'}{last}")
        return ",".join(runs)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        as_text = core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema())
        return core_schema.no_info_plain_validator_function(cls._read, serialization=as_text)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        day = "(" + "|".join(_DAYS) + ")"
        return {
            "type": "string",
            "pattern": f"^{day}(-{day})?(, *{day}(-{day})?)*$",
            "description": "Days of the week: ranges and single days, separated by commas.",
            "examples": ["mon-fri", "mon,wed,sat", "sat-mon"],
        }

    @classmethod
    def _read(cls, value: object) -> "Weekdays":
        if isinstance(value, Weekdays):
            return value
        if not isinstance(value, str):
            raise ValueError(f"weekdays such as mon-fri, not {value!r}")  # noqa: TRY004 - pydantic reports ValueErrors only
        return cls.parse(value)


# --- clock times and zones ------------------------------------------------------------------------------------------


def parse_clock(value: object) -> time:
    """Return the time of day that a text such as `09:00` names (00:00 to 23:59); a time is taken as it is.

    Raises:
        ValueError: it is none; YAML's trap of reading an unquoted 19:00 as a number is named.
    """
    if isinstance(value, time) and value.tzinfo is None:
        return value
    text = value if isinstance(value, str) else ""
    if not re.fullmatch("([01][0-9]|2[0-3]):[0-5][0-9]", text):
        hint = '; write "00:00" for midnight' if text == "24:00" else ""
        trap = "; put it in quotes, YAML reads an unquoted 19:00 as a number" if isinstance(value, int) else ""
        raise ValueError(f'a time such as "09:00", not {value!r}{hint}{trap}')
    return time.fromisoformat(text)


Clock: TypeAlias = Annotated[
    time,
    BeforeValidator(parse_clock),
    PlainSerializer(lambda value: value.strftime("%H:%M"), return_type=str),
    JsonSchema(
        {
            "type": "string",
            "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$",
            "description": "A local time, 00:00 to 23:59, in quotes.",
            "examples": ["09:00", "19:30"],
        }
    ),
]


@cache
def _is_zone(name: str) -> bool:
    # posix/ and right/ are other spellings on disk (right/ counts leap seconds); localtime is this machine's own.
    if name.startswith(("posix", "right/")) or name in {"localtime", "Factory"}:
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def known_zone(name: str) -> str:
    """Return the name of an IANA time zone back.

    Raises:
        ValueError: there is no such zone; the nearest name is suggested.
    """
    if not _is_zone(name):
        hint = did_you_mean(name, available_timezones())
        raise ValueError(f"an IANA time zone such as Asia/Tokyo, not {name!r}{hint}")
    return name


Zone: TypeAlias = Annotated[
    str,
    AfterValidator(known_zone),
    JsonSchema(
        {
            "type": "string",
            "pattern": "^[A-Za-z][A-Za-z0-9_+/-]*$",
            "description": "An IANA time zone.",
            "examples": ["UTC", "Asia/Tokyo", "America/New_York"],
        }
    ),
]

# --- the schema of defaults -----------------------------------------------------------------------------------------


class SchemaOfText(GenerateJsonSchema):
    """A JSON schema whose defaults are the texts a person would type: `26h`, not `P1DT2H`.

    Give it as `schema_generator` to `model_json_schema`.
    """

    def encode_default(self, dft: Any) -> Any:
        """Return a default value as its text."""
        match dft:
            case timedelta():
                return say(dft)
            case time():
                return dft.strftime("%H:%M")
            case Weekdays():
                return str(dft)
            case _:
                return super().encode_default(dft)


# --- when an incident opens ------------------------------------------------------------------------------------------


class Confirmation(BaseModel):
    """A second run before an incident opens: it opens if the check fails again, as detected by the first run."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    after: PositiveDuration = Field(description="How long after the failing run the check is run again.")


def _instead_of_a_count(confirm: Confirmation | None, info: ValidationInfo) -> Confirmation | None:
    count = info.data.get("open_after") or 1
    if confirm is not None and count > 1:
        raise ValueError(
            f"either 'confirm' or 'open_after: {count}' decides when an incident opens; remove one of them"
        )
    return confirm


ConfirmRule: TypeAlias = Annotated[Confirmation | None, AfterValidator(_instead_of_a_count)]
"""How failing runs are confirmed, in a section with `open_after` before it."""
