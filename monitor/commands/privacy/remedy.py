"""`tablewatch privacy remedy`: treat a table at risk and write the result."""

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from monitor.commands._options import hiding_key, limits_in_words, names_in, number_in, pairs_in, with_progress
from monitor.commands.privacy import _remedy_microaggregate, _remedy_randomise, _remedy_synthesise
from monitor.commands.privacy._remedy_options import (
    HIERARCHY_FILES,
    Budget,
    By,
    Closeness,
    Columns,
    Diversity,
    Drop,
    DropIdentifiers,
    Folder,
    Force,
    GeneralisationOptions,
    Given,
    HidingKey,
    Inline,
    K,
    KeepOrder,
    Out,
    ReleaseName,
    Suppress,
    ask,
    each_once,
    parse_request,
    result_of,
    row_order,
    with_uniqueness,
)
from monitor.terminal.output import Invocation

if TYPE_CHECKING:
    from rich.console import Console

    from monitor.releases.treatment.generalise_table import RecodingRequest
    from remedies import Progress, UtilityReport
    from remedies.generalisation.choices import LevelChoices
    from remedies.generalise import Generalise


app = typer.Typer(
    help="Anonymise a table: the output is verified and kept only if it meets the limits.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)


@app.callback()
def _group() -> None:
    """Anonymise a table: the output is verified and kept only if it meets the limits.

    The table itself is never changed. Rows are written in random order.
    """


@app.command()
def generalise(
    ctx: typer.Context,
    given: Given,
    out: Out,
    quasi_identifiers: Columns = None,
    k: K = None,
    l: Diversity = None,
    t: Closeness = None,
    hierarchies: Folder = None,
    hierarchy: Inline = None,
    release: ReleaseName = None,
    suppress: Suppress = "0",
    search: Annotated[str | None, typer.Option(help="incognito (the optimum), mondrian or datafly.")] = None,
    by: By = None,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="A=2,B=1", help="Use these fixed levels instead of a search; other columns are not generalised."
        ),
    ] = None,
    budget: Budget = None,
    analysis: Annotated[
        str | None,
        typer.Option(
            metavar="SELECT", help="Run this SELECT on IN and OUT and compare the results; the table is `data`."
        ),
    ] = None,
    drop: Drop = None,
    drop_identifiers: DropIdentifiers = False,
    keep_order: KeepOrder = False,
    key: HidingKey = None,
    force: Force = False,
) -> None:
    """Generalise values until each record is in an equivalence class of at least k, with minimum information loss.

    The file is verified, and published only if it meets every limit.

    Example: tablewatch privacy remedy generalise people.csv safe.csv -q age,zip --hierarchy age=5,10
    --hierarchy zip=mask:1,2
    """
    from monitor.clock import SystemClock
    from monitor.config.project import protected_files
    from monitor.releases.treatment.analysis import Analysis
    from monitor.releases.treatment.declared_hierarchies import doubts_in
    from monitor.releases.treatment.generalise_table import generalise_table
    from monitor.releases.treatment.output import OutputColumns, check_place
    from monitor.reporting.terminal_views.generalisation import draw_doubts, draw_generalisation

    invocation: Invocation = ctx.obj
    files = (word.partition("=")[2].partition(":")[0] for word in hierarchy or ())
    named = [file for file in files if file.endswith(HIERARCHY_FILES)]
    protected = protected_files(invocation).reading(hierarchies, analysis, key, *named)
    check_place(out, text=given, force=force, protected=protected)
    hidden = hiding_key(key)
    read = None if analysis is None else Analysis(analysis)
    options = GeneralisationOptions(
        given,
        quasi_identifiers,
        release,
        folder=hierarchies,
        inline=hierarchy or (),
        k=k,
        diversity=l,
        closeness=t,
        drop=drop,
        drop_identifiers=drop_identifiers,
    )
    fixed = None if levels is None else _fixed(levels)
    settings = {"suppress": suppress, "search": search, "by": by, "levels": fixed, "budget": budget}
    question, request = ask(options, settings, invocation)
    compared = None if read is None else read.compared(question.place)
    warnings = doubts_in(cast("Generalise", question.remedy), question.counts)
    work: dict[str, Any] = {"clock": SystemClock(), "look": compared, "key": hidden}
    leaving = OutputColumns(out, request.drop, row_order(kept=keep_order))
    bill = with_progress("generalise", lambda tell: generalise_table(question, leaving, progress=tell, **work))
    result = {
        **result_of(given, out, bill, names=request.named, dropped=request.drop),
        "levels": _levels(bill),
        "warnings": warnings,
        "analysis": None if compared is None else compared.as_json(),
    }
    result = with_uniqueness(result, out, request.every, invocation)

    def draw(console: "Console") -> None:
        draw_doubts(console, warnings)
        draw_generalisation(console, bill, out, names=request.named, compared=compared)

    invocation.emit(result, draw)


def _fixed(levels: str) -> dict[str, Any]:
    """Read `age=2,zip=1`."""
    pairs = (pair for name in names_in(levels) for pair in pairs_in(name).items())
    return {name: number_in(level) for name, level in each_once(pairs).items()}


def _levels(bill: "UtilityReport") -> dict[str, int] | None:
    """Return the level of each column, as `--levels` takes them."""
    levels: Any = bill.figures["levels"]
    return None if levels is None else {name: level["level"] for name, level in levels.items()}


@app.command()
def lattice(
    ctx: typer.Context,
    given: Given,
    quasi_identifiers: Columns = None,
    k: K = None,
    l: Diversity = None,
    t: Closeness = None,
    hierarchies: Folder = None,
    hierarchy: Inline = None,
    release: ReleaseName = None,
    suppress: Suppress = "0",
    by: By = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="List all levels that meet the limits, not only minimal ones.",
        ),
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="Number of combinations listed; JSON has all.")] = 20,
    budget: Budget = None,
) -> None:
    """List the levels that achieve k, with their information loss; nothing is written.

    Minimal levels: no lower combination meets the limits. Pass your choice to `generalise --levels`.

    Example: tablewatch privacy remedy lattice people.csv -q age,zip --hierarchies folder --k 5 --by discernibility
    """
    from monitor.releases.treatment.declared_hierarchies import doubts_in
    from monitor.reporting.terminal_views.generalisation import draw_doubts, draw_lattice

    invocation: Invocation = ctx.obj
    limits: Any = {"k": k, "diversity": l, "closeness": t}
    columns: Any = {"folder": hierarchies, "inline": hierarchy or ()}
    options = GeneralisationOptions(given, quasi_identifiers, release, **limits, **columns)
    question, _ = ask(options, {"suppress": suppress, "by": by, "budget": budget}, invocation)
    warnings = doubts_in(cast("Generalise", question.remedy), question.counts)
    choices = with_progress("lattice", lambda tell: _search_levels(question, every=every, tell=tell))

    def draw(console: "Console") -> None:
        draw_doubts(console, warnings)
        draw_lattice(console, choices, most=top)

    invocation.emit(
        lambda: {
            "schema": "tablewatch.lattice/1",
            "ok": True,
            "input": given,
            "quasi_identifiers": list(choices.columns),
            **choices.as_json(),
            "warnings": warnings,
        },
        draw,
    )


def _search_levels(question: "RecodingRequest", *, every: bool, tell: "Progress") -> "LevelChoices":
    from monitor.releases.treatment.generalise_table import stop_on_interrupt

    remedy, frequencies = cast("Generalise", question.remedy), question.frequencies()
    with stop_on_interrupt(tell, wanted=remedy.budget is not None) as progress:
        return remedy.choices(frequencies, every=every, progress=progress)


@app.command()
def suppress(
    ctx: typer.Context,
    given: Given,
    out: Out,
    quasi_identifiers: Columns = None,
    k: K = None,
    l: Diversity = None,
    t: Closeness = None,
    cells: Annotated[
        bool, typer.Option("--cells", help="Suppress single cells first, then the remaining records.")
    ] = False,
    weights: Annotated[
        str | None, typer.Option(metavar="A=2,...", help="Weight of a column's cells, with --cells.")
    ] = None,
    release: ReleaseName = None,
    drop: Drop = None,
    drop_identifiers: DropIdentifiers = False,
    keep_order: KeepOrder = False,
    key: HidingKey = None,
    force: Force = False,
) -> None:
    """Suppress records, or cells, until each record is in a class of at least k; nothing else changes.

    The file is verified, and published only if it meets every limit.

    Example: tablewatch privacy remedy suppress people.csv safe.csv -q age,zip --k 5 --cells
    """
    from monitor.clock import SystemClock
    from monitor.config.project import protected_files
    from monitor.releases.treatment.generalise_table import RecodingRequest, generalise_table
    from monitor.releases.treatment.output import OutputColumns, check_place
    from monitor.reporting.terminal_views.generalisation import draw_suppression
    from remedies.suppress import Suppress

    invocation: Invocation = ctx.obj
    check_place(out, text=given, force=force, protected=protected_files(invocation).reading(key))
    hidden = hiding_key(key)
    limits: Any = {"k": k, "diversity": l, "closeness": t}
    leaves: Any = {"drop": drop, "drop_identifiers": drop_identifiers}
    options = GeneralisationOptions(given, quasi_identifiers, release, **limits, **leaves)
    request = parse_request(options, invocation)
    with limits_in_words(""):
        worth = each_once(pair for name in names_in(weights) for pair in pairs_in(name).items())
        settings = {"columns": request.columns, **request.limits, "cells": cells, "weights": worth}
        remedy = Suppress.model_validate(settings)
    question = RecodingRequest.of(request.place, remedy, request.every)
    leaving = OutputColumns(out, request.drop, row_order(kept=keep_order))
    work: Any = {"clock": SystemClock(), "key": hidden}
    bill = with_progress("suppress", lambda tell: generalise_table(question, leaving, progress=tell, **work))
    result = result_of(given, out, bill, names=request.named, dropped=request.drop)
    result = with_uniqueness(result, out, request.every, invocation)
    invocation.emit(result, lambda console: draw_suppression(console, bill, out, names=request.named))


app.command()(_remedy_microaggregate.microaggregate)
app.command()(_remedy_microaggregate.code)
app.command()(_remedy_randomise.randomise)
app.command()(_remedy_randomise.reconstruct)
app.command()(_remedy_synthesise.synthesise)
