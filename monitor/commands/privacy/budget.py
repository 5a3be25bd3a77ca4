"""`tablewatch privacy budget`: manage privacy budgets of tables."""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._options import By, actor, who
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.config.project import Project
    from monitor.scan.results import Target
    from remedies.differential_privacy.ledger import BudgetBalance
    from store import Store, StoredLedger

TableName = Annotated[str, typer.Argument(metavar="TABLE", help="A table under 'budgets' of the configuration.")]
Reason = Annotated[str, typer.Option(help="Reason; it is recorded.")]

app = typer.Typer(
    help="Manage the privacy budgets of tables.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)


@app.callback()
def _group() -> None:
    """Manage the privacy budgets of tables. Spent budget is never returned."""


@app.command()
def create(ctx: typer.Context, table: TableName, by: By = None) -> None:
    """Create the budget declared for a table; reads only the names and types of its columns.

    Example: tablewatch privacy budget create customers
    """
    from monitor.answers.ask import check_alone, check_columns
    from monitor.answers.data_set import DataSet
    from monitor.doctor.config_checks import ambiguous_values
    from sources import SourceError

    invocation: Invocation = ctx.obj
    with open_ledger(invocation, by) as at:
        data_set = DataSet.of(at.project, table)
        unclear = list(ambiguous_values(at.project.loaded, ("budgets", table, "domain")))
        if unclear:  # before it is fixed: what is spent by a wrong domain stays spent
            raise Stop(ExitCode.USAGE, *unclear)
        try:
            check_alone(data_set, at.project)
            check_columns(data_set)
        except SourceError as error:
            raise Stop(ExitCode.NOT_EVALUATED, Problem("budget.not_read", str(error))) from None
        marks = at.project.table_identity(table)
        balance = at.ledger.create(data_set.budget, actor=at.actor, now=at.project.clock.now(), marks=marks)
        _present(invocation, at, [balance])


@app.command()
def show(
    ctx: typer.Context,
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", help="Table; by default all.")] = None,
) -> None:
    """Show budgets: total, spent, and the privacy guarantee of all answers so far.

    Example: tablewatch privacy budget show customers
    """
    from monitor.answers.data_set import DataSet

    invocation: Invocation = ctx.obj
    with open_ledger(invocation, existing=True) as at:
        balances = at.ledger.balances(table)
        if table is not None and not balances:
            DataSet.of(at.project, table)  # stops where none is declared
            hint = f"tablewatch privacy budget create {table}"
            raise Stop(ExitCode.USAGE, Problem("budget.not_created", f"'{table}' has no privacy budget", hint=hint))
        for note in _differences(at, balances):
            invocation.note(note)
        at.note_mismatch(invocation)
        _present(invocation, at, balances)


@app.command()
def change(
    ctx: typer.Context,
    table: TableName,
    total: Annotated[str, typer.Option(metavar="EPSILON", help="The new total, epsilon or rho.")],
    reason: Reason,
    by: By = None,
) -> None:
    """Change the total of a budget, with a recorded reason; spent budget is never returned.

    Example: tablewatch privacy budget change customers --total 12 --reason 'agreed with the ethics board, 2026-11-02'
    """
    from monitor.answers.data_set import DataSet
    from remedies.differential_privacy import nano

    invocation: Invocation = ctx.obj
    with open_ledger(invocation, by) as at:
        budget = DataSet.of(at.project, table).budget
        amount = nano(total, name="the total")
        now = at.project.clock.now()
        balance = at.ledger.change_total(table, budget.unit, amount, reason=reason, actor=at.actor, now=now)
        _present(invocation, at, [balance])


@app.command()
def verify(ctx: typer.Context) -> None:
    """Verify the ledger: the hash of every entry, every sum, the anchor outside the database, and each release.

    Exits with 1 if something is inconsistent.

    Example: tablewatch privacy budget verify
    """
    from monitor.reporting.terminal_views.answers import draw_audit

    invocation: Invocation = ctx.obj
    with open_ledger(invocation, existing=True) as at:
        audit = at.project.release_ledger(at.store).verify()
    code = ExitCode.FAILED if audit.flaws else ExitCode.OK
    result = {
        "schema": "tablewatch.ledger-audit/1",
        "ok": code is ExitCode.OK,
        "exit_code": int(code),
        "entries": audit.entries,
        "anchored": audit.anchored,
        "flaws": [{"entry": flaw.entry, "problem": flaw.problem} for flaw in audit.flaws],
    }
    invocation.emit(result, lambda console: draw_audit(console, audit))
    raise Stop(code)


@app.command()
def resume(ctx: typer.Context, reason: Reason, by: By = None) -> None:
    """Resume a ledger that does not match its anchor: spending recorded by the anchor is charged again.

    Modified release decisions and exports are accepted as they are, and every release is put on hold.

    Example: tablewatch privacy budget resume --reason 'restored the backup of Sunday after the disk failed'
    """
    invocation: Invocation = ctx.obj
    with open_ledger(invocation, by) as at:
        _resume(at, reason)
        balances = at.ledger.balances()
        _present(invocation, at, balances)


def _resume(at: "OpenLedger", reason: str) -> None:
    from store import StoreConflict

    now, conflict = at.project.clock.now(), None
    try:
        at.ledger.resume(reason=reason, actor=at.actor, now=now)
    except StoreConflict as error:
        conflict = error
    is_adopted = at.project.release_ledger(at.store).adopt(reason=reason, actor=at.actor, now=now)
    if conflict is not None and not is_adopted:
        raise conflict


def _present(invocation: Invocation, at: "OpenLedger", balances: "Sequence[BudgetBalance]") -> None:
    from monitor.answers.budget_status import BudgetState, ProtectedPeople
    from monitor.reporting.terminal_views.answers import draw_budgets

    tables = {balance.budget.data_set for balance in balances}
    groups = [
        balance for balance in ProtectedPeople.configured(at.project.config, at.ledger) if tables & set(balance.tables)
    ]

    def as_json() -> dict[str, Any]:
        people = [next((group for group in groups if group.holds(balance)), None) for balance in balances]
        budgets = [BudgetState.of(*item).plain() for item in zip(balances, people, strict=True)]
        return {"schema": "tablewatch.budgets/1", "ok": True, "budgets": budgets}

    invocation.emit(as_json, lambda console: draw_budgets(console, balances, groups))


def _differences(at: "OpenLedger", balances: "Sequence[BudgetBalance]") -> "Sequence[str]":
    """Return notes on budgets that are declared differently from the ledger, whose budget is in effect."""
    declared = at.project.config.budgets
    notes = []
    for balance in balances:
        kept, table = balance.budget, balance.budget.data_set
        ledger_budget = declared[table].in_ledger(table) if table in declared else None
        if ledger_budget is not None and ledger_budget.unit == kept.unit and ledger_budget != kept:
            notes.append(
                f"the configuration declares another budget of {table} than this one, which is in effect; correct "
                "the configuration: the total can be changed with 'tablewatch privacy budget change', nothing else can"
            )
    return notes


@dataclass(frozen=True, slots=True)
class OpenLedger:
    """The project, its ledger of budgets, and the actor."""

    project: "Project"
    store: "Store"
    ledger: "StoredLedger"
    actor: str

    def note_mismatch(self, invocation: Invocation) -> None:
        """Note that more may have been spent than is shown, where the ledger does not match its anchor."""
        problem = self.ledger.problem()
        if problem is not None:
            invocation.note(
                f"{problem}; the amount spent may be higher than shown; see 'tablewatch privacy budget verify'"
            )


@contextmanager
def open_ledger(invocation: Invocation, by: str | None = None, *, existing: bool = False) -> "Iterator[OpenLedger]":
    """Open the ledger of a project, in a store that is made if it need not be `existing`.

    Raises:
        Stop: there is no such budget, it exists already, or something is not a name, an amount or a reason.
    """
    from monitor.config.project import Project
    from remedies import Misfit
    from store import NotRecorded, StoreConflict

    project = Project.of(invocation)
    recorded = actor(by)
    with project.open_store(existing=existing) as store:
        try:
            yield OpenLedger(project, store, project.ledger(store), recorded)
        except NotRecorded as error:
            hint = "tablewatch privacy budget create TABLE"
            raise Stop(ExitCode.USAGE, Problem("budget.not_created", str(error), hint=hint)) from None
        except StoreConflict as error:
            raise Stop(ExitCode.USAGE, Problem("budget.conflict", str(error))) from None
        except Misfit as error:
            raise Stop(ExitCode.USAGE, Problem("budget.misfit", str(error))) from None


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
        hint = f"query it with noise: tablewatch privacy answer count {table} --epsilon 0.1 --dry-run"
        raise Stop(ExitCode.USAGE, Problem("budget.analyst", message, hint=hint))
