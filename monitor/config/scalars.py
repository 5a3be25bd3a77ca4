"""The small words people type: those of the checks, and when things are due."""

from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
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
)
from monitor.config.cron import Cron, Schedule


class Section(BaseModel):
    """A part of the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)


ShortName: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)]
"""The name of a release, of a remedy in it, of a statistic, of a population."""


def is_name_of_runbook(words: str) -> bool:
    """Check whether the words of a runbook are the name of a file, and neither Markdown nor an address."""
    return words.endswith(".md") and "\n" not in words and "://" not in words


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
    "Clock",
    "Cron",
    "Duration",
    "PositiveDuration",
    "Schedule",
    "SchemaOfText",
    "Weekdays",
    "Zone",
    "is_name_of_runbook",
    "known_zone",
]
