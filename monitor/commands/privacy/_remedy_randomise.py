"""`tablewatch privacy remedy randomise`: keep each value with a probability, else draw one of its domain."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._options import limits_in_words, names_in, number_in, with_progress
from monitor.commands.privacy._remedy_options import (
    Force,
    Given,
    KeepOrder,
    Out,
    each_once,
    release_of,
    row_order,
    with_uniqueness,
)
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from monitor.config import Release
    from monitor.releases.disclosure.table_ref import TableRef
    from monitor.releases.treatment.randomise_table import RandomiseRequest
    from remedies import UtilityReport
    from remedies.randomise import Randomise


Domains = Annotated[
    list[str] | None,
    typer.Option(
        "--domain",
        metavar="A=F,M",
        help="Complete domain of column A; A=1930..2010 whole numbers, A=1930..2009:10 in cells of ten. Repeatable.",
    ),
]
Others = Annotated[
    list[str] | None,
    typer.Option("--other", metavar="A=F", help="Value used for NULL and values outside A's domain. Repeatable."),
]

Epsilon = Annotated[str | None, typer.Option(metavar="1.0", help="Epsilon of the table, at most nine decimal places.")]
RowsPerUnit = Annotated[int | None, typer.Option(metavar="N", help="Maximum rows per person; 1 by default.")]


def randomise(
    ctx: typer.Context,
    given: Given,
    out: Out,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Columns to randomise; by default those of --domain.")
    ] = None,
    epsilon: Epsilon = None,
    pk: Annotated[
        float | None, typer.Option(metavar="K", help="Alternative: minimum Pk-anonymity of each row.")
    ] = None,
    retention: Annotated[
        str | None, typer.Option(metavar="RHO", help="Alternative: retention probability; or A=0.5,B=0.1.")
    ] = None,
    joint: Annotated[
        bool,
        typer.Option("--joint", help="Retain or redraw the columns of a row jointly: better for reconstructed cells."),
    ] = False,
    domain: Domains = None,
    other: Others = None,
    drop: Annotated[str | None, typer.Option(metavar="A,B,...", help="Drop these columns.")] = None,
    drop_rest: Annotated[
        bool,
        typer.Option(
            "--drop-rest", help="Drop all columns that are not randomised; otherwise no epsilon is guaranteed."
        ),
    ] = False,
    rows_per_unit: RowsPerUnit = None,
    release: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use the domains, epsilon and its limit of this release.")
    ] = None,
    keep_order: KeepOrder = False,
    force: Force = False,
) -> None:
    """Retain each value with a probability, otherwise redraw it from its declared domain.

    Domains are declared, never derived from the table. Epsilon is guaranteed only if no column stays unchanged.

    Example: tablewatch privacy remedy randomise people.csv safe.csv --domain sex=F,M --domain born=1930..2009:10
    --epsilon 1 --drop-rest
    """
    from monitor.config.project import protected_files
    from monitor.releases.disclosure.table_ref import table_ref_of
    from monitor.releases.treatment.output import check_not_read, check_place
    from monitor.releases.treatment.randomise_table import randomise_into
    from monitor.reporting.terminal_views.randomisation import draw_randomisation

    invocation: Invocation = ctx.obj
    check_place(out, text=given, force=force, protected=protected_files(invocation))
    place = table_ref_of(given, invocation)
    check_not_read(out, place)
    current_release = release_of(place, release, invocation)
    settings = {
        "epsilon": epsilon,
        "pk": pk,
        "retention": _retention(retention),
        "joint": joint or None,
        "rows_per_unit": rows_per_unit,
    }
    remedy = _remedy(
        place, names_in(columns), domain, other, release=current_release, settings=settings, invocation=invocation
    )
    request = _asked(place, remedy, current_release, drop=names_in(drop), drop_rest=drop_rest)
    request = replace(request, order=row_order(kept=keep_order))
    bill = with_progress("randomise", lambda tell: randomise_into(request, out, tell))
    result = with_uniqueness(_result(given, out, bill), out, remedy.columns, invocation)
    invocation.emit(result, lambda console: draw_randomisation(console, bill, out))


def _remedy(
    place: "TableRef",
    columns: "Any",
    inline: list[str] | None,
    others: list[str] | None,
    *,
    release: "Release | None",
    settings: dict[str, Any],
    invocation: Invocation,
) -> "Randomise":
    """Put together what was said, and what the release says where nothing was said."""
    from monitor.releases.disclosure.table_ref import project_of
    from monitor.releases.treatment.declared_domains import (
        as_settings,
        declared_in,
        domains_for,
        recipe_of,
        released_columns,
    )
    from remedies.randomise import Randomise

    project, recipe = project_of(invocation), recipe_of(release)
    declared = declared_in(None if project is None else project.config, place.name, release)
    by_release = {} if recipe is None else recipe.settings
    cells = domains_for(
        columns, inline=inline or (), others=others or (), declared=declared, released=released_columns(release)
    )
    price = {name: by_release.get(name) for name in ("epsilon", "pk", "retention")}
    if all(settings[name] is None for name in price):
        settings = {**settings, **price}
    for name in ("joint", "rows_per_unit"):
        settings[name] = by_release.get(name) if settings[name] is None else settings[name]
    if not any(settings[name] is not None for name in price):
        hint = "--epsilon 1, --pk 900 or --retention 0.1"
        message = "missing privacy parameter: give an epsilon, a Pk or a retention"
        raise Stop(ExitCode.USAGE, Problem("remedy.limit", message, hint=hint))
    with limits_in_words(""):
        return Randomise.model_validate(as_settings(cells, settings))


def _asked(
    place: "TableRef", remedy: "Randomise", release: "Release | None", *, drop: "Any", drop_rest: bool
) -> "RandomiseRequest":
    from monitor.releases.treatment.declared_domains import recipe_of
    from monitor.releases.treatment.randomise_table import RandomiseRequest, blind, kept_columns

    recipe = recipe_of(release)
    if recipe is not None and not drop and not drop_rest:
        drop_rest = recipe.drop == "rest"
        drop = () if drop_rest else recipe.drop
    source = blind(place)
    texts = kept_columns(source, remedy.columns, drop=drop, drop_rest=drop_rest)
    return RandomiseRequest(source, remedy, texts, None if release is None else release.limits.epsilon)


def _retention(text: str | None) -> Any:
    """Read `0.13`, or `a=0.5,b=0.1`."""
    if text is None or "=" not in text:
        return text
    pairs = (name.partition("=") for name in names_in(text))
    return each_once((name.strip(), number_in(kept.strip())) for name, _, kept in pairs)


def _result(text: str, out: Path, bill: "UtilityReport") -> dict[str, Any]:
    """Return the published shape: of the bill only what does not come from the table that was given."""
    from monitor.releases.treatment.randomise_table import ASIDE

    figures = bill.figures
    return {
        "schema": "tablewatch.remedy/1",
        "ok": True,
        "input": text,
        "output": str(out),
        "columns": list(bill.guarantee.columns),
        "unchanged": figures["unchanged"],
        "epsilon": figures["epsilon"],
        "pk": figures["pk"],
        "retention": figures["retention"],
        "records": bill.rows,
        "seconds": figures["seconds"],
        "bill": {name: value for name, value in bill.as_json().items() if name not in ASIDE},
    }


_METHODS = ("bayes", "inverse", "inverse-projected")


def reconstruct(
    ctx: typer.Context,
    given: Annotated[str, typer.Argument(metavar="FILE", help="Randomised table.")],
    mechanism: Annotated[Path, typer.Option(metavar="BILL", help="Output of 'remedy randomise' with --format json.")],
    by: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Columns to count; by default all randomised ones.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="bayes (no cell below 0), inverse (without bias) or inverse-projected.")
    ] = "bayes",
    stop: Annotated[
        str, typer.Option(metavar="RULE", help="Stopping rule of bayes: discrepancy, or a number of iterations.")
    ] = "discrepancy",
) -> None:
    """Estimate what the counts of a table were before it was randomised. It costs no further epsilon.

    Example: tablewatch privacy remedy reconstruct safe.csv --mechanism bill.json --by sex,born
    """
    from monitor.releases.disclosure.table_ref import table_ref_of
    from monitor.releases.treatment.randomise_table import blind
    from monitor.releases.treatment.reconstruct_table import read_record, reconstruct_table
    from monitor.reporting.terminal_views.randomisation import draw_reconstruction

    invocation: Invocation = ctx.obj
    rule: Any = int(stop) if stop.isascii() and stop.isdigit() else stop
    if method not in _METHODS or not (rule == "discrepancy" or isinstance(rule, int)):
        message = f"expected --method {', '.join(_METHODS)}, and --stop discrepancy or a number of iterations"
        raise Stop(ExitCode.USAGE, Problem("remedy.misfit", message))
    record = read_record(mechanism)
    place = blind(table_ref_of(given, invocation))
    how: Any = method
    done = with_progress(
        "reconstruct",
        lambda _: reconstruct_table(place, record, names_in(by), method=how, stop=rule),
    )
    result = {
        "schema": "tablewatch.reconstruction/1",
        "ok": True,
        "input": given,
        "by": list(done.domains),
        "records": record.rows,
        "method": done.found.method.value,
        "iterations": done.found.iterations,
        "stopped": done.found.stopped.value,
        "chi2": done.found.chi2,
        "cells": list(done.cells()),
    }
    invocation.emit(result, lambda console: draw_reconstruction(console, done))
