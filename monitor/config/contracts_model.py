"""Service levels that are promised to consumers of tables, and judged from the incident log."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Final, Self

from annotated_types import Gt, Le, MinLen
from pydantic import Field, model_validator

from monitor.config.scalars import PositiveDuration, Section

LEVELS: Final = ("time_to_detect", "time_to_notify", "time_to_repair", "availability")


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

    @model_validator(mode="after")
    def _promises(self) -> Self:
        if all(getattr(self, name) is None for name in LEVELS):
            raise ValueError(f"at least one of {', '.join(LEVELS)}")
        return self

    @property
    def times(self) -> dict[str, timedelta]:
        """Return the promised times by name."""
        promised = {name: getattr(self, name) for name in LEVELS[:3]}
        return {name: length for name, length in promised.items() if length is not None}
