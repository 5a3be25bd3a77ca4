"""The small words people type: those of the checks, and when things are due."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)
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
from monitor.config.cron import Cron, Schedule


class Section(BaseModel):
    """A part of the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)


_WHOLE: Final = "whole"


class LateSection(Section):
    """A section of which some fields are typed when they are first used.

    Until all of them were used, `==`, `repr` and dumps miss those that were not; a copy is late as well.
    """

    def complete_later(self, names: Collection[str], whole: Callable[[], Self]) -> None:
        """Forget some fields; each is taken from `whole()` when it is first used."""
        for name in names:
            self.__dict__.pop(name, None)
        self.__dict__[_WHOLE] = whole

    if not TYPE_CHECKING:  # with it, a type checker would allow any name

        def __getattr__(self, name: str) -> Any:
            if name not in type(self).model_fields or _WHOLE not in self.__dict__:
                return super().__getattr__(name)
            value = self.__dict__[name] = getattr(self.__dict__[_WHOLE](), name)
            return value


ShortName: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)]
"""The name of a release, of a remedy in it, of a statistic, of a population."""


def is_name_of_runbook(words: str) -> bool:
    """Check whether the words of a runbook are the name of a file, and neither Markdown nor an address."""
    return words.endswith(".md") and "\n" not in words and "://" not in words


@dataclass(frozen=True, slots=True)
class DowntimeBudget:
    """Downtime that may be spent in any period of a length; `str` is its text, `2h per 30d`."""

    allowed: timedelta
    per: timedelta

    def __str__(self) -> str:
        return f"{say(self.allowed)} per {say(self.per)}"


def parse_budget(value: object) -> DowntimeBudget:
    """Return the error budget of a text such as `2h per 30d`.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, DowntimeBudget):
        return value
    match = re.fullmatch("([0-9a-z]+) per ([0-9a-z]+)", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"a length of downtime in a longer one, such as 2h per 30d, not {value!r}")
    budget = DowntimeBudget(parse_duration(match[1]), parse_duration(match[2]))
    if not timedelta() < budget.allowed < budget.per:
        raise ValueError(f"more than 0s of downtime in a longer time, such as 2h per 30d, not {value!r}")
    return budget


BudgetOfDowntime: TypeAlias = Annotated[
    DowntimeBudget,
    PlainValidator(parse_budget),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^[0-9a-z]+ per [0-9a-z]+$",
            "description": "So much downtime in any time of that length.",
            "examples": ["2h per 30d", "30m per 1w"],
        }
    ),
]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A section whose class is imported when a file has one: `Annotated[Any, Deferred("module", "Class")]`."""

    module: str
    name: str

    @property
    def model(self) -> Any:
        """Return the class."""
        return getattr(import_module(self.module), self.name)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validate)

    def _validate(self, value: object) -> Any:
        return self.model.model_validate(value)


__all__ = [
    "BudgetOfDowntime",
    "Clock",
    "Cron",
    "DowntimeBudget",
    "Duration",
    "PositiveDuration",
    "Schedule",
    "SchemaOfText",
    "Weekdays",
    "Zone",
    "is_name_of_runbook",
    "known_zone",
    "parse_budget",
]
