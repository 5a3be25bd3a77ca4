"""`tablewatch remedy reconstruct`: estimate the counts that a table had before it was randomised."""

from pathlib import Path
from typing import Annotated, Any

import typer

from monitor.commands._remedy_words import told
from monitor.commands._risk_verdict import names_in
from monitor.frame.output import Invocation
from monitor.frame.problem import ExitCode, Problem, Stop

_METHODS = ("bayes", "inverse", "inverse-projected")


def add_reconstruct(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command()(reconstruct)


def reconstruct(
    ctx: typer.Context,
    given: Annotated[str, typer.Argument(metavar="FILE", help="The randomised table.")],
    mechanism: Annotated[
        Path, typer.Option(metavar="BILL", help="What 'remedy randomise' printed with --format json.")
    ],
    by: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Whose counts; by default all that were randomised.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="bayes (no cell below 0), inverse (without bias) or inverse-projected.")
    ] = "bayes",
    stop: Annotated[
        str, typer.Option(metavar="RULE", help="When bayes ends: discrepancy, or a number of iterations.")
    ] = "discrepancy",
) -> None:
    """Estimate what the counts of a table were before it was randomised. It costs no further epsilon.

    Example: tablewatch remedy reconstruct safe.csv --mechanism bill.json --by sex,born
    """
    from monitor.disclosure.place import table_ref_of
    from monitor.pages.randomised import draw_reconstruction
    from monitor.treatment.randomised import blind
    from monitor.treatment.reconstructed import read_record, reconstruct_table

    invocation: Invocation = ctx.obj
    rule: Any = int(stop) if stop.isascii() and stop.isdigit() else stop
    if method not in _METHODS or not (rule == "discrepancy" or isinstance(rule, int)):
        message = f"expected --method {', '.join(_METHODS)}, and --stop discrepancy or a number of iterations"
        raise Stop(ExitCode.USAGE, Problem("remedy.misfit", message))
    record = read_record(mechanism)
    place = blind(table_ref_of(given, invocation))
    how: Any = method
    done = told(
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
