"""A quantile of a column, such as its median: one of the numbers between its limits, selected at random by its rank.

In pure accounting by permute-and-flip; under zCDP by the exponential mechanism, whose bounded range costs less there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from annotated_types import Ge, Gt, Le
from pydantic import Field

from checks import Json
from checks.parameters.columns import ColumnName
from remedies._errors import Misfit
from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.answers._contract import Noise, Statistic, Terms, plain
from remedies.differential_privacy.answers.domain import BoundedColumn, Number
from remedies.differential_privacy.answers.grid import CELL
from remedies.differential_privacy.answers.reading import Reader
from remedies.differential_privacy.epsilon import NANO
from remedies.differential_privacy.sensitivity import quantile_sensitivity

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MOST: Final = 10_000
_BY_DEFAULT: Final = 1_000
_ONE_IN: Final = 20
"""An answer may be farther off than is said once in so many cases: 95 of 100 are within."""


class Quantile(Statistic):
    """A value that splits the rows by a share: a candidate from the lower limit to the upper one, step by step.

    Values are rounded to the nearest candidate before they are ranked, so that each row equals one of them: values
    between two candidates would leave all candidates with the same rank error.
    """

    summary: ClassVar[str] = "A quantile of a column, such as its median."

    statistic: Literal["quantile"] = "quantile"
    column: ColumnName = Field(description="Column of the quantile.")
    share: Annotated[Number, Ge(0), Le(1)] = Field(Decimal("0.5"), description="0.5 is the median.")
    step: Annotated[Number, Gt(0)] | None = Field(
        None,
        description="From one candidate to the next, a multiple of the grid; values are rounded to the nearest "
        "candidate. By default the grid, or as many times the grid as gives about 1,000 candidates.",
    )

    def columns(self) -> Sequence[str]:
        """Return the column."""
        return (self.column,)

    def numbers(self) -> Sequence[str]:
        """Return the column whose numbers are used."""
        return (self.column,)

    def noises(self, terms: Terms) -> Sequence[Noise]:
        """Return none: the mechanism selects instead of adding noise."""
        self._candidates(terms)
        self._epsilon(terms)
        return ()

    def sums(self, rows: Reader, terms: Terms) -> ir.Table:
        """Count the rows whose value is nearest to each candidate; of two at the same distance, to the larger one."""
        import ibis

        limits, step, candidates = self._candidates(terms)
        nearest = (2 * (rows.units(self.column, limits) - limits.low_units) + step) // (2 * step)
        cells = rows.table.select(**{CELL: ibis.least(nearest, candidates - 1).cast("int64")})
        return cells.group_by(CELL).aggregate(rows=cells.count())

    def answer(self, results: Sequence[Mapping[str, Any]], terms: Terms) -> Mapping[str, Json]:
        """Select a candidate."""
        from remedies.differential_privacy import _samplers

        limits, step, candidates = self._candidates(terms)
        counts = [0] * candidates
        for row in results:
            counts[int(row[CELL])] += int(row["rows"])
        utilities = _samplers.quantile_utilities(counts, share=Fraction(self.share))
        is_pure = terms.accounting is Accounting.PURE
        select = _samplers.permute_and_flip if is_pure else _samplers.exponential_mechanism
        place = select(utilities, sensitivity=self._sensitivity(terms), nano_epsilon=self._epsilon(terms))
        return {"value": plain(limits.number(limits.low_units + place * step)), "noise": list(self.accuracy(terms))}

    def accuracy(self, terms: Terms) -> Sequence[Mapping[str, Json]]:
        """Return the rank error that the answer has at most in 95 of 100 cases; it depends on no row.

        The rank error of an answer is the distance of q n from [#(x < c), #(x <= c)], of values that are rounded to the
        step. Some candidate has none, so its utility is at least 0, and one with a rank error of t rows or more has a
        utility of at most -t. The exponential mechanism selects each of those with a probability of at most
        exp(-epsilon t / (2 D)) (McSherry, Talwar 2007), permute-and-flip with half of that at most, for it also has to
        come before the best one; and there are at most as many as candidates but one.
        """
        _, step, candidates = self._candidates(terms)
        is_pure = terms.accounting is Accounting.PURE
        others = max(1.0, (candidates - 1) * (_ONE_IN / 2 if is_pure else _ONE_IN))
        rate = Fraction(self._epsilon(terms), 2 * NANO * self._sensitivity(terms)) * Fraction(self.share).denominator
        return [
            {
                "of": "choice",
                "distribution": "permute-and-flip" if is_pure else "exponential-mechanism",
                "rank_within_95": math.ceil(math.log(others) / rate) if candidates > 1 else 0,
                "step": plain(terms.declared.limits(self.column).number(step)),
            }
        ]

    def _sensitivity(self, terms: Terms) -> int:
        declared = terms.declared
        return quantile_sensitivity(declared.adjacency, share=Fraction(self.share), rows=declared.rows_per_unit)

    def _candidates(self, terms: Terms) -> tuple[BoundedColumn, int, int]:
        """Return the limits, how far candidates lie apart in units of the grid, and how many there are.

        Raises:
            Misfit: the step is not on the grid, or gives too many candidates.
        """
        limits = terms.declared.limits(self.column)
        width = limits.high_units - limits.low_units
        if self.step is None:
            step = max(1, -(-width // _BY_DEFAULT))
            return limits, step, width // step + 1
        ratio = Fraction(self.step) / Fraction(limits.grid)
        if ratio.denominator != 1:
            raise Misfit(f"the step is not a multiple of the grid of '{self.column}', which is {limits.grid:f}")
        if width // ratio.numerator >= _MOST:
            raise Misfit(f"the step gives more than {_MOST:,} candidates; expected a larger one")
        return limits, ratio.numerator, width // ratio.numerator + 1

    def _epsilon(self, terms: Terms) -> int:
        """Return what the choice costs in nano-epsilon; of rho, so much that epsilon^2 / 8 is within it.

        How much likelier neighbours make any candidate spreads over epsilon and not over twice as much (bounded range),
        which is epsilon^2 / 8 in zCDP (Cesar, Rogers 2021, "Bounding, Concentrating, and Truncating").
        """
        price = self.nano(terms.accounting)
        if terms.accounting is Accounting.PURE:
            return price
        return math.isqrt(8 * price * NANO)
