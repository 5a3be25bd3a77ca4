"""`tablewatch remedy suppress`: records that too few are alike with leave, or as few of their cells as it takes."""

from typing import Annotated

import typer

from monitor.commands._remedy_asked import GeneralisationOptions, parse_request
from monitor.commands._remedy_dropped import Drop, DropIdentifiers
from monitor.commands._remedy_words import (
    Closeness,
    Columns,
    Diversity,
    Force,
    Given,
    K,
    KeepOrder,
    Out,
    ReleaseName,
    each_once,
    order_of,
    result_of,
    told,
    with_uniqueness,
)
from monitor.commands._risk_verdict import limits_in_words, names_in, pairs_in
from monitor.frame.output import Invocation


def add_suppress(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command()(suppress)


def suppress(
    ctx: typer.Context,
    given: Given,
    out: Out,
    quasi_identifiers: Columns = None,
    k: K = None,
    l: Diversity = None,
    t: Closeness = None,
    cells: Annotated[
        bool, typer.Option("--cells", help="Blank few cells, and leave out only the records that are left then.")
    ] = False,
    weights: Annotated[
        str | None, typer.Option(metavar="A=2,...", help="How much a column's cell is worth, with --cells.")
    ] = None,
    release: ReleaseName = None,
    drop: Drop = None,
    drop_identifiers: DropIdentifiers = False,
    keep_order: KeepOrder = False,
    force: Force = False,
) -> None:
    """Leave out records, or cells, until each record is alike with k - 1 others; all else stays as it is.

    The file is read again, and given out only if its groups keep every limit.

    Example: tablewatch remedy suppress people.csv safe.csv -q age,zip --k 5 --cells
    """
    from monitor.clock import SystemClock
    from monitor.pages.generalisation import draw_suppression
    from monitor.treatment.output import OutputColumns, check_place
    from monitor.treatment.recoded import RecodingRequest, generalise_table
    from monitor.wiring import protected_files
    from remedies.suppress import Suppress

    invocation: Invocation = ctx.obj
    check_place(out, given=given, force=force, protected=protected_files(invocation))
    said = GeneralisationOptions(
        given,
        quasi_identifiers,
        release,
        k=k,
        diversity=l,
        closeness=t,
        drop=drop,
        drop_identifiers=drop_identifiers,
    )
    meant = parse_request(said, invocation)
    with limits_in_words(""):
        worth = each_once(pair for one in names_in(weights) for pair in pairs_in(one).items())
        remedy = Suppress.model_validate({"columns": meant.columns, **meant.limits, "cells": cells, "weights": worth})
    question = RecodingRequest.of(meant.place, remedy, meant.every)
    clock, leaving = SystemClock(), OutputColumns(out, meant.drop, order_of(kept=keep_order))
    bill = told("suppress", lambda tell: generalise_table(question, leaving, clock=clock, progress=tell))
    result = result_of(given, out, bill, named=meant.named, dropped=meant.drop)
    result = with_uniqueness(result, out, meant.every, invocation)
    invocation.emit(result, lambda console: draw_suppression(console, bill, out, named=meant.named))
