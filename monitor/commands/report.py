"""`tablewatch report`: write the weekly report."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import Locale
from monitor.commands._output_pages import Force, Page, format_for
from monitor.terminal.output import Invocation, remember_format
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from datetime import datetime

    from monitor.config.project import Project
    from monitor.reporting.model import WeeklyReport
    from monitor.reporting.week import Week
    from monitor.terminal.localizer import Localizer


class ReportFormat(StrEnum):
    """How a report is written."""

    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"
    PDF = "pdf"


_BY_SUFFIX = {
    ".html": ReportFormat.HTML,
    ".htm": ReportFormat.HTML,
    ".md": ReportFormat.MARKDOWN,
    ".json": ReportFormat.JSON,
    ".pdf": ReportFormat.PDF,
}

app = typer.Typer(help="Generate reports.", no_args_is_help=True, rich_help_panel="Incidents and cost")


@app.callback()
def _group() -> None:
    """Generate reports."""


@app.command()
def weekly(
    ctx: typer.Context,
    week: Annotated[
        str | None,
        typer.Option(metavar="2026-W46", help="ISO week, Monday to Sunday.", show_default="the last complete week"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write to this file: .html, .htm, .md, .json or .pdf.", show_default="standard output"),
    ] = None,
    locale: Locale = None,
    output_format: Annotated[
        ReportFormat | None,
        typer.Option(
            "--format",
            envvar="TABLEWATCH_REPORT_WEEKLY_FORMAT",
            help="Output format; pdf needs Chromium, Chrome or Edge, and --out.",
            callback=remember_format,
            show_default="by the extension of --out, else html",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Generate the weekly report: data downtime, its cost, changes and recommended improvements.

    Example: tablewatch report weekly --week 2026-W46 --locale ja --out report.html
    """
    from monitor.config.project import Project
    from monitor.terminal.localizer import Localizer

    invocation: Invocation = ctx.obj
    wanted = output_format or (ReportFormat.JSON if invocation.as_json else None)
    current_f = format_for(wanted, out, _BY_SUFFIX, default=ReportFormat.HTML, code="report.out")
    if current_f is ReportFormat.PDF:
        _check_pdf(out)
    project = Project.of(invocation)
    page = Page(out, force, project.protected_files, "report.out")
    page.check()
    now = project.clock.now()
    chosen = _week(project, week, now)
    report = _build(project, chosen, now)
    voice = Localizer(locale or project.config.locale, project.config.timezone)
    page.write(_said(report, voice, current_f, invocation), invocation)


def _check_pdf(out: Path | None) -> None:
    from monitor.reporting.pdf import browser

    if out is None:
        raise Stop(ExitCode.USAGE, Problem("report.out", "a PDF is written to a file, expected --out FILE.pdf"))
    browser()


def _week(project: "Project", name: str | None, now: "datetime") -> "Week":
    from monitor.reporting.week import Week, WeekError

    zone = project.config.timezone
    if name is None:
        return Week.last_complete(now, zone)
    try:
        week = Week.parse(name, zone)
    except WeekError as error:
        raise Stop(ExitCode.USAGE, Problem("report.week", str(error))) from None
    if week.start > now:
        running = Week.containing(now, zone)
        raise Stop(
            ExitCode.USAGE, Problem("report.week", f"week {week} has not started; the current week is {running}")
        )
    return week


def _build(project: "Project", week: "Week", now: "datetime") -> "WeeklyReport":
    from monitor.reporting.build import build_weekly, gather
    from monitor.triage.errors import explained

    with project.open_store() as store, explained(), store.reading() as tx:
        return build_weekly(gather(project, tx, week, now), week)


def _said(
    report: "WeeklyReport", voice: "Localizer", report_format: ReportFormat, invocation: Invocation
) -> str | bytes:
    from monitor.reporting import render
    from monitor.reporting import weekly_json as shape

    redact = invocation.redactor
    match report_format:
        case ReportFormat.HTML:
            return render.as_html(report, voice, redact=redact)
        case ReportFormat.PDF:
            from monitor.reporting.pdf import as_pdf

            return as_pdf(render.as_html(report, voice, redact=redact))
        case ReportFormat.MARKDOWN:
            return render.as_markdown(report, voice, redact=redact)
        case ReportFormat.JSON:
            return shape.as_text(redact.value(shape.as_json(report, voice)))
