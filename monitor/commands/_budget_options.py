"""What the commands about privacy budgets share: how they find one, what they say of it, and what they refuse."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import actor, who
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from monitor.config.project import Project
    from monitor.scan.results import Target
    from store import Store, StoredLedger

TableName = Annotated[str, typer.Argument(metavar="TABLE", help="A table under 'budgets' of the configuration.")]


@dataclass(frozen=True, slots=True)
class Counter:
    """Where budgets are asked about: the project, its ledger, and in whose name."""

    project: "Project"
    store: "Store"
    ledger: "StoredLedger"
    actor: str

    def note_what_is_lost(self, invocation: Invocation) -> None:
        """Report beside what was spent that it may be more, where the ledger does not fit its anchor."""
        problem = self.ledger.problem()
        if problem is not None:
            invocation.note(f"{problem}; the amount spent may be higher than shown; see 'tablewatch budget verify'")


def refuse_analysts(project: "Project", target: "Target") -> None:
    """Refuse a command that shows exact figures of a protected table to those who may only ask for noisy answers.

    The table is known by what it is, under whichever name or path. The user is who this machine says: a guard against
    mistakes, and no access control.

    Raises:
        Stop: the user is one of the table's analysts.
    """
    from sources import is_same_table, table_identity

    refusing = [name for name, budget in project.config.budgets.items() if who(None) in budget.analysts]
    if not refusing:
        return
    marks = table_identity(target.source, target.subject.relation, connect=False)
    for table in refusing:
        if not is_same_table(marks, project.table_identity(table, connect=False)):
            continue
        message = (
            f"this would compute figures from the protected table '{table}', which analysts may only query with "
            "noisy answers; nothing was read"
        )
        hint = f"query it with 'tablewatch answer', such as: tablewatch answer count {table} --epsilon 0.1 --dry-run"
        raise Stop(ExitCode.USAGE, Problem("budget.analyst", message, hint=hint))


@contextmanager
def counter(invocation: Invocation, by: str | None = None) -> Iterator[Counter]:
    """Open the ledger of a project, and say in words what it refuses.

    Raises:
        Stop: there is no such budget, it exists already, or something is not a name, an amount or a reason.
    """
    from monitor.config.project import Project
    from remedies import Misfit
    from store import NotRecorded, StoreConflict

    project = Project.of(invocation)
    recorded = actor(by)
    with project.open_store() as store:
        try:
            yield Counter(project, store, project.ledger(store), recorded)
        except NotRecorded as error:
            hint = "tablewatch budget create TABLE"
            raise Stop(ExitCode.USAGE, Problem("budget.not_created", str(error), hint=hint)) from None
        except StoreConflict as error:
            raise Stop(ExitCode.USAGE, Problem("budget.conflict", str(error))) from None
        except Misfit as error:
            raise Stop(ExitCode.USAGE, Problem("budget.misfit", str(error))) from None
