"""A quantile of a column, such as its median: one of the numbers of the grid, chosen by the exponential mechanism."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from annotated_types import Ge, Gt, Le
from pydantic import Field

from checks import Json
from checks._columns import ColumnName
from remedies._errors import Misfit
from remedies.differential_privacy._accounting import Accounting
from remedies.differential_privacy._epsilon import NANO
from remedies.differential_privacy._sensitivity import quantile_sensitivity
from remedies.differential_privacy.answers._contract import Statistic, Terms
from remedies.differential_privacy.answers._domain import Limits, Number
from remedies.differential_privacy.answers._grid import CELL
from remedies.differential_privacy.answers._noise import Noise, plain
from remedies.differential_privacy.answers._reading import Reader

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MOST: Final = 10_000
_SURE: Final = math.log(20)


class Quantile(Statistic):
    """A value below which a share of the rows lies: a candidate from the lower limit to the upper one, step by step."""

    summary: ClassVar[str] = "A quantile of a column, such as its median."

    statistic: Literal["quantile"] = "quantile"
    column: ColumnName = Field(description="The column whose quantile is wanted.")
    share: Annotated[Number, Ge(0), Le(1)] = Field(Decimal("0.5"), description="0.5 is the median.")
    step: Annotated[Number, Gt(0)] | None = Field(
        None, description="From one candidate to the next, a multiple of the grid; by default as the grid allows."
    )

    def columns(self) -> Sequence[str]:
        """Name the column."""
        return (self.column,)

    def numbers(self) -> Sequence[str]:
        """Name the column whose numbers are used."""
        return (self.column,)

    def noises(self, terms: Terms) -> Sequence[Noise]:
        """Give none: the mechanism chooses instead of adding."""
        self._candidates(terms)
        self._epsilon(terms)
        return ()

    def sums(self, rows: Reader, terms: Terms) -> ir.Table:
        """Count the rows from each candidate to the next."""
        limits, step = self._candidates(terms)
        place = (rows.units(self.column, limits) - limits.low_units) // step
        cells = rows.table.select(**{CELL: place.cast("int64")})
        return cells.group_by(CELL).aggregate(rows=cells.count())

    def answer(self, found: Sequence[Mapping[str, Any]], terms: Terms) -> Mapping[str, Json]:
        """Choose a candidate."""
        from remedies.differential_privacy._exponential import exponential_mechanism, quantile_utilities

        limits, step = self._candidates(terms)
        share, rows_per_unit = Fraction(self.share), terms.declared.rows_per_unit
        counts = [0] * ((limits.high_units - limits.low_units) // step + 1)
        for row in found:
            counts[int(row[CELL])] += int(row["rows"])
        below = [0, *accumulate(counts)]
        utilities = quantile_utilities(below[:-1], rows=below[-1], share=share)
        moved = quantile_sensitivity(terms.declared.adjacency, share=share, rows=rows_per_unit)
        epsilon = self._epsilon(terms)
        place = exponential_mechanism(utilities, sensitivity=moved, nano_epsilon=epsilon)
        return {"value": plain(limits.number(limits.low_units + place * step)), "noise": list(self.accuracy(terms))}

    def accuracy(self, terms: Terms) -> Sequence[Mapping[str, Json]]:
        """Say how many rows the choice may be off (McSherry, Talwar 2007, theorem 6), which depends on no row."""
        limits, step = self._candidates(terms)
        share = Fraction(self.share)
        moved = quantile_sensitivity(terms.declared.adjacency, share=share, rows=terms.declared.rows_per_unit)
        candidates = (limits.high_units - limits.low_units) // step + 1
        reach = 2 * moved * NANO / self._epsilon(terms) * (math.log(candidates) + _SURE) / share.denominator
        return [{"of": "choice", "distribution": "exponential-mechanism", "rank_within_95": math.ceil(reach)}]

    def _candidates(self, terms: Terms) -> tuple[Limits, int]:
        """Give the limits, and how far candidates lie apart, in units of the grid.

        Raises:
            Misfit: the step is not on the grid, or gives too many candidates.
        """
        limits = terms.declared.limits(self.column)
        width = limits.high_units - limits.low_units
        if self.step is None:
            return limits, max(1, -(-width // (_MOST // 10)))
        step = Fraction(self.step) / Fraction(limits.grid)
        if step.denominator != 1:
            raise Misfit(f"the step is not a multiple of the grid of '{self.column}', which is {limits.grid:f}")
        if width // step.numerator >= _MOST:
            raise Misfit(f"the step gives more than {_MOST:,} candidates; expected a larger one")
        return limits, step.numerator

    def _epsilon(self, terms: Terms) -> int:
        """Give what the choice costs in nano-epsilon; of rho, so much that epsilon^2 / 8 is within it.

        How much likelier neighbours make any candidate spreads over epsilon and not over twice as much (bounded range),
        which is epsilon^2 / 8 in zCDP (Cesar, Rogers 2021, "Bounding, Concentrating, and Truncating").
        """
        price = self.nano(terms.accounting)
        if terms.accounting is Accounting.PURE:
            return price
        return math.isqrt(8 * price * NANO)
