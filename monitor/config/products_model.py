"""Data products: tables that are offered together, to whom, and what is promised of them."""

from typing import Annotated

from annotated_types import MinLen
from pydantic import Field

from monitor.config.alerts_model import Slo
from monitor.config.scalars import Section


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
