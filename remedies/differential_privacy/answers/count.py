"""How many rows there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from checks import Json
from remedies.differential_privacy.answers._contract import Statistic, Terms
from remedies.differential_privacy.answers._noise import Noise
from remedies.differential_privacy.answers.reading import Reader
from remedies.differential_privacy.sensitivity import count_sensitivity

if TYPE_CHECKING:
    import ibis.expr.types as ir


class Count(Statistic):
    """The number of rows that are meant, with noise."""

    summary: ClassVar[str] = "How many rows there are."

    statistic: Literal["count"] = "count"

    def columns(self) -> Sequence[str]:
        """Name none."""
        return ()

    def noises(self, terms: Terms) -> Sequence[Noise]:
        """Return the noise of one count."""
        moved = count_sensitivity(rows=terms.declared.rows_per_unit)
        return (Noise("count", terms.accounting, self.nano(terms.accounting), moved),)

    def sums(self, rows: Reader, terms: Terms) -> ir.Table:  # noqa: ARG002 - the contract's
        """Count."""
        return rows.table.aggregate(rows=rows.table.count())

    def answer(self, results: Sequence[Mapping[str, Any]], terms: Terms) -> Mapping[str, Json]:
        """Return the count with noise; it may be below 0."""
        (noise,) = self.noises(terms)
        (value,) = noise.added([int(results[0]["rows"])])
        return {"value": value, "noise": list(self.accuracy(terms))}
