"""What is declared of a data set that gives noisy answers: the unit it protects, and the domains of its columns."""

from __future__ import annotations

from typing import Annotated, Final, Self

from annotated_types import Ge, Le
from pydantic import Field, WithJsonSchema, model_validator

from checks import did_you_mean
from checks.parameters.columns import ColumnName
from remedies._errors import Misfit
from remedies.differential_privacy.answers.domain import (
    BoundedColumn,
    CategoryColumn,
    Cells,
    Declaration,
    Domain,
    SteppedColumn,
)
from remedies.differential_privacy.sensitivity import Adjacency

ROW: Final = "row"
"""The privacy unit where each row is protected by itself."""

_MOST_ROWS: Final = 1_000_000
_ONE_OR_MORE: Final = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string", "minLength": 1}}]}


class Declared(Declaration):
    """The unit that answers about a table protect, and the columns they may use."""

    unit: Annotated[tuple[ColumnName, ...], WithJsonSchema(_ONE_OR_MORE)] = Field(
        (),
        description="Column or columns that identify the privacy unit of a row; by default each row is its own unit.",
    )
    rows_per_unit: Annotated[int, Ge(1), Le(_MOST_ROWS)] = Field(
        1, description="Maximum rows per unit; of units with more, this many are sampled uniformly."
    )
    pairs: tuple[ColumnName, ColumnName] | None = Field(
        None, description="The two columns of a table of pairs, each a member key, such as payer and payee."
    )
    adjacency: Adjacency = Field(
        Adjacency.SUBSTITUTE,
        description="Neighbouring tables: one unit's record differs (the size is public), or is missing.",
    )
    domain: dict[ColumnName, Domain] = Field(
        {}, description="Domain by column: all values, or the limits of its numbers; other columns cannot be queried."
    )

    @model_validator(mode="before")
    @classmethod
    def _one_column_is_enough(cls, raw: object) -> object:
        if isinstance(raw, dict) and isinstance(raw.get("unit"), str):
            return {**raw, "unit": () if raw["unit"] == ROW else (raw["unit"],)}
        return raw

    @model_validator(mode="after")
    def _unit_makes_sense(self) -> Self:
        if not self.unit and self.rows_per_unit > 1:
            raise ValueError("'rows_per_unit' goes with 'unit', the column that says whose a row is")
        if len(set(self.unit)) < len(self.unit) or (self.pairs and self.pairs[0] == self.pairs[1]):
            raise ValueError("'unit' and 'pairs' name each column once")
        if any("," in name for name in self.unit) or self.unit == (ROW,):
            raise ValueError(f"'unit' cannot be a column named '{ROW}', or one with a comma in its name")
        if self.pairs and self.unit and set(self.unit) != set(self.pairs):
            raise ValueError(
                "'unit' of a table of pairs is the pair (both columns) or the row: a member is in either column, so "
                "that cutting its rows in one of them does not bound what it can change"
            )
        return self

    @property
    def unit_name(self) -> str:
        """Return the privacy unit: `row`, or the columns that say whose a row is, however they are ordered.

        A pair in either direction is another unit than both columns as they stand, of which it holds two.
        """
        columns = ", ".join(sorted(self.unit))
        return f"pair of {columns}" if self.pairs and columns else columns or ROW

    def cells(self, column: str) -> Cells:
        """Return the cells of a column.

        Raises:
            Misfit: nothing is declared of it, or only the limits of its numbers.
        """
        result = self.column(column)
        if isinstance(result, CategoryColumn | SteppedColumn):
            return result
        raise Misfit(f"'{column}' is declared with limits, not cells; declare its values or its range to count by it")

    def limits(self, column: str) -> BoundedColumn:
        """Return the limits of a column's numbers.

        Raises:
            Misfit: nothing is declared of it, or it has categories.
        """
        result = getattr(self.column(column), "limits", None)
        if isinstance(result, BoundedColumn):
            return result
        raise Misfit(f"'{column}' is declared with categories, not limits; declare 'low' and 'high' to add it up")

    def column(self, name: str) -> Cells | BoundedColumn:
        """Return what is declared of a column.

        Raises:
            Misfit: nothing.
        """
        if name not in self.domain:
            text = f"; declared: {', '.join(sorted(self.domain)) or 'none'}"
            raise Misfit(f"column '{name}' has no declared domain{did_you_mean(name, self.domain) or text}")
        return self.domain[name]
