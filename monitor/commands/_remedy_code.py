"""`tablewatch remedy code`: numbers beyond a bound become the bound."""

from typing import Annotated

import typer

from monitor.commands._remedy_dropped import Drop, DropIdentifiers, dropped
from monitor.commands._remedy_words import Force, Given, KeepOrder, Out, each_once, order_of, told, with_uniqueness
from monitor.commands._risk_verdict import limits_in_words, names_in
from monitor.frame.output import Invocation
from monitor.frame.problem import ExitCode, Problem, Stop


def add_code(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command()(code)


def code(
    ctx: typer.Context,
    given: Given,
    out: Out,
    top: Annotated[
        list[str] | None, typer.Option(metavar="A=80,...", help="This number of column A and all above become one.")
    ] = None,
    bottom: Annotated[
        list[str] | None, typer.Option(metavar="A=20,...", help="All numbers of column A below this one become one.")
    ] = None,
    form: Annotated[
        str, typer.Option("--as", help="number: the bound, so that the column stays numeric; label: the text >=80.")
    ] = "number",
    drop: Drop = None,
    drop_identifiers: DropIdentifiers = False,
    keep_order: KeepOrder = False,
    force: Force = False,
) -> None:
    """Code the largest and the smallest numbers, so that extremes do not stand out.

    The file is read again, and given out only if no number lies beyond a bound.

    Example: tablewatch remedy code people.csv safe.csv --top age=80,income=200000 --bottom age=18
    """
    from checks import ColumnClass
    from monitor.disclosure.place import table_ref_of
    from monitor.pages.generalisation import draw_coding
    from monitor.treatment.coded import code_extremes
    from monitor.treatment.given import columns_in
    from monitor.treatment.output import OutputColumns, check_place
    from monitor.wiring import protected_files
    from remedies.code import Code

    invocation: Invocation = ctx.obj
    check_place(out, given=given, force=force, protected=protected_files(invocation))
    with limits_in_words(""):
        remedy = Code.model_validate({"top": _bounds(top), "bottom": _bounds(bottom), "as": form})
    place = table_ref_of(given, invocation)
    there = columns_in(place)
    named = [name for name in place.classified(ColumnClass("direct-identifier")) if name in there]
    gone = dropped(drop, identifiers=drop_identifiers, named=named, there=there, needed=remedy.columns)
    leaving = OutputColumns(out, gone, order_of(kept=keep_order))
    bill = told("code", lambda tell: code_extremes(remedy, place, leaving, progress=tell))
    named = [name for name in named if name not in gone]
    result = {
        "schema": "tablewatch.remedy/1",
        "ok": True,
        "input": given,
        "output": str(out),
        "columns": list(remedy.columns),
        "direct_identifiers": named,
        "dropped": list(gone),
        "seconds": bill.figures["seconds"],
        "bill": bill.as_json(),
    }
    result = with_uniqueness(result, out, remedy.columns, invocation)
    invocation.emit(result, lambda console: draw_coding(console, bill, out, named=named))


def _bounds(said: list[str] | None) -> dict[str, str]:
    """Read `a=80,b=5`."""
    return each_once(_bound(pair) for words in said or () for pair in names_in(words))


def _bound(said: str) -> tuple[str, str]:
    name, sign, bound = said.partition("=")
    if not (name and sign and bound):
        message = f"'{said}' is no bound of a column; expected a column, '=' and a number"
        raise Stop(ExitCode.USAGE, Problem("remedy.limit", message))
    return name.strip(), bound.strip()
