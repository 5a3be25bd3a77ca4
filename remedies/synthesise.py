"""Rows are drawn from noisy counts of columns and of a tree of pairs of columns; no row of the table comes out."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Ge, Gt, Lt, MinLen
from pydantic import Field, model_validator

from checks import Json
from checks.parameters.columns import ColumnName
from remedies._contract import Guarantee, Progress, Remedy, RemedyParameters, RowOrder, Treatment, UtilityReport
from remedies.differential_privacy.accounting import Accounting, epsilon_of_rho, rho_of_pure
from remedies.differential_privacy.answers.domain import SteppedColumn
from remedies.differential_privacy.epsilon import WrittenLoss, decimal_of
from remedies.differential_privacy.sensitivity import Adjacency
from remedies.randomise import Value, check_domains, question_of

if TYPE_CHECKING:
    import pandas as pd

    from remedies.differential_privacy import SynthesisMechanism
    from remedies.differential_privacy.membership import MembershipAttack
    from remedies.differential_privacy.synthesis import Calibration


class Synthesise(RemedyParameters):
    """A synthetic table of the declared columns, with one epsilon."""

    summary: ClassVar[str] = "A synthetic table, drawn from noisy counts of columns and of a tree of pairs of columns."
    treats: ClassVar[frozenset[str]] = frozenset({"k_anonymity", "population_uniqueness", "reidentification_by_subset"})

    type: Literal["synthesise"] = "synthesise"
    domains: Annotated[Mapping[ColumnName, Annotated[tuple[Value, ...], MinLen(1)] | SteppedColumn], MinLen(1)] = Field(
        description="Domain by column: all possible values, or a range of numbers."
    )
    others: Mapping[ColumnName, Value] = Field(
        default_factory=dict, description="By column: value used for NULL and values outside the domain, else NULL."
    )
    epsilon: WrittenLoss | None = Field(None, description="Epsilon of the table; with 'delta' under zCDP.")
    rho: WrittenLoss | None = Field(None, description="Alternative: rho of the table, under zCDP.")
    delta: Annotated[Decimal, Gt(0), Lt(1)] | None = Field(
        None, description="Under zCDP: probability that epsilon does not hold."
    )
    adjacency: Adjacency = Field(
        Adjacency.SUBSTITUTE, description="Neighbouring tables: one unit's rows differ, or are missing."
    )
    rows_per_unit: Annotated[int, Ge(1)] = Field(1, description="Maximum rows per unit.")
    unit: ColumnName | None = Field(
        None, description="Column that identifies the unit of a row; rows above the maximum are not counted, at random."
    )
    rows: Annotated[int, Ge(1)] | None = Field(
        None, description="Number of rows of the output; by default that of the table, noisy where it is not public."
    )

    @model_validator(mode="after")
    def _declarations_fit(self) -> Self:
        self._calibrated()  # raises where the loss or a domain makes no sense
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the output."""
        return tuple(self.domains)

    @property
    def labels(self) -> Mapping[str, tuple[object, ...]]:
        """Return by column all values that can come out, beside NULL."""
        return {
            name: tuple(map(values.label, range(values.size))) if isinstance(values, SteppedColumn) else values
            for name, values in self.domains.items()
        }

    @property
    def price(self) -> tuple[Accounting, int]:
        """Return how the loss is accounted, and its nano units."""
        from remedies.differential_privacy.synthesis import price_of

        return price_of(epsilon=self.epsilon, rho=self.rho, delta=None if self.delta is None else str(self.delta))

    @property
    def loss(self) -> Decimal:
        """Return epsilon of a unit; under zCDP it holds but for delta."""
        from remedies.differential_privacy.accounting import delta_of

        _, price = self.price
        return decimal_of(price if self.delta is None else epsilon_of_rho(price, delta_of(str(self.delta))))

    def parts(self) -> Mapping[str, int]:
        """Return the parts of the charge, in its own nano units: counts of all columns, the tree, counts of pairs."""
        parts = self._calibrated()
        return {
            "columns": parts.columns * parts.of_column,
            "tree": parts.edges * parts.of_choice,
            "pairs": parts.edges * parts.of_pair,
        }

    def _calibrated(self) -> Calibration:
        from remedies.differential_privacy.domain import CategoryDomain
        from remedies.differential_privacy.synthesis import calibrated, is_size_public

        is_public = is_size_public(self.adjacency, rows_per_unit=self.rows_per_unit, unit=self.unit)
        read = [CategoryDomain.read(name, values, self.others) for name, values in self.domains.items()]
        return calibrated(
            self.price,
            read,
            adjacency=self.adjacency,
            rows_per_unit=self.rows_per_unit,
            counts_rows=self.rows is None and not is_public,
        )[0]

    def cost(self, accounting: Accounting) -> int | None:
        """Return the charge in the nano units of a budget; None where a pure budget is asked for zCDP."""
        own, price = self.price
        if own is accounting:
            return price
        return rho_of_pure(price) if own is Accounting.PURE else None

    def apply(self, frame: pd.DataFrame, *, progress: Progress | None = None) -> Treatment:
        """Return a synthetic table, and the bill. Its rows and its index have nothing to do with those of the frame.

        Two runs differ: what is drawn are bytes of the operating system, and no seed could repeat it.

        Raises:
            Misfit: a column is not there, or a declaration makes no sense.
        """
        from remedies.differential_privacy import synthesise

        began = perf_counter()
        result = synthesise(frame, rows=self.rows, **self._words())
        bill = self._bill(result.mechanism, result.frame, perf_counter() - began)
        if progress is not None:
            progress(1.0)
        return Treatment(result.frame, bill)

    def _words(self) -> dict[str, Any]:
        """Return the arguments of `synthesise` beside the table and the number of rows."""
        return {
            "domains": self.domains,
            "epsilon": self.epsilon,
            "rho": self.rho,
            "delta": None if self.delta is None else str(self.delta),
            "adjacency": self.adjacency,
            "rows_per_unit": self.rows_per_unit,
            "unit": self.unit,
            "others": self.others,
        }

    def attack(self, frame: pd.DataFrame) -> MembershipAttack | None:
        """Return how well an attack tells rows from others by a synthesis of a third of the table; None of few."""
        from remedies.differential_privacy.domain import CategoryDomain
        from remedies.differential_privacy.membership import attack_membership

        read = [CategoryDomain.read(name, values, self.others) for name, values in self.domains.items()]
        delta = 0.0 if self.delta is None else float(self.delta)
        return attack_membership(frame, read, loss=float(self.loss), chance=delta, **self._words())

    def guarantee(self, reached: Mapping[str, Json], after: pd.DataFrame) -> Guarantee:
        """Return the mechanism that made an output (its record), on which epsilon rests.

        Raises:
            Refused: the output has other columns or rows, or values outside a domain.
        """
        check_domains(self.labels, after, rows=reached["rows"], missing=set(self.domains) - set(self.others))
        request = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}
        limits: dict[str, Json] = {name: f"{item:f}" for name, item in request.items() if item is not None}
        return Guarantee("differential_privacy", self.columns, limits, reached, question_of(self.labels, missing=True))

    def _bill(self, mechanism: SynthesisMechanism, after: pd.DataFrame, seconds: float) -> UtilityReport:
        """Return the bill; nothing in it depends on the table but the tree and the number of rows, which are noisy."""
        lost = {
            name: 100 * max(table.error for table in mechanism.tables if name in table.columns) for name in self.columns
        }
        return UtilityReport(
            remedy=self.name,
            rows=len(after),
            rows_changed=0,
            rows_suppressed=0,
            cells_changed={},
            information_lost=lost,
            guarantee=self.guarantee(mechanism.as_json(), after),
            figures={"epsilon": f"{mechanism.epsilon:f}", "seconds": seconds},
            row_order=RowOrder.RANDOM,
        )


REMEDY: Final[type[Remedy]] = Synthesise
