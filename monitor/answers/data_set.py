"""A table that gives noisy answers: what is declared of it, where it lives, and the key that puts rows in order."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from monitor.config import Budget
from monitor.config.project import Project
from monitor.scan.private_question import PrivateQuestion
from monitor.scan.results import targets_of
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name
from remedies.differential_privacy.answers import Declared, Statistic, Terms
from remedies.differential_privacy.ledger import LedgerBudget
from sources import SourceSpec


@dataclass(frozen=True, slots=True)
class DataSet:
    """A table with a budget. `relation`: its name in its source. `key`: orders the rows of a unit with too many."""

    table: str
    relation: str
    source: SourceSpec
    declared: Budget
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, project: Project, table: str) -> "DataSet":
        """Find a table's budget in the configuration.

        Raises:
            Stop: there is none, or another budget is of the same table.
        """
        budgets = project.config.budgets
        if table not in budgets:
            see = "declare its domains and its total under 'budgets'"
            problem = unknown_name("budget of table", table, budgets, see=see, code="budget.not_declared")
            raise Stop(ExitCode.NOTHING_SELECTED, problem)
        if same := project.same_tables(table, budgets, connect=False):
            message = f"'{table}' and '{same[0]}' are the same table, which has one budget; remove one"
            raise Stop(ExitCode.USAGE, Problem("budget.two_budgets", message))
        (target,) = targets_of(project, [table])
        declared = budgets[table]
        key = _row_order(project.signature_key(), table, declared.unit_name) if declared.unit else ""
        return cls(table, target.subject.relation, replace(target.source, blind=True), declared, key)

    def same_tables(self, project: Project) -> Sequence[str]:
        """Return the other names with a budget that are of the same table; databases are asked what is behind views."""
        return project.same_tables(self.table, project.config.budgets)

    def question(self, statistic: Statistic, *, charged: bool = False) -> PrivateQuestion:
        """Return what a statistic asks of it, as it goes to a worker."""
        plain = Declared(
            **{name: getattr(self.declared, name) for name in Declared.model_fields}
        )  # no worker knows more
        return PrivateQuestion(self.relation, statistic, Terms(plain, self.declared.accounting), self.key, charged)

    @property
    def terms(self) -> Terms:
        """Return the terms under which it is asked."""
        return self.declared.terms

    @property
    def budget(self) -> LedgerBudget:
        """Return its budget as the ledger keeps it."""
        return self.declared.in_ledger(self.table)


def _row_order(key: bytes, table: str, unit: str) -> str:
    """Return the key of a budget: the same question, asked again, counts the same rows, and no other table's do."""
    return blake2b(f"{table}\0{unit}".encode(), key=key, digest_size=16, person=b"rows of a unit").hexdigest()
