"""The contract of a statistic: what it costs, what it asks the engine, its noise, and what its accuracy does not cover.

The accuracy that is printed is that of the noise. The distance from the exact number of the table has other parts:
rows of a unit above its limit, rows without a unit, NULL, and values outside what is declared. How many rows that
concerns is a number of the protected table and is never shown.

A statistic is a frozen set of parameters. Whether a request is accepted, and what it costs,
follows from the parameters and the declaration alone; the table is read after that, by one statement that gives sums of
whole numbers; and nothing leaves `answer` but these sums with their noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from pydantic import Field, model_validator

from checks import Json
from remedies._errors import Misfit
from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.answers._declared import Declared
from remedies.differential_privacy.answers._where import WhereComparison
from remedies.differential_privacy.answers.domain import BoundedColumn, CategoryColumn, Cells, Declaration
from remedies.differential_privacy.answers.reading import Reader, with_columns
from remedies.differential_privacy.answers.rows import meant_rows
from remedies.differential_privacy.epsilon import WrittenLoss, laplace_scale, nano
from remedies.differential_privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from remedies.differential_privacy.answers._where import WhereComparison


def not_covered(
    declared: Declared, *, numbers: Sequence[str], cells: Sequence[str], where: Sequence[WhereComparison]
) -> Sequence[Mapping[str, Json]]:
    """Return what the accuracy does not cover, as plain data: `of`, a word for programs, and `text`, a sentence.

    Nothing of it depends on the table.

    Args:
        declared: what is declared of the table.
        numbers: columns whose numbers are added up, averaged or ranked.
        cells: columns whose values are counted by cell.
        where: comparisons that choose the rows.
    """
    results = [
        *_of_unit(declared),
        *(("values", _of_numbers(name, declared.limits(name))) for name in numbers),
        *(("values", _of_cells(name, declared.cells(name))) for name in cells),
        *(("where", text) for text in dict.fromkeys(_of_comparison(comparison, declared) for comparison in where)),
    ]
    return [{"of": of, "text": text} for of, text in results]


def _of_unit(declared: Declared) -> Iterable[tuple[str, str]]:
    if not declared.unit:
        return
    unit, most = declared.unit_name, declared.rows_per_unit
    rows = "1 row" if most == 1 else f"{most:,} rows"
    count = "counts" if most == 1 else "count"
    cut = (
        f"of a {unit} with more than {rows}, {rows} chosen at random {count}; the number of ignored rows is not shown."
    )
    yield "rows-cut", cut
    columns = " and ".join(declared.unit)
    yield (
        "no-unit",
        f"rows in which {columns} {'is' if len(declared.unit) == 1 else 'are'} NULL count together as one {unit}.",
    )


def _of_numbers(name: str, limits: BoundedColumn) -> str:
    missing = limits.number(limits.missing_units)
    exact = str(missing) if missing.denominator == 1 else f"{float(missing):g}"
    return (
        f"in {name}, NULL counts as {exact}, numbers outside {limits.low:f} to {limits.high:f} as the nearest limit, "
        f"and all are rounded to multiples of {limits.grid:f}."
    )


def _of_cells(name: str, cells: Cells) -> str:
    outside = "values that are not declared"
    if not isinstance(cells, CategoryColumn):
        outside = f"numbers outside {cells.range[0]} to {cells.range[1]}"
    counted = "in '(other)'" if cells.other is None else f"as {cells.label(cells.rest)}"
    return f"in {name}, NULL and {outside} are counted {counted}."


def _of_comparison(comparison: WhereComparison, declared: Declared) -> str:
    cells = declared.column(comparison.column)
    if isinstance(cells, CategoryColumn) and comparison.sign in {"=", "!="} and cells.other is not None:
        return f"{comparison.column} is compared with NULL and values that are not declared taken for {cells.other}."
    return f"rows in which {comparison.column} is NULL are not meant by '{comparison}'."


# Arrays are only loaded where noise is drawn: a configuration that declares a statistic does not wait for them.
_FEW: Final = 64
"""Noise for so few cells is drawn one by one."""
_LARGE: Final = 1 << 40
"""And so is noise that 64 bits might not hold."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Discrete Laplace noise (pure accounting) or discrete Gaussian noise (zCDP), in units of the statistic's grid.

    `of`: what it is added to. `nano`: what it costs, in nano-epsilon or nano-rho.
    """

    of: str
    accounting: Accounting
    nano: int
    sensitivity: Sensitivity
    grid: Fraction = Fraction(1)

    @property
    def parameter(self) -> Fraction:
        """Return the exact scale of the Laplace noise, or sigma^2 of the Gaussian noise."""
        if self.accounting is Accounting.PURE:
            return laplace_scale(self.sensitivity.l1, self.nano)
        from remedies.differential_privacy._samplers import gaussian_square

        return gaussian_square(self.sensitivity.l2_squared, self.nano)

    @property
    def deviation(self) -> float:
        """Return the standard deviation, in the statistic's own unit."""
        from remedies.differential_privacy._spread import gaussian_variance, laplace_variance

        variance = laplace_variance if self.accounting is Accounting.PURE else gaussian_variance
        return math.sqrt(variance(self.parameter)) * float(self.grid)

    def within(self, share: float = 0.95) -> Fraction:
        """Return the distance within which it stays with at least this probability, in the statistic's own unit."""
        from remedies.differential_privacy._spread import gaussian_within, laplace_within

        reach = laplace_within if self.accounting is Accounting.PURE else gaussian_within
        return reach(self.parameter, share) * self.grid

    def added(self, exact: Sequence[int]) -> Sequence[int]:
        """Return whole numbers with noise, each with its own."""
        from remedies.differential_privacy._samplers import discrete_gaussian, discrete_laplace, many_discrete_laplace

        if self.accounting is not Accounting.PURE:
            noises = [discrete_gaussian(self.parameter) for _ in exact]
        elif len(exact) <= _FEW or self.parameter > _LARGE:
            noises = [discrete_laplace(self.parameter) for _ in exact]
        else:
            noises = many_discrete_laplace(self.parameter, len(exact)).tolist()
        return [number + noise for number, noise in zip(exact, noises, strict=True)]

    def as_json(self) -> Mapping[str, Json]:
        """Return it as plain data; the exact parameter is a text."""
        pure = self.accounting is Accounting.PURE
        return {
            "of": self.of,
            "distribution": "discrete-laplace" if pure else "discrete-gaussian",
            "scale" if pure else "sigma_squared": str(self.parameter),
            "grid": str(self.grid),
            "standard_deviation": self.deviation,
            "within_95": plain(self.within()),
        }


def plain(number: Fraction | int) -> int | float:
    """Return a fraction as plain data: whole if it is."""
    exact = Fraction(number)
    return exact.numerator if exact.denominator == 1 else float(exact)


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
        unit, loss = ("epsilon", self.epsilon) if accounting is Accounting.PURE else ("rho", self.rho)
        if loss is None:
            raise Misfit(f"the budget is accounted in {unit}; give the cost in {unit}")
        return nano(loss, name=unit)

    def check(self, terms: Terms) -> None:
        """Check that the statistic can be answered under these terms; no table is looked at.

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
        """Return the columns that it reads of a row."""
        return tuple(dict.fromkeys([*self.columns(), *(item.column for item in self.where)]))

    @abstractmethod
    def columns(self) -> Sequence[str]:
        """Return the columns that it is about."""

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
        """Return those of `columns` whose numbers are used; the others are counted by cell."""
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
