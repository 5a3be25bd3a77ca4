"""Data products, and the service levels that are promised to consumers of tables, judged from the incident log."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Self

from annotated_types import Gt, Le, MinLen
from pydantic import Field, model_validator

from monitor.config.alerts_model import Slo
from monitor.config.scalars import BudgetOfDowntime, PositiveDuration, Section

LEVELS: Final = ("time_to_detect", "time_to_notify", "time_to_repair", "availability", "downtime")


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
        if not self.promised:
            raise ValueError(f"at least one of {', '.join(LEVELS)}")
        return self

    @property
    def promised(self) -> Mapping[str, Any]:
        """Return what is promised by name."""
        return {name: value for name in LEVELS if (value := getattr(self, name)) is not None}

    @property
    def times(self) -> dict[str, timedelta]:
        """Return the promised times by name."""
        return {name: value for name, value in self.promised.items() if isinstance(value, timedelta)}


class Product(Section):
    """A data product: tables that are offered together. It is down while any of its tables is."""

    tables: Annotated[tuple[str, ...], MinLen(1)] = Field(
        description="Which tables, as for `check`: names, patterns, 'tier:gold', '!domain:lab'."
    )
    title: str | None = Field(None, description="Its name in reports and alerts.")
    owner: str | None = Field(None, description="One of `owners`.")
    description: str | None = Field(None, description="Description of the product.")
    consumers: tuple[str, ...] = Field((), description="Who uses it; alerts about its tables name them.")
    promises: Slo | None = Field(None, description="Service levels of the product as a whole, judged like contracts.")
