"""`tablewatch remedy suppress`: records that too few are alike with leave, or as few of their cells as it takes."""

from typing import Annotated

import typer

from monitor.commands._remedy_asked import NO_COLUMNS
from monitor.commands._remedy_words import (
    Closeness,
    Columns,
    Diversity,
    Force,
    Given,
    K,
    Out,
    ReleaseName,
    columns_of,
    limits_said,
    release_of,
    result_of,
    told,
)
from monitor.commands._risk_verdict import limits_in_words, names_in, pairs_in
from monitor.frame.output import Invocation
from monitor.frame.problem import ExitCode, Stop


def add_to(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command()(suppress)


def suppress(
    ctx: typer.Context,
    given: Given,
    out: Out,
    quasi_identifiers: Columns = None,
    k: K = None,
    l: Diversity = None,  # noqa: E741 - its name in the literature
    t: Closeness = None,
    cells: Annotated[
        bool, typer.Option("--cells", help="Blank few cells, and leave out only the records that are left then.")
    ] = False,
    weights: Annotated[
        str | None, typer.Option(metavar="A=2,...", help="How much a column's cell is worth, with --cells.")
    ] = None,
    release: ReleaseName = None,
    force: Force = False,
) -> None:
    """Leave out records, or cells, until each record is alike with k - 1 others; all else stays as it is.

    The file is read again, and given out only if its groups keep every limit.

    Example: tablewatch remedy suppress people.csv safe.csv -q age,zip --k 5 --cells
    """
    from monitor.clock import SystemClock
    from monitor.disclosure.place import place_of
    from monitor.pages.generalisation import draw_suppression
    from monitor.treatment.given import columns_in
    from monitor.treatment.output import check_place
    from monitor.treatment.recoded import Question, recode
    from remedies.suppress import Suppress

    invocation: Invocation = ctx.obj
    check_place(out, given=given, force=force)
    place = place_of(given, invocation)
    meant = release_of(place, release, invocation)
    known = columns_of(place, meant, "quasi-identifier")
    columns = tuple(names_in(quasi_identifiers)) or known
    if not columns:
        raise Stop(ExitCode.USAGE, NO_COLUMNS)
    with limits_in_words():
        remedy = Suppress.model_validate(
            {
                "columns": columns,
                **limits_said(place, meant, k=k, diversity=l, closeness=t),
                "cells": cells,
                "weights": pairs_in(weights),
            }
        )
    question = Question.of(place, remedy, tuple(dict.fromkeys((*columns, *known))))
    bill = told("suppress", lambda tell: recode(question, out, clock=SystemClock(), progress=tell))
    there = columns_in(place)
    named = [name for name in columns_of(place, meant, "direct-identifier") if name in there]
    result = result_of(given, out, bill, named=named)
    invocation.emit(result, lambda console: draw_suppression(console, bill, out, named=named))
