"""The small words people type: those of the checks, and when things are due."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Self, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, PlainSerializer
from pydantic import WithJsonSchema as JsonSchema
from pydantic_core import CoreSchema, core_schema

from checks.parameters.scalars import (
    Clock,
    Duration,
    PositiveDuration,
    SchemaOfText,
    Weekdays,
    Zone,
    known_zone,
    parse_duration,
    say,
)
from monitor.config.cron import check_line, count_slots, last_slots, longest_gap, next_slot


class Section(BaseModel):
    """A part of the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)


__all__ = [
    "Clock",
    "Cron",
    "Duration",
    "PositiveDuration",
    "Schedule",
    "SchemaOfText",
    "Weekdays",
    "Zone",
    "known_zone",
]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is due: `every 15m`, or `cron: 0 6 * * mon-fri` in a time zone. `str(schedule)` is its text.

    `every` counts from 1970-01-01T00:00Z, so its slots are evenly spaced and the same on every machine, whatever the
    time zone; for a wall clock time there is `cron`.

    Cron lines have five fields and mean what cron means: weekdays 0 and 7 are Sunday; when both the day of the month
    and the weekday are limited, either is enough. A time that the clocks skip in spring is due once, when they have
    jumped; a time that they show twice in autumn is due the first time only, unless the hour is `*` or `*/n`: such a
    line goes by elapsed time.
    """

    text: str
    every: timedelta | None = None

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a schedule.

        Raises:
            ValueError: neither form, a duration of nothing, a cron field out of range, or a day that never comes.
        """
        words = " ".join(str(text).lower().split()) if isinstance(text, str) else ""
        if words.startswith("every "):
            length = parse_duration(words.removeprefix("every ").strip())
            if not length:
                raise ValueError("a schedule needs a duration longer than 0s, such as every 15m")
            return cls(f"every {say(length)}", length)
        if words.startswith("cron:"):
            line = words.removeprefix("cron:").strip()
            check_line(line)
            return cls(f"cron: {line}")
        raise ValueError(f"a schedule such as 'every 15m' or 'cron: 0 6 * * mon-fri', not {text!r}")

    def __str__(self) -> str:
        return self.text

    def next_after(self, moment: datetime, zone: str) -> datetime:
        """Return the first slot after a moment, in UTC; `zone` is the IANA zone of a cron line's wall clock."""
        moment = moment.astimezone(UTC)
        if self.every is not None:
            return moment + self.every - (moment - _EPOCH) % self.every
        return next_slot(self._line, moment, ZoneInfo(zone))

    def count_between(self, after: datetime, until: datetime, zone: str) -> int:
        """Count the slots after a moment and not after another; years of minutes take a moment."""
        if self.every is not None:
            return max(0, (until - _EPOCH) // self.every - (after - _EPOCH) // self.every)
        return count_slots(self._line, after.astimezone(UTC), until.astimezone(UTC), ZoneInfo(zone))

    def last_between(self, after: datetime, until: datetime, zone: str, *, most: int) -> tuple[datetime, ...]:
        """Return the last slots after a moment and not after another, up to so many, in order."""
        if self.every is not None:
            count = min(most, self.count_between(after, until, zone))
            last = until - (until - _EPOCH) % self.every
            return tuple(last - self.every * back for back in reversed(range(count)))
        return last_slots(self._line, after.astimezone(UTC), until.astimezone(UTC), ZoneInfo(zone), most=most)

    def longest_period(self) -> timedelta:
        """Return the longest time between two slots in a row (clock changes apart)."""
        return self.every if self.every is not None else longest_gap(self._line)

    @property
    def _line(self) -> str:
        return self.text.removeprefix("cron: ")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        as_text = core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema())
        return core_schema.no_info_plain_validator_function(cls._read, serialization=as_text)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": r"^(every +[0-9wdhms]+|cron: *\S+( +\S+){4})$",
            "description": "When it is due: evenly spaced, or a cron line of five fields.",
            "examples": ["every 15m", "cron: 0 6 * * mon-fri"],
        }

    @classmethod
    def _read(cls, value: object) -> "Schedule":
        return value if isinstance(value, Schedule) else cls.parse(value)


def _read_cron(value: object) -> Schedule:
    if isinstance(value, Schedule):
        return value
    if isinstance(value, str):
        return Schedule.parse(f"cron: {value.removeprefix('cron:')}")
    raise ValueError(f"a cron line such as '0 8 * * mon', not {value!r}")


Cron: TypeAlias = Annotated[
    Schedule,
    BeforeValidator(_read_cron),
    PlainSerializer(lambda schedule: str(schedule).removeprefix("cron: "), return_type=str),
    JsonSchema(
        {
            "type": "string",
            "pattern": r"^\S+( +\S+){4}$",
            "description": "A cron line: minute, hour, day of the month, month, weekday.",
            "examples": ["0 8 * * mon"],
        }
    ),
]
