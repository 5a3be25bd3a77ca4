"""`tablewatch release list` and `release record`: how releases stand, and what is on record of them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from monitor.commands._pages import Force, Page, format_for
from monitor.commands._words import LocaleWord
from monitor.frame.output import Invocation, remember_format


class RecordFormat(StrEnum):
    """How a record is written."""

    HTML = "html"
    JSON = "json"


_BY_SUFFIX: Final = {".html": RecordFormat.HTML, ".htm": RecordFormat.HTML, ".json": RecordFormat.JSON}

Locale = Annotated[LocaleWord | None, typer.Option(help="The language.", show_default="the configuration's")]


def add_record_commands(app: typer.Typer) -> None:
    """Add the commands to the group."""
    app.command(name="list")(list_releases)
    app.command()(record)


def list_releases(ctx: typer.Context) -> None:
    """List all releases: how each stands and why, until when it is approved, and what was last given out.

    Example: tablewatch release list
    """
    from monitor.desk.refusals import explained
    from monitor.pages.release_list import draw_list, list_as_json
    from monitor.releasing.record import last_exports, states_now
    from monitor.wiring import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with project.open_store() as store, explained(), store.reading() as view:
        states, exports = states_now(project, view), last_exports(view)
    result = list_as_json(states, exports, project.clock.now())
    invocation.emit(result, lambda console: draw_list(console, states, exports))


def record(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A release, also one that is no longer configured.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Write to this file: .html, .htm or .json.", show_default="standard output"),
    ] = None,
    locale: Locale = None,
    output_format: Annotated[
        RecordFormat | None,
        typer.Option(
            "--format",
            help="How it is written.",
            callback=remember_format,
            show_default="by the ending of --out, else html",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write what is on record of a release: every decision, and the certificate of every export, the newest first.

    Example: tablewatch release record research-extract --out record.html
    """
    from monitor.desk.refusals import explained
    from monitor.releasing.record import record_of
    from monitor.reports.release_record import record_html
    from monitor.reports.shape import as_text
    from monitor.voice import Localizer
    from monitor.wiring import Project

    invocation: Invocation = ctx.obj
    wanted = output_format or (RecordFormat.JSON if invocation.as_json else None)
    written = format_for(wanted, out, _BY_SUFFIX, default=RecordFormat.HTML, code="release.out")
    project = Project.of(invocation)
    page = Page(out, force, project.protected_files, "release.out")
    page.check()
    with project.open_store() as store, explained(), store.reading() as view:
        found = record_of(project, view, name)
    redact = invocation.redactor
    if written is RecordFormat.JSON:
        text = as_text(redact.value(found.to_json()))
    else:
        voice = Localizer(locale or project.config.locale, project.config.timezone)
        text = record_html(found, voice, project=project.config.project, redact=redact)
    page.write(text, invocation)
