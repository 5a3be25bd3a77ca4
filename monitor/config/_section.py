"""What every section of the configuration has in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
