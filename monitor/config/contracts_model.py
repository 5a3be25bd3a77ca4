"""Service levels that are promised to consumers of tables, and judged from the incident log."""

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Final, Self, TypeAlias

from annotated_types import Gt, Le, MinLen
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from checks.parameters.scalars import parse_duration, say
from monitor.config.scalars import PositiveDuration, Section

LEVELS: Final = ("time_to_detect", "time_to_notify", "time_to_repair", "availability")


@dataclass(frozen=True, slots=True)
class DowntimeBudget:
    """Downtime that may be spent in any period of a length; `str` is its text, `2h per 30d`."""

    allowed: timedelta
    per: timedelta

    def __str__(self) -> str:
        return f"{say(self.allowed)} per {say(self.per)}"


def _parse_budget(value: object) -> DowntimeBudget:
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
    BeforeValidator(_parse_budget),
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


class Contract(Section):
    """Service levels promised for tables, judged from the incident log."""

    tables: Annotated[tuple[str, ...], MinLen(1)] = Field(description="Tables that it is about; of `tables`.")
    time_to_detect: PositiveDuration | None = Field(
        None, description="Longest time from the occurrence of bad data to its detection."
    )
    time_to_notify: PositiveDuration | None = Field(
        None, description="Longest time from detection to the first delivered alert."
    )
    time_to_repair: PositiveDuration | None = Field(None, description="Longest time from detection to good data again.")
    availability: Annotated[Decimal, Gt(0), Le(1)] | None = Field(
        None, description="Least share of a period without data downtime of any of its tables, such as 0.995."
    )

    downtime: BudgetOfDowntime | None = Field(
        None, description="Error budget: most downtime of any of its tables in any time of that length."
    )

    @model_validator(mode="after")
    def _promises(self) -> Self:
        if all(getattr(self, name) is None for name in (*LEVELS, "downtime")):
            raise ValueError(f"at least one of {', '.join((*LEVELS, 'downtime'))}")
        return self

    @property
    def times(self) -> dict[str, timedelta]:
        """Return the promised times by name."""
        promised = {name: getattr(self, name) for name in LEVELS[:3]}
        return {name: length for name, length in promised.items() if length is not None}
