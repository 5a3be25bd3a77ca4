"""Where budgets stand: as a published model, and in words that need no mathematics."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, Self

from monitor.config import Config
from monitor.summaries.shapes import Shape
from remedies.differential_privacy import Accounting, Adjacency, epsilon_of_rho, sentence
from remedies.differential_privacy.accounting import CHANGE, times
from remedies.differential_privacy.answers import ROW
from remedies.differential_privacy.epsilon import text_of
from remedies.differential_privacy.ledger import BudgetBalance


class BudgetStatus(Protocol):
    """A ledger that can be asked where budgets stand."""

    def balances(self, data_set: str | None = None) -> Sequence[BudgetBalance]:
        """Return all budgets, or those of a data set."""


@dataclass(frozen=True, slots=True)
class ProtectedPeople:
    """The budgets of tables that hold the same people, as the configuration declares, and their total.

    `epsilon`: nano-epsilon of all answers about these tables. `delta`: the probability with which it may not hold,
    None where it holds with certainty. `adjacency`: `add-remove` where all of the budgets are; otherwise one person's
    records are different ones, which costs a budget that is `add-remove` twice as much (four times in rho): the old
    records leave and the new ones are added.
    """

    name: str
    balances: Sequence[BudgetBalance]

    @classmethod
    def of(cls, config: Config, ledger: BudgetStatus, table: str) -> "ProtectedPeople | None":
        """Return the group that a table is in; None where the configuration names none."""
        return next((group for group in cls.configured(config, ledger) if table in group.tables), None)

    @classmethod
    def configured(cls, config: Config, ledger: BudgetStatus) -> "Sequence[ProtectedPeople]":
        """Return all groups, each with the budgets of its tables that were created."""
        units: dict[str, dict[str, str]] = {}
        for table, budget in config.budgets.items():
            if budget.people is not None:
                units.setdefault(budget.people, {})[table] = budget.unit_name
        balances = ledger.balances() if units else ()
        return [
            cls(
                name,
                [balance for balance in balances if tables.get(balance.budget.data_set) == balance.budget.unit],
            )
            for name, tables in units.items()
        ]

    @property
    def tables(self) -> Sequence[str]:
        """The tables, in the order in which their budgets were created."""
        return [balance.budget.data_set for balance in self.balances]

    def holds(self, balance: BudgetBalance) -> bool:
        """Return whether a budget is one of these."""
        names = balance.budget.data_set, balance.budget.unit
        return names in {(balance.budget.data_set, balance.budget.unit) for balance in self.balances}

    @property
    def adjacency(self) -> Adjacency:
        """Which change of one person's records the total bounds."""
        all_alike = {balance.budget.adjacency for balance in self.balances} == {Adjacency.ADD_REMOVE}
        return Adjacency.ADD_REMOVE if all_alike else Adjacency.SUBSTITUTE

    @property
    def delta(self) -> Fraction | None:
        """The smallest delta of those budgets that were charged in rho."""
        return min(
            (balance.budget.delta for balance in self.balances if balance.budget.delta and balance.spent),
            default=None,
        )

    @property
    def epsilon(self) -> int:
        """What was spent of all of them: epsilons add up, and so do rhos before they are read as an epsilon."""
        doubled = self.adjacency is Adjacency.SUBSTITUTE
        pure = rho = 0
        for balance in self.balances:
            twice = doubled and balance.budget.adjacency is Adjacency.ADD_REMOVE
            if balance.budget.accounting is Accounting.PURE:
                pure += balance.spent * (2 if twice else 1)
            else:
                rho += balance.spent * (4 if twice else 1)
        return pure + (0 if self.delta is None else epsilon_of_rho(rho, self.delta))

    @property
    def sentence(self) -> str:
        """What all answers about these tables reveal of one person."""
        which = ", ".join(self.tables)
        if self.epsilon == 0:
            return f"no query has been answered yet about the tables of the same people ({self.name}: {which})"
        but = "" if self.delta is None else f" (except with probability {float(self.delta):g})"
        return (
            f"if all records of one of the people of '{self.name}' {CHANGE[self.adjacency]}, all answers so far about "
            f"the tables that hold them ({which}) together would become at most {times(self.epsilon)} times as likely "
            f"(rounded up){but}"
        )


class PeopleStatus(Shape):
    """What all answers about the tables of the same people reveal; amounts are texts, since they are exact."""

    name: str
    tables: tuple[str, ...]
    adjacency: Adjacency
    epsilon_spent: str
    delta: float | None
    sentence: str

    @classmethod
    def of(cls, people: ProtectedPeople) -> Self:
        """Return people as a model."""
        return cls(
            name=people.name,
            tables=tuple(people.tables),
            adjacency=people.adjacency,
            epsilon_spent=text_of(people.epsilon),
            delta=None if people.delta is None else float(people.delta),
            sentence=people.sentence,
        )


class BudgetState(Shape):
    """Where a budget stands; amounts are texts, since they are exact."""

    table: str
    unit: str
    accounting: Accounting
    adjacency: Adjacency
    delta: float | None
    total: str
    spent: str
    left: str
    epsilon_spent: str
    sentence: str
    people: PeopleStatus | None

    @classmethod
    def of(cls, balance: BudgetBalance, people: ProtectedPeople | None = None, **more: Any) -> Self:
        """Return a balance as a model; `more`: the fields that a wider model adds."""
        budget = balance.budget
        return cls(
            table=budget.data_set,
            unit=budget.unit,
            accounting=budget.accounting,
            adjacency=budget.adjacency,
            delta=None if budget.delta is None else float(budget.delta),
            total=text_of(budget.total),
            spent=text_of(balance.spent),
            left=text_of(balance.left),
            epsilon_spent=text_of(_epsilon(balance)),
            sentence=sentence_of(balance),
            people=None if people is None else PeopleStatus.of(people),
            **more,
        )


def sentence_of(balance: BudgetBalance) -> str:
    """Return what all answers so far about a table reveal."""
    budget = balance.budget
    whose = "one row" if budget.unit == ROW else f"all rows of one {budget.unit}"
    return sentence(
        balance.largest,
        balance.spent,
        accounting=budget.accounting,
        delta=budget.delta,
        unit=whose,
        adjacency=budget.adjacency,
    )


def loss_word(balance: BudgetBalance) -> str:
    """Return the name of what the budget counts in."""
    return "epsilon" if balance.budget.accounting is Accounting.PURE else "rho"


def _epsilon(balance: BudgetBalance) -> int:
    """Return what was spent in nano-epsilon; under zCDP, what it amounts to but for delta."""
    delta = balance.budget.delta
    return balance.spent if delta is None else epsilon_of_rho(balance.spent, delta)
