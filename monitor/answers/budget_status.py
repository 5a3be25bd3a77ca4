"""Where budgets stand: as plain data, and in words that need no mathematics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from checks import Json
from monitor.config import Config
from remedies.differential_privacy import Accounting, Adjacency, epsilon_of_rho, sentence
from remedies.differential_privacy.answers import ROW
from remedies.differential_privacy.epsilon import text_of
from remedies.differential_privacy.ledger import Standing
from remedies.differential_privacy.sentences import CHANGE, times


class BudgetStatus(Protocol):
    """A ledger that can be asked where budgets stand."""

    def standings(self, data_set: str | None = None) -> Sequence[Standing]:
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
    standings: Sequence[Standing]

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
        standings = ledger.standings() if units else ()
        return [
            cls(
                name,
                [standing for standing in standings if tables.get(standing.budget.data_set) == standing.budget.unit],
            )
            for name, tables in units.items()
        ]

    @property
    def tables(self) -> Sequence[str]:
        """The tables, in the order in which their budgets were created."""
        return [standing.budget.data_set for standing in self.standings]

    def holds(self, standing: Standing) -> bool:
        """Return whether a budget is one of these."""
        names = standing.budget.data_set, standing.budget.unit
        return names in {(standing.budget.data_set, standing.budget.unit) for standing in self.standings}

    @property
    def adjacency(self) -> Adjacency:
        """Which change of one person's records the total bounds."""
        all_alike = {standing.budget.adjacency for standing in self.standings} == {Adjacency.ADD_REMOVE}
        return Adjacency.ADD_REMOVE if all_alike else Adjacency.SUBSTITUTE

    @property
    def delta(self) -> Fraction | None:
        """The smallest delta of those budgets that were charged in rho."""
        return min(
            (standing.budget.delta for standing in self.standings if standing.budget.delta and standing.spent),
            default=None,
        )

    @property
    def epsilon(self) -> int:
        """What was spent of all of them: epsilons add up, and so do rhos before they are read as an epsilon."""
        doubled = self.adjacency is Adjacency.SUBSTITUTE
        pure = rho = 0
        for standing in self.standings:
            twice = doubled and standing.budget.adjacency is Adjacency.ADD_REMOVE
            if standing.budget.accounting is Accounting.PURE:
                pure += standing.spent * (2 if twice else 1)
            else:
                rho += standing.spent * (4 if twice else 1)
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

    def as_json(self) -> Mapping[str, Json]:
        """Return it as plain data; amounts are texts, since they are exact."""
        return {
            "name": self.name,
            "tables": list(self.tables),
            "adjacency": self.adjacency.value,
            "epsilon_spent": text_of(self.epsilon),
            "delta": None if self.delta is None else float(self.delta),
            "sentence": self.sentence,
        }


def budget_status_json(standing: Standing, people: ProtectedPeople | None = None) -> Mapping[str, Json]:
    """Return where a budget stands as plain data; amounts are texts, since they are exact."""
    budget = standing.budget
    return {
        "table": budget.data_set,
        "unit": budget.unit,
        "accounting": budget.accounting.value,
        "adjacency": budget.adjacency.value,
        "delta": None if budget.delta is None else float(budget.delta),
        "total": text_of(budget.total),
        "spent": text_of(standing.spent),
        "left": text_of(standing.left),
        "epsilon_spent": text_of(_epsilon(standing)),
        "sentence": sentence_of(standing),
        "people": None if people is None else people.as_json(),
    }


def sentence_of(standing: Standing) -> str:
    """Return what all answers so far about a table reveal."""
    budget = standing.budget
    whose = "one row" if budget.unit == ROW else f"all rows of one {budget.unit}"
    return sentence(
        standing.largest,
        standing.spent,
        accounting=budget.accounting,
        delta=budget.delta,
        unit=whose,
        adjacency=budget.adjacency,
    )


def loss_word(standing: Standing) -> str:
    """Return the name of what the budget counts in."""
    return "epsilon" if standing.budget.accounting is Accounting.PURE else "rho"


def _epsilon(standing: Standing) -> int:
    """Return what was spent in nano-epsilon; under zCDP, what it amounts to but for delta."""
    delta = standing.budget.delta
    return standing.spent if delta is None else epsilon_of_rho(standing.spent, delta)
