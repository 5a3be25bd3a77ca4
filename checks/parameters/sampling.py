"""How a check is estimated from a sample of the rows."""

from typing import Annotated, Literal

from annotated_types import Ge, Gt, Lt
from pydantic import BaseModel, ConfigDict, Field


class Sampling(BaseModel):
    """Which rows are drawn, and how sure the interval of an estimate is."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    share: Annotated[float, Gt(0), Lt(1)] = Field(description="Share of the rows or blocks that are sampled.")
    method: Literal["rows", "blocks"] = Field(
        "rows", description="What is drawn: rows, of which all are read, or blocks of a PostgreSQL table."
    )
    confidence: Annotated[float, Ge(0.5), Lt(1)] = Field(
        0.999, description="Probability that the interval of an estimate holds the share in the whole table."
    )
