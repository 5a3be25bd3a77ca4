"""What the answers about a table may cost, and which of them are given again and again."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Self, TypeAlias

from annotated_types import Gt, Lt
from pydantic import Field, model_validator

from monitor.config.scalars import Schedule, Section
from remedies import Misfit
from remedies.differential_privacy import Accounting, nano
from remedies.differential_privacy.answers import AnyStatistic, Declared, Terms
from remedies.differential_privacy.epsilon import WrittenLoss
from remedies.differential_privacy.ledger import LedgerBudget

StatisticName: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)]
PeopleName: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)]


class StandingStatistic(Section):
    """A statistic that the daemon answers on schedule; each answer is charged to the budget."""

    schedule: Schedule = Field(description="'every 7d' or 'cron: 0 6 * * mon'.")
    ask: AnyStatistic

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, given: Any) -> Any:
        """Take the statistic's own keys beside `schedule`, as people write them."""
        if not isinstance(given, dict) or "ask" in given:
            return given
        schedule = {"schedule": given["schedule"]} if "schedule" in given else {}
        return {**schedule, "ask": {name: value for name, value in given.items() if name != "schedule"}}


class Budget(Declared):
    """What all noisy answers about a table may cost whom they protect, and what can be asked."""

    total: WrittenLoss = Field(description="All answers together may cost so much epsilon (or rho).")
    accounting: Accounting = Field(Accounting.PURE, description="Whether it counts in epsilon, or in rho.")
    delta: Annotated[Decimal, Gt(0), Lt(1)] | None = Field(
        None, description="With zcdp: the probability with which the epsilon that is shown may not hold."
    )
    people: PeopleName | None = Field(
        None,
        description="The name of the people in the table: tables with the same name hold the same ones, and what all "
        "answers about these tables reveal together is shown. A name of your choice, never a value of the table.",
    )
    analysts: tuple[str, ...] = Field(
        (),
        description="Users, as this machine knows them, who may only ask for noisy answers: commands that compare or "
        "explain with the table itself refuse them. A guard against mistakes, no access control.",
    )
    statistics: dict[StatisticName, StandingStatistic] = Field(
        {}, description="Answers that the daemon gives on schedule, by name."
    )

    @property
    def terms(self) -> Terms:
        """Return the terms under which it is asked."""
        return Terms(self, self.accounting)

    def in_ledger(self, table: str) -> LedgerBudget:
        """Return the budget as the ledger keeps it."""
        total = nano(self.total, name="total")
        delta = None if self.delta is None else Fraction(self.delta)
        return LedgerBudget(table, self.unit_name, self.accounting, self.adjacency, total, delta)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.accounting is Accounting.ZCDP) != (self.delta is not None):
            raise ValueError("'delta' goes with 'accounting: zcdp', and is needed there, such as 1e-6")
        self.in_ledger("table")
        for name, standing in self.statistics.items():
            try:
                standing.ask.check(self.terms)
            except Misfit as error:
                raise ValueError(f"statistic '{name}': {error}") from None
        return self
