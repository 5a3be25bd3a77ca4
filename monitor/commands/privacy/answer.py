"""`tablewatch privacy answer`: get noisy answers about a protected table."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._options import limits_in_words, names_in
from monitor.commands.privacy.budget import TableName, open_ledger
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from monitor.answers.data_set import DataSet
    from monitor.commands.privacy.budget import OpenLedger
    from remedies.differential_privacy.answers import Statistic

Epsilon = Annotated[
    str | None, typer.Option(metavar="0.1", help="Privacy cost of the answer: a decimal of at most nine places.")
]
Rho = Annotated[str | None, typer.Option(metavar="0.005", help="Privacy cost in rho, for zCDP budgets.")]
Where = Annotated[
    list[str] | None, typer.Option(metavar="'A >= 18'", help="Filter rows by comparing a declared column. Repeatable.")
]
Cells = Annotated[str | None, typer.Option("--by", metavar="A,B,...", help="Group by these columns.")]
Column = Annotated[str, typer.Argument(metavar="COLUMN", help="Column with declared limits.")]
RequestId = Annotated[
    str | None,
    typer.Option(
        metavar="ID", help="Request id; a repeated request with the same id returns the stored answer at no cost."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the cost and the expected noise without running the query.")
]

app = typer.Typer(
    help="Query a protected table: answers are noisy and charged to its budget.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)


@app.callback()
def _group() -> None:
    """Query a protected table: answers are noisy and charged to its budget before the query runs."""


@app.command()
def count(
    ctx: typer.Context,
    table: TableName,
    by: Cells = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    where: Where = None,
    request_id: RequestId = None,
    dry_run: DryRun = False,
) -> None:
    """Count rows, or rows of each cell with --by.

    Example: tablewatch privacy answer count customers --by sex --epsilon 0.1
    """
    request: dict[str, Any] = {"statistic": "histogram", "by": names_in(by)} if by else {"statistic": "count"}
    _answer(ctx.obj, table, {**request, **_request_options(epsilon, rho, where)}, request_id, dry_run=dry_run)


@app.command()
def histogram(
    ctx: typer.Context,
    table: TableName,
    by: Annotated[str, typer.Option("--by", metavar="A,B,...", help="Columns to count by.")],
    epsilon: Epsilon = None,
    rho: Rho = None,
    where: Where = None,
    request_id: RequestId = None,
    dry_run: DryRun = False,
) -> None:
    """Count the rows of each cell of one or more columns, including empty cells.

    Example: tablewatch privacy answer histogram customers --by sex,birth_year --epsilon 0.5
    """
    request = {"statistic": "histogram", "by": names_in(by), **_request_options(epsilon, rho, where)}
    _answer(ctx.obj, table, request, request_id, dry_run=dry_run)


@app.command("sum")
def sum_(
    ctx: typer.Context,
    table: TableName,
    column: Column,
    by: Cells = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    where: Where = None,
    request_id: RequestId = None,
    dry_run: DryRun = False,
) -> None:
    """Compute the sum of a column, or of each cell with --by. Values outside the declared limits are clamped.

    Example: tablewatch privacy answer sum orders amount --by sex --epsilon 0.5
    """
    request = {"statistic": "sum", "column": column, "by": names_in(by), **_request_options(epsilon, rho, where)}
    _answer(ctx.obj, table, request, request_id, dry_run=dry_run)


@app.command()
def mean(
    ctx: typer.Context,
    table: TableName,
    column: Column,
    by: Cells = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    where: Where = None,
    request_id: RequestId = None,
    dry_run: DryRun = False,
) -> None:
    """Compute the mean of a column, or of each cell with --by.

    Example: tablewatch privacy answer mean orders amount --epsilon 0.5
    """
    request = {"statistic": "mean", "column": column, "by": names_in(by), **_request_options(epsilon, rho, where)}
    _answer(ctx.obj, table, request, request_id, dry_run=dry_run)


@app.command()
def quantile(
    ctx: typer.Context,
    table: TableName,
    column: Column,
    share: Annotated[str, typer.Option(metavar="0.5", help="Quantile; 0.5 is the median.")] = "0.5",
    step: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Step between candidates; by default 1/1000 of the range.")
    ] = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    where: Where = None,
    request_id: RequestId = None,
    dry_run: DryRun = False,
) -> None:
    """Compute a quantile of a column, such as its median, chosen among candidates between the declared limits.

    Example: tablewatch privacy answer quantile orders amount --share 0.9 --epsilon 0.5
    """
    request = {
        "statistic": "quantile",
        "column": column,
        "share": share,
        "step": step,
        **_request_options(epsilon, rho, where),
    }
    _answer(ctx.obj, table, request, request_id, dry_run=dry_run)


@app.command("list")
def list_(
    ctx: typer.Context,
    table: TableName,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of answers, newest first.")] = 20,
) -> None:
    """List earlier answers; listing them costs nothing.

    Example: tablewatch privacy answer list customers
    """
    from monitor.answers.data_set import DataSet
    from monitor.reporting.terminal_views.answers import draw_answers
    from remedies.differential_privacy.epsilon import text_of

    invocation: Invocation = ctx.obj
    with open_ledger(invocation) as at:
        data_set = DataSet.of(at.project, table)
        results = at.ledger.answers(table, data_set.budget.unit, limit=limit)
    result = {
        "schema": "tablewatch.answers/1",
        "ok": True,
        "table": table,
        "answers": [
            {
                "request_id": item.request_id,
                "answered_at": item.answered_at.isoformat(),
                "by": item.actor,
                "cost": text_of(item.nano),
                "request": item.request,
                "answer": item.answer,
            }
            for item in results
        ],
    }
    invocation.emit(result, lambda console: draw_answers(console, results))


def _request_options(epsilon: str | None, rho: str | None, where: list[str] | None) -> dict[str, Any]:
    if epsilon is None and rho is None:
        hint = "--epsilon 0.1; --dry-run shows the expected noise"
        raise Stop(ExitCode.USAGE, Problem("answer.no_price", "missing privacy cost of the answer", hint=hint))
    return {"epsilon": epsilon, "rho": rho, "where": where or ()}


def _answer(
    invocation: Invocation, table: str, request: dict[str, Any], request_id: str | None, *, dry_run: bool
) -> None:
    from monitor.answers.data_set import DataSet
    from remedies.differential_privacy.answers import STATISTICS

    with limits_in_words(""):
        statistic = STATISTICS[request["statistic"]].model_validate(request)
    with open_ledger(invocation) as at:
        data_set = DataSet.of(at.project, table)
        if dry_run:
            _dry_run(invocation, at, data_set, statistic)
        else:
            _run(invocation, at, data_set, statistic, request_id)


def _dry_run(invocation: Invocation, at: "OpenLedger", data_set: "DataSet", statistic: "Statistic") -> None:
    """Show the cost and the noise of a request; neither depends on the table."""
    from monitor.answers.ask import AnswerPlan, charge_of
    from monitor.reporting.terminal_views.answers import draw_plan

    charge = charge_of(data_set, statistic, "dry-run")
    balance = at.ledger.balance(charge.data_set, charge.unit)
    at.note_mismatch(invocation)
    noises, not_covered = statistic.accuracy(data_set.terms), statistic.not_covered(data_set.terms)
    invocation.emit(
        lambda: AnswerPlan.of(at.project, at.ledger, data_set, statistic),
        lambda console: draw_plan(console, charge, balance, noises=noises, not_covered=not_covered),
    )


def _run(
    invocation: Invocation, at: "OpenLedger", data_set: "DataSet", statistic: "Statistic", request_id: str | None
) -> None:
    from monitor.answers.ask import Answer, AnswerService, NotAnswered
    from monitor.answers.budget_status import ProtectedPeople
    from monitor.reporting.terminal_views.answers import draw_answer
    from remedies.differential_privacy.ledger import Refusal

    try:
        outcome = AnswerService(at.ledger, at.project.clock, at.actor).answer(data_set, statistic, request_id)
    except NotAnswered as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("answer.not_computed", str(error))) from None
    if isinstance(outcome, Refusal):
        raise Stop(ExitCode.FAILED, Problem(f"answer.{outcome.reason.value}", str(outcome)))
    balance = at.ledger.balance(data_set.table, data_set.budget.unit)
    people = ProtectedPeople.of(at.project.config, at.ledger, data_set.table)
    invocation.emit(
        lambda: Answer.of(at.project, at.ledger, data_set, statistic, outcome),
        lambda console: draw_answer(console, outcome, balance, people),
    )
