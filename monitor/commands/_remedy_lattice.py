"""`tablewatch remedy lattice`: which levels there are to choose from, and what each loses."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from monitor.commands._remedy_asked import Budget, By, Folder, Inline, GeneralisationOptions, Suppress, ask
from monitor.commands._remedy_words import Closeness, Columns, Diversity, Given, K, ReleaseName, told
from monitor.frame.output import Invocation

if TYPE_CHECKING:
    from rich.console import Console

    from monitor.treatment.recoded import RecodingRequest
    from remedies import Progress
    from remedies.generalisation._choices import Choices
    from remedies.generalise import Generalise


def add_lattice(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command()(lattice)


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
    every: Annotated[bool, typer.Option("--all", help="All levels that hold, not the minimal ones alone.")] = False,
    top: Annotated[int, typer.Option(min=1, help="How many are listed; JSON has them all.")] = 20,
    budget: Budget = None,
) -> None:
    """List the levels at which each record is alike with k - 1 others, and what they lose; nothing is written.

    Minimal ones: nothing below them holds. Choose, and give them to `generalise --levels`.

    Example: tablewatch remedy lattice people.csv -q age,zip --hierarchies folder --k 5 --by discernibility
    """
    from monitor.pages.generalisation import draw_doubts
    from monitor.pages.lattice import draw_lattice
    from monitor.treatment.hierarchies import doubts_in

    invocation: Invocation = ctx.obj
    said = GeneralisationOptions(
        given,
        quasi_identifiers,
        release,
        folder=hierarchies,
        inline=hierarchy or (),
        k=k,
        diversity=l,
        closeness=t,
    )
    question, _ = ask(said, {"suppress": suppress, "by": by, "budget": budget}, invocation)
    doubts = doubts_in(cast("Generalise", question.remedy), question.counts)
    choices = told("lattice", lambda tell: _look(question, every=every, tell=tell))
    result = {
        "schema": "tablewatch.lattice/1",
        "ok": True,
        "input": given,
        "quasi_identifiers": list(choices.columns),
        **choices.as_json(),
        "warnings": doubts,
    }

    def draw(console: "Console") -> None:
        draw_doubts(console, doubts)
        draw_lattice(console, choices, most=top)

    invocation.emit(result, draw)


def _look(question: "RecodingRequest", *, every: bool, tell: "Progress") -> "Choices":
    from monitor.treatment.enough import stop_on_interrupt

    remedy, frequencies = cast("Generalise", question.remedy), question.frequencies()
    with stop_on_interrupt(tell, wanted=remedy.budget is not None) as heard:
        return remedy.choices(frequencies, every=every, progress=heard)
