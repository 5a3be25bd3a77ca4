"""`tablewatch remedy generalise`: values become broader until k records are alike."""

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from monitor.commands._remedy_asked import Budget, By, Folder, Inline, GeneralisationOptions, Suppress, ask
from monitor.commands._remedy_dropped import Drop, DropIdentifiers
from monitor.commands._remedy_words import (
    HIERARCHY_FILES,
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
from monitor.commands._risk_verdict import names_in, number_in, pairs_in
from monitor.frame.output import Invocation

if TYPE_CHECKING:
    from rich.console import Console

    from remedies import UtilityReport
    from remedies.generalise import Generalise


def add_generalise(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command()(generalise)


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
        str | None, typer.Option(metavar="A=2,B=1", help="No search: these levels; what is not named stays as it is.")
    ] = None,
    budget: Budget = None,
    analysis: Annotated[
        str | None, typer.Option(metavar="SELECT", help="Compare what it says of IN and of OUT; the table is `data`.")
    ] = None,
    drop: Drop = None,
    drop_identifiers: DropIdentifiers = False,
    keep_order: KeepOrder = False,
    force: Force = False,
) -> None:
    """Make values broader, level by level, until each record is alike with k - 1 others, and lose little.

    The file is read again, and given out only if its groups keep every limit.

    Example: tablewatch remedy generalise people.csv safe.csv -q age,zip --hierarchy age=5,10 --hierarchy zip=mask:1,2
    """
    from monitor.clock import SystemClock
    from monitor.pages.generalisation import draw_doubts, draw_generalisation
    from monitor.treatment.analysis import Analysis
    from monitor.treatment.hierarchies import doubts_in
    from monitor.treatment.output import OutputColumns, check_place
    from monitor.treatment.recoded import generalise_table
    from monitor.wiring import protected_files

    invocation: Invocation = ctx.obj
    files = (word.partition("=")[2].partition(":")[0] for word in hierarchy or ())
    named = [file for file in files if file.endswith(HIERARCHY_FILES)]
    protected = protected_files(invocation).reading(hierarchies, analysis, *named)
    check_place(out, given=given, force=force, protected=protected)
    read = None if analysis is None else Analysis(analysis)
    said = GeneralisationOptions(
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
    words = {"suppress": suppress, "search": search, "by": by, "levels": fixed, "budget": budget}
    question, meant = ask(said, words, invocation)
    compared = None if read is None else read.compared(question.place)
    doubts = doubts_in(cast("Generalise", question.remedy), question.counts)
    work: dict[str, Any] = {"clock": SystemClock(), "look": compared}
    leaving = OutputColumns(out, meant.drop, order_of(kept=keep_order))
    bill = told("generalise", lambda tell: generalise_table(question, leaving, progress=tell, **work))
    result = {
        **result_of(given, out, bill, named=meant.named, dropped=meant.drop),
        "levels": _levels(bill),
        "warnings": doubts,
        "analysis": None if compared is None else compared.as_json(),
    }
    result = with_uniqueness(result, out, meant.every, invocation)

    def draw(console: "Console") -> None:
        draw_doubts(console, doubts)
        draw_generalisation(console, bill, out, named=meant.named, compared=compared)

    invocation.emit(result, draw)


def _fixed(levels: str) -> dict[str, Any]:
    """Read `age=2,zip=1`."""
    pairs = (pair for one in names_in(levels) for pair in pairs_in(one).items())
    return {name: number_in(level) for name, level in each_once(pairs).items()}


def _levels(bill: "UtilityReport") -> dict[str, int] | None:
    """Give the level of each column, as `--levels` takes them."""
    levels: Any = bill.figures["levels"]
    return None if levels is None else {name: one["level"] for name, one in levels.items()}
