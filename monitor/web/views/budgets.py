"""Privacy budgets: what was spent of each, what is left, and what all answers so far reveal. For stewards only."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from monitor.answers.budget_status import ProtectedPeople, budget_status_json
from monitor.config.project import Project
from monitor.web.views.shapes import Shape
from remedies.differential_privacy.ledger import Standing
from store import ReadTransaction


class BudgetLine(Shape):
    """A budget; amounts are texts, since they are exact. `spent_share`: 0 to 1, for drawing."""

    table: str
    unit: str
    accounting: str
    adjacency: str
    delta: float | None
    total: str
    spent: str
    left: str
    epsilon_spent: str
    sentence: str
    people: dict[str, Any] | None
    spent_share: float


class BudgetListPage(Shape):
    """`tablewatch.budgets-page/1`: the budgets in the order in which they were created.

    `entries`: how many entries the ledger has, `head` the hash of the last ('tablewatch budget verify').
    """

    schema_: Literal["tablewatch.budgets-page/1"] = Field("tablewatch.budgets-page/1", alias="schema")
    as_of: datetime
    entries: int
    head: str
    budgets: tuple[BudgetLine, ...]


class _Standings:
    """The standings of all budgets in one state of the store."""

    def __init__(self, tx: ReadTransaction) -> None:
        self._all = [tx.ledger.standing(stored) for stored in tx.ledger.budgets()]

    def standings(self, data_set: str | None = None) -> Sequence[Standing]:
        """Return all budgets, or those of a data set."""
        return [item for item in self._all if data_set in {None, item.budget.data_set}]


def list_budgets(project: Project, tx: ReadTransaction, _query: BaseModel, now: datetime) -> BudgetListPage:
    """Return where all budgets stand."""
    ledger, head = _Standings(tx), tx.ledger.head()
    groups = ProtectedPeople.configured(project.config, ledger)
    return BudgetListPage(
        as_of=now,
        entries=head.number,
        head=head.hash.hex(),
        budgets=tuple(_line(standing, groups) for standing in ledger.standings()),
    )


def _line(standing: Standing, groups: Sequence[ProtectedPeople]) -> BudgetLine:
    people = next((group for group in groups if group.holds(standing)), None)
    share = standing.spent / standing.budget.total
    return BudgetLine.model_validate({**budget_status_json(standing, people), "spent_share": share})
