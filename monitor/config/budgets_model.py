"""What the answers about a table may cost, and which of them are given again and again."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Self

from annotated_types import Gt, Lt
from pydantic import Field, model_validator

from monitor.config.scalars import Schedule, Section, ShortName
from remedies import Misfit
from remedies.differential_privacy import Accounting, nano
from remedies.differential_privacy.answers import AnyStatistic, Declared, Terms
from remedies.differential_privacy.epsilon import WrittenLoss
from remedies.differential_privacy.ledger import LedgerBudget


class ScheduledQuery(Section):
    """A query that the daemon runs on schedule; each answer is charged to the budget."""

    schedule: Schedule = Field(description="'every 7d' or 'cron: 0 6 * * mon'.")
    ask: AnyStatistic

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, raw: Any) -> Any:
        """Accept the keys of the statistic beside `schedule`, as in a file."""
        if not isinstance(raw, dict) or "ask" in raw:
            return raw
        schedule = {"schedule": raw["schedule"]} if "schedule" in raw else {}
        return {**schedule, "ask": {name: value for name, value in raw.items() if name != "schedule"}}


class Budget(Declared):
    """Privacy budget of a table and the domains of its columns."""

    total: WrittenLoss = Field(description="Total budget in epsilon (or rho) for all answers.")
    accounting: Accounting = Field(Accounting.PURE, description="Accounting in epsilon or in rho.")
    delta: Annotated[Decimal, Gt(0), Lt(1)] | None = Field(
        None, description="With zcdp: delta, the probability that the shown epsilon does not hold."
    )
    people: ShortName | None = Field(
        None,
        description="Name of the population of the table: tables with the same name contain the same people, and "
        "their joint privacy loss is shown. A name of your choice, never a value of the table.",
    )
    analysts: tuple[str, ...] = Field(
        (),
        description="Operating system users restricted to noisy answers: commands that read the table itself refuse "
        "them. A guard against mistakes, not access control.",
    )
    statistics: dict[ShortName, ScheduledQuery] = Field(
        {}, description="Queries that the daemon runs on schedule, by name."
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
        for name, query in self.statistics.items():
            try:
                query.ask.check(self.terms)
            except Misfit as error:
                raise ValueError(f"statistic '{name}': {error}") from None
        return self
