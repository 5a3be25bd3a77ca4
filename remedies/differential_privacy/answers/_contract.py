"""What a statistic is that is answered with noise: what it costs, what it asks the engine, and how noise is added.

A statistic is one file of this package: a frozen set of parameters. Whether a request is accepted, and what it costs,
follows from the parameters and the declaration alone; the table is read after that, by one statement that gives sums of
whole numbers; and nothing leaves `answer` but these sums with their noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field, model_validator

from checks import Json
from remedies._errors import Misfit
from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.answers._coverage import not_covered
from remedies.differential_privacy.answers._declared import Declared
from remedies.differential_privacy.answers._noise import Noise
from remedies.differential_privacy.answers._where import WhereComparison
from remedies.differential_privacy.answers.domain import Declaration
from remedies.differential_privacy.answers.reading import Reader, with_columns
from remedies.differential_privacy.answers.rows import meant_rows
from remedies.differential_privacy.epsilon import WrittenLoss, nano

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, slots=True)
class Terms:
    """Under what a statistic is answered: what is declared of the data set, and the unit in which its budget counts."""

    declared: Declared
    accounting: Accounting


class Statistic(Declaration, ABC):
    """The parameters that every statistic has, and what it can be asked."""

    summary: ClassVar[str]

    where: tuple[WhereComparison, ...] = Field((), description="Filter: comparisons of declared columns.")
    epsilon: WrittenLoss | None = Field(None, description="Cost, for budgets in epsilon.")
    rho: WrittenLoss | None = Field(None, description="Cost, for budgets in rho (zcdp).")

    @model_validator(mode="after")
    def _one_price(self) -> Self:
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError("expected one of 'epsilon' and 'rho': what the answer costs")
        return self

    def nano(self, accounting: Accounting) -> int:
        """Return the price in the nano units of a budget.

        Raises:
            Misfit: it is given in the other unit.
        """
        wanted, given = ("epsilon", self.epsilon) if accounting is Accounting.PURE else ("rho", self.rho)
        if given is None:
            raise Misfit(f"the budget is accounted in {wanted}; give the cost in {wanted}")
        return nano(given, name=wanted)

    def check(self, terms: Terms) -> None:
        """See that the statistic can be answered under these terms; no table is looked at.

        Raises:
            Misfit: a column is not declared for it, or the price is in the other unit.
        """
        self.nano(terms.accounting)
        for item in self.where:
            item.check(terms.declared)
        self.noises(terms)

    def request(self, terms: Terms) -> Mapping[str, Json]:
        """Return all that an answer depends on but the table, as plain data: the same request is the same data."""
        read = {name: terms.declared.column(name).as_json() for name in self.reads()}
        return {
            **{name: text for name, text in self.as_json().items() if text is not None},
            "unit": terms.declared.unit_name,
            "rows_per_unit": terms.declared.rows_per_unit,
            "pairs": None if terms.declared.pairs is None else sorted(terms.declared.pairs),
            "domain": read,
        }

    def statement(
        self, table: ir.Table, dialect: str, terms: Terms, *, key: str, types_declared: bool = True
    ) -> ir.Table:
        """Return the one statement that is put to the engine: sums of whole numbers, by cell.

        `key`: orders the rows of a unit that has too many. `types_declared`: as in `Source`.

        Raises:
            Misfit: the table does not have the declared columns, or of other types, and these are declared.
        """
        if not types_declared:
            unit = (*terms.declared.unit, *(terms.declared.pairs or ()))
            table = with_columns(table, (*self.reads(), *unit))
        reader = Reader(table, dialect, types_declared)
        read = {"columns": self.columns(), "numbers": self.numbers()}
        rows = meant_rows(reader, terms.declared, where=self.where, **read, key=key)
        return self.sums(rows, terms)

    def reads(self) -> Sequence[str]:
        """Name the columns that it reads of a row."""
        return tuple(dict.fromkeys([*self.columns(), *(item.column for item in self.where)]))

    @abstractmethod
    def columns(self) -> Sequence[str]:
        """Name the columns that it is about."""

    @abstractmethod
    def noises(self, terms: Terms) -> Sequence[Noise]:
        """Return the noise that is added, in order.

        Raises:
            Misfit: it cannot be answered under these terms.
        """

    def accuracy(self, terms: Terms) -> Sequence[Mapping[str, Json]]:
        """Describe how far off an answer may be, as plain data: of each noise, its distribution and what it means.

        Raises:
            Misfit: it cannot be answered under these terms.
        """
        return [noise.as_json() for noise in self.noises(terms)]

    def numbers(self) -> Sequence[str]:
        """Name those of `columns` whose numbers are used; the others are counted by cell."""
        return ()

    def not_covered(self, terms: Terms) -> Sequence[Mapping[str, Json]]:
        """Return what `accuracy` does not cover, as plain data; it follows from the request and the declaration."""
        numbers = self.numbers()
        cells = [name for name in self.columns() if name not in numbers]
        return not_covered(terms.declared, numbers=numbers, cells=cells, where=self.where)

    @abstractmethod
    def sums(self, rows: Reader, terms: Terms) -> ir.Table:
        """Return the sums that are asked of the rows that count."""

    @abstractmethod
    def answer(self, results: Sequence[Mapping[str, Any]], terms: Terms) -> Mapping[str, Json]:
        """Add the noise: what comes out may be given out, once the price was paid."""
