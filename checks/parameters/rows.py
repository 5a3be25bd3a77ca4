"""Which rows a check measures: segments by columns, and samples."""

from datetime import date
from typing import Annotated, Any, Literal, Self, TypeAlias

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, field_validator, model_validator

SegmentValue: TypeAlias = "bool | int | date | str | None"


class SegmentBy(BaseModel):
    """The columns whose values make segments, and which of their values may be named."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    columns: Annotated[tuple[Annotated[str, MinLen(1)], ...], MinLen(1)] = Field(
        description="Columns whose combinations of values are the segments."
    )
    values: tuple[tuple[SegmentValue, ...], ...] = Field(
        (), description="Segments that must exist and may be named; for several columns, lists of one value each."
    )
    show: bool = Field(default=False, description="Whether values that are not listed may be shown and stored.")
    most: Annotated[int, Ge(1), Le(1000)] = Field(
        20, description="Most segments with incidents and a history of their own; the others count together."
    )

    @model_validator(mode="before")
    @classmethod
    def _spelled_out(cls, data: Any) -> Any:
        spelled = data if isinstance(data, dict) else {"columns": data}
        columns = spelled.get("columns")
        return {**spelled, "columns": [columns]} if isinstance(columns, str) else spelled

    @field_validator("values", mode="before")
    @classmethod
    def _each_a_combination(cls, values: Any) -> Any:
        if not isinstance(values, list | tuple):
            return values
        return [value if isinstance(value, list | tuple) else [value] for value in values]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(set(self.columns)) < len(self.columns):
            raise ValueError("each of 'columns' once")
        if any(len(values) != len(self.columns) for values in self.values):
            raise ValueError(f"each of 'values' needs {len(self.columns)} values: {', '.join(self.columns)}")
        if len(set(self.values)) < len(self.values):
            raise ValueError("each segment in 'values' once")
        if len(self.values) > self.most:
            raise ValueError(f"'most' is {self.most}, and 'values' lists {len(self.values)} segments")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Show editors the short forms too: one column, or a list of columns."""
        names = {"type": "array", "items": {"type": "string"}, "minItems": 1}
        return {"anyOf": [{"type": "string"}, names, handler(core_schema)]}


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
