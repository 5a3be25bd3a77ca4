"""`tablewatch privacy remedy synthesise`: draw a table from noisy counts of columns and of a tree of pairs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._options import limits_in_words, names_in, with_progress
from monitor.commands.privacy._remedy_options import Force, Given, Out, release_of
from monitor.commands.privacy._remedy_randomise import Domains, Epsilon, Others, RowsPerUnit
from monitor.terminal.output import Invocation

if TYPE_CHECKING:
    from monitor.config import Release
    from monitor.releases.disclosure.table_ref import TableRef
    from remedies.synthesise import Synthesise


def synthesise(
    ctx: typer.Context,
    given: Given,
    out: Out,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Columns to synthesise; by default those of --domain.")
    ] = None,
    epsilon: Epsilon = None,
    rho: Annotated[str | None, typer.Option(metavar="0.01", help="Alternative: rho, under zCDP.")] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="1e-9", help="Account under zCDP: probability that epsilon does not hold.")
    ] = None,
    adjacency: Annotated[
        str | None, typer.Option(metavar="KIND", help="Neighbouring tables: substitute (default) or add-remove.")
    ] = None,
    domain: Domains = None,
    other: Others = None,
    unit: Annotated[
        str | None, typer.Option(metavar="A", help="Column that identifies the person of a row; not published.")
    ] = None,
    rows_per_unit: RowsPerUnit = None,
    rows: Annotated[int | None, typer.Option(metavar="N", help="Number of rows to write.")] = None,
    release: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use the domains and the limit on epsilon of this release.")
    ] = None,
    force: Force = False,
) -> None:
    """Draw a synthetic table from noisy counts of columns and of a tree of pairs of columns.

    Domains are declared, never derived from the table. No budget is charged: export a release for that.

    Example: tablewatch privacy remedy synthesise people.csv made.csv --domain sex=F,M --domain born=1930..2009:10
    --epsilon 1
    """
    from monitor.config.project import protected_files
    from monitor.releases.disclosure.table_ref import table_ref_of
    from monitor.releases.treatment.output import check_not_read, check_place
    from monitor.releases.treatment.randomise_table import synthesise_into
    from monitor.reporting.terminal_views.randomisation import draw_synthesis

    invocation: Invocation = ctx.obj
    check_place(out, text=given, force=force, protected=protected_files(invocation))
    place = table_ref_of(given, invocation)
    check_not_read(out, place)
    current_release = release_of(place, release, invocation)
    settings = {
        "epsilon": epsilon,
        "rho": rho,
        "delta": delta,
        "adjacency": adjacency,
        "unit": unit,
        "rows_per_unit": rows_per_unit,
        "rows": rows,
    }
    remedy = _remedy(
        place, names_in(columns), domain, other, release=current_release, invocation=invocation, **settings
    )
    limit = None if current_release is None else current_release.limits.epsilon
    bill = with_progress("synthesise", lambda tell: synthesise_into(place, remedy, out, limit=limit, progress=tell))
    result = {
        "schema": "tablewatch.remedy/1",
        "ok": True,
        "input": given,
        "output": str(out),
        "columns": list(remedy.columns),
        "epsilon": bill.figures["epsilon"],
        "records": bill.rows,
        "seconds": bill.figures["seconds"],
        "bill": dict(bill.as_json()),
    }
    invocation.emit(result, lambda console: draw_synthesis(console, bill, out))


def _remedy(
    place: "TableRef",
    columns: "Any",
    inline: list[str] | None,
    others: list[str] | None,
    *,
    release: "Release | None",
    invocation: Invocation,
    **settings: Any,
) -> "Synthesise":
    """Return the remedy: domains as said, else as the release or the budget declares them."""
    from monitor.releases.disclosure.table_ref import project_of
    from monitor.releases.treatment.declared_domains import as_settings, declared_in, domains_for
    from remedies.synthesise import Synthesise

    project = project_of(invocation)
    declared = declared_in(None if project is None else project.config, place.name, release, "synthesise")
    cells = domains_for(
        columns or (() if inline else tuple(declared)), inline=inline or (), others=others or (), declared=declared
    )
    with limits_in_words(""):
        return Synthesise.model_validate(as_settings(cells, settings))
