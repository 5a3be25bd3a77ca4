"""`tablewatch privacy disclosure`: compare a randomised table with noisy answers."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._options import names_in
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remedies.differential_privacy import Comparison
    from remedies.differential_privacy.answers.domain import Cells

app = typer.Typer(
    help="Compare a randomised table with noisy answers.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)


@app.callback()
def _group() -> None:
    """Compare disclosure methods. Results are computed from the protected table and are for its steward only."""


@app.command()
def compare(
    ctx: typer.Context,
    given: Annotated[str, typer.Argument(metavar="TABLE_OR_FILE", help="A configured table, or a file.")],
    by: Annotated[str | None, typer.Option(metavar="A,B,...", help="Columns; by default those of --domain.")] = None,
    epsilon: Annotated[str, typer.Option(metavar="0.1,1,4", help="Epsilon values to compare.")] = "0.1,1,4",
    queries: Annotated[
        str, typer.Option(metavar="1,10,100", help="Numbers of answers that share an epsilon.")
    ] = "1,10,100",
    domain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A=F,M", help="Complete domain of column A; A=1930..2009:10 whole numbers in cells of ten."
        ),
    ] = None,
    other: Annotated[
        list[str] | None, typer.Option(metavar="A=F", help="Value used for NULL and values outside A's domain.")
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the number of records per row.")
    ] = None,
    rows_per_unit: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum rows per person.")] = 1,
    delta: Annotated[str, typer.Option(metavar="0.000001", help="Delta of zCDP.")] = "0.000001",
    runs: Annotated[
        int | None, typer.Option(min=0, help="Number of simulated tables; 0 uses formulas only. By default 10 to 100.")
    ] = None,
) -> None:
    """Compare a randomised table, published once, with noisy answers at the same epsilon, on your own counts.

    Example: tablewatch privacy disclosure compare examples/movielens-users.csv --weight users --domain gender=F,M
    --domain 'age=<18,18-24,25-34,35-44,45-49,50-55,56+'
    """
    from monitor.commands.privacy.budget import refuse_analysts
    from monitor.releases.disclosure.comparison import count_cells
    from monitor.releases.disclosure.table_ref import project_of, table_ref_of
    from monitor.releases.treatment.declared_domains import declared_in, domains_for
    from monitor.releases.treatment.randomise_table import blind
    from monitor.reporting.terminal_views.disclosure_comparison import draw_comparison
    from remedies import Misfit
    from remedies.differential_privacy import compare as compare_counts

    invocation: Invocation = ctx.obj
    place = table_ref_of(given, invocation)
    project = project_of(invocation)
    if project is not None:
        refuse_analysts(project, place.target)
    declared = declared_in(None if project is None else project.config, place.name, None)
    domains = domains_for(names_in(by), inline=domain or (), others=other or (), declared=declared)
    answers, epsilons = _numbers(queries), names_in(epsilon)
    if not epsilons:
        message = "--epsilon is empty; expected decimals, such as 0.1,1,4"
        raise Stop(ExitCode.USAGE, Problem("disclosure.misfit", message))
    counts = count_cells(blind(place), domains, weight=weight)
    try:
        result = compare_counts(counts, epsilons, queries=answers, delta=delta, rows_per_unit=rows_per_unit, runs=runs)
    except Misfit as error:
        raise Stop(ExitCode.USAGE, Problem("disclosure.misfit", str(error))) from None
    invocation.emit(_result(given, domains, result), lambda console: draw_comparison(console, result, domains))


def _numbers(text: str) -> tuple[int, ...]:
    """Read `1,10,100`."""
    names = names_in(text)
    if not names or not all(name.isascii() and name.isdigit() and int(name) for name in names):
        message = f"--queries '{text}': expected numbers of answers, each 1 or more, such as 1,10,100"
        raise Stop(ExitCode.USAGE, Problem("disclosure.misfit", message))
    return tuple(map(int, names))


def _result(text: str, domains: "Mapping[str, Cells]", comparison: "Comparison") -> dict[str, Any]:
    from monitor.releases.disclosure.comparison import comparison_json

    named = {"schema": "tablewatch.disclosure-comparison/1", "ok": True, "table": text}
    return {**named, **comparison_json(comparison, domains)}
