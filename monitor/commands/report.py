"""`tablewatch report`: write the weekly, monthly or quarterly report."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from monitor.commands._options import Force, Locale, Page, format_for, reading
from monitor.terminal.console import activity
from monitor.terminal.output import Invocation, remember_format
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from datetime import datetime

    from monitor.config import Config
    from monitor.config.project import Project
    from monitor.reporting.model import PeriodReport
    from monitor.reporting.period import Period
    from monitor.reporting.scope import ReportScope
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

app = typer.Typer(rich_help_panel="Incidents and cost")


@app.command()
def report(
    ctx: typer.Context,
    period: Annotated[
        str,
        typer.Option(
            metavar="weekly",
            help="weekly, monthly, quarterly: the last complete one. Or a period: 2026-W46, 2026-11, 2026-Q4, "
            "current-week, current-month, current-quarter.",
        ),
    ] = "weekly",
    domain: Annotated[str | None, typer.Option(help="Report the tables of this domain alone.")] = None,
    owner: Annotated[str | None, typer.Option(help="Report the tables of this owner alone.")] = None,
    product: Annotated[str | None, typer.Option(help="Report the tables of this data product alone.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write to this file: .html, .htm, .md, .json or .pdf.", show_default="standard output"),
    ] = None,
    locale: Locale = None,
    output_format: Annotated[
        ReportFormat | None,
        typer.Option(
            "--format",
            help="Output format; pdf needs Chromium, Chrome or Edge, and --out.",
            callback=remember_format,
            show_default="by the extension of --out, else html",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write the report of a week, month or quarter: data downtime, its cost, changes, recommended improvements.

    A week is an ISO week, Monday to Sunday; weeks, months and quarters are those of the project's time zone.

    Example: tablewatch report --period 2026-W46 --locale ja --out report.html
    """
    _write(ctx.obj, period, _Part(domain, owner, product), Rendering(out, locale, output_format, force))


class _Part(NamedTuple):
    """What a report is about: the tables of at most one of these."""

    domain: str | None
    owner: str | None
    product: str | None

    def scope(self, config: "Config") -> "ReportScope | None":
        """Return what is meant in the configuration; None is everything."""
        from monitor.reporting.scope import ReportScope, ScopeKind

        keys = {kind: key for kind, key in self._asdict().items() if key is not None}
        if len(keys) > 1:
            raise Stop(ExitCode.USAGE, Problem("usage", "use at most one of --domain, --owner and --product"))
        return next((ReportScope.of(config, ScopeKind(kind), key) for kind, key in keys.items()), None)


class Rendering(NamedTuple):
    """Where a report goes, in which language and format."""

    out: Path | None
    locale: str | None
    output_format: ReportFormat | None
    force: bool


def _write(invocation: Invocation, name: str, part: _Part, rendering: Rendering) -> None:
    from monitor.config.project import Project
    from monitor.terminal.localizer import Localizer

    out = rendering.out
    requested = rendering.output_format or (ReportFormat.JSON if invocation.as_json else None)
    report_format = format_for(requested, out, _BY_SUFFIX, default=ReportFormat.HTML, code="report.out")
    if report_format is ReportFormat.PDF:
        _check_pdf(out)
    project = Project.of(invocation)
    page = Page(out, rendering.force, project.protected_files, "report.out")
    page.check()
    now = project.clock.now()
    scope = part.scope(project.config)
    period = _period(project, name, now)
    report = _build(project, period, now, scope=scope)
    if report.coverage.since is not None and report.coverage.since >= period.end:
        remedy = f"'--period current-{period.unit}' reports what was found since"
        invocation.note(f"note: the first check ran after {period.unit} {period}; {remedy}")
    localizer = Localizer(rendering.locale or project.config.locale, project.config.timezone)
    page.write(_render(report, localizer, report_format, invocation), invocation)


def _check_pdf(out: Path | None) -> None:
    from monitor.reporting.pdf import browser

    if out is None:
        raise Stop(ExitCode.USAGE, Problem("report.out", "a PDF is written to a file, expected --out FILE.pdf"))
    browser()


def _period(project: "Project", name: str, now: "datetime") -> "Period":
    from monitor.reporting.period import PERIODS, PeriodError, parse_period

    zone, word = project.config.timezone, name.strip().lower()
    for kind in PERIODS:
        if word == kind.frequency:
            return kind.last_complete(now, zone)
        if word == f"current-{kind.unit}":
            return kind.containing(now, zone)
    try:
        period = parse_period(name, zone)
    except PeriodError as error:
        raise Stop(ExitCode.USAGE, Problem("report.period", str(error))) from None
    if period.start > now:
        current = type(period).containing(now, zone)
        message = f"{period.unit} {period} has not started; the current {period.unit} is {current}"
        raise Stop(ExitCode.USAGE, Problem("report.period", message))
    return period


def _build(project: "Project", period: "Period", now: "datetime", *, scope: "ReportScope | None") -> "PeriodReport":
    from monitor.reporting.build import build_report, gather

    with reading(project) as tx, activity("building the report"):
        return build_report(gather(project, tx, period, now, scope=scope), period)


def _render(
    report: "PeriodReport", localizer: "Localizer", report_format: ReportFormat, invocation: Invocation
) -> str | bytes:
    from monitor.reporting import render
    from monitor.reporting import report_json as shape

    redact = invocation.redactor
    match report_format:
        case ReportFormat.HTML:
            return render.as_html(report, localizer, redact=redact)
        case ReportFormat.PDF:
            from monitor.reporting.pdf import as_pdf

            return as_pdf(render.as_html(report, localizer, redact=redact))
        case ReportFormat.MARKDOWN:
            return render.as_markdown(report, localizer, redact=redact)
        case ReportFormat.JSON:
            return shape.as_text(redact.value(shape.as_json(report, localizer)))
