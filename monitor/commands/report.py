"""`tablewatch report`: write the weekly, monthly or quarterly report."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from monitor.commands._options import Force, Locale, Page, format_for, reading
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

_CURRENT = "current"
"""The name of the period that is not over yet."""

app = typer.Typer(help="Generate reports.", no_args_is_help=True, rich_help_panel="Incidents and cost")


@app.callback()
def _group() -> None:
    """Generate reports."""


_Out = Annotated[
    Path | None,
    typer.Option(help="Write to this file: .html, .htm, .md, .json or .pdf.", show_default="standard output"),
]


_Domain = Annotated[str | None, typer.Option(help="Report the tables of this domain alone.")]
_Owner = Annotated[str | None, typer.Option(help="Report the tables of this owner alone.")]
_Product = Annotated[str | None, typer.Option(help="Report the tables of this data product alone.")]

_Format = Annotated[
    ReportFormat | None,
    typer.Option(
        "--format",
        help="Output format; pdf needs Chromium, Chrome or Edge, and --out.",
        callback=remember_format,
        show_default="by the extension of --out, else html",
    ),
]


@app.command()
def weekly(
    ctx: typer.Context,
    week: Annotated[
        str | None,
        typer.Option(
            metavar="2026-W46", help="ISO week, Monday to Sunday, or 'current'.", show_default="the last complete week"
        ),
    ] = None,
    domain: _Domain = None,
    owner: _Owner = None,
    product: _Product = None,
    out: _Out = None,
    locale: Locale = None,
    output_format: _Format = None,
    force: Force = False,
) -> None:
    """Generate the weekly report: data downtime, its cost, changes and recommended improvements.

    Example: tablewatch report weekly --week 2026-W46 --locale ja --out report.html
    """
    _write(ctx.obj, "weekly", week, _Part(domain, owner, product), Rendering(out, locale, output_format, force))


@app.command()
def monthly(
    ctx: typer.Context,
    month: Annotated[
        str | None,
        typer.Option(metavar="2026-11", help="Calendar month, or 'current'.", show_default="the last complete month"),
    ] = None,
    domain: _Domain = None,
    owner: _Owner = None,
    product: _Product = None,
    out: _Out = None,
    locale: Locale = None,
    output_format: _Format = None,
    force: Force = False,
) -> None:
    """Generate the monthly report: the same sections over a calendar month, and the month before.

    Example: tablewatch report monthly --month 2026-10 --out october.pdf
    """
    _write(ctx.obj, "monthly", month, _Part(domain, owner, product), Rendering(out, locale, output_format, force))


@app.command()
def quarterly(
    ctx: typer.Context,
    quarter: Annotated[
        str | None,
        typer.Option(
            metavar="2026-Q4",
            help="Quarter of a calendar year, or 'current'.",
            show_default="the last complete quarter",
        ),
    ] = None,
    domain: _Domain = None,
    owner: _Owner = None,
    product: _Product = None,
    out: _Out = None,
    locale: Locale = None,
    output_format: _Format = None,
    force: Force = False,
) -> None:
    """Generate the quarterly report: the same sections over a quarter, and the quarter before.

    Example: tablewatch report quarterly --quarter 2026-Q3 --format markdown
    """
    _write(ctx.obj, "quarterly", quarter, _Part(domain, owner, product), Rendering(out, locale, output_format, force))


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


def _write(invocation: Invocation, frequency: str, name: str | None, part: _Part, rendering: Rendering) -> None:
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
    period = _period(project, frequency, name, now)
    report = _build(project, period, now, scope=scope)
    if report.coverage.since is not None and report.coverage.since >= period.end:
        remedy = f"'--{period.unit} current' reports what was found since"
        invocation.note(f"note: the first check ran after {period.unit} {period}; {remedy}")
    localizer = Localizer(rendering.locale or project.config.locale, project.config.timezone)
    page.write(_render(report, localizer, report_format, invocation), invocation)


def _check_pdf(out: Path | None) -> None:
    from monitor.reporting.pdf import browser

    if out is None:
        raise Stop(ExitCode.USAGE, Problem("report.out", "a PDF is written to a file, expected --out FILE.pdf"))
    browser()


def _period(project: "Project", frequency: str, name: str | None, now: "datetime") -> "Period":
    from monitor.reporting.period import PERIODS, PeriodError

    zone = project.config.timezone
    (kind,) = (kind for kind in PERIODS if kind.frequency == frequency)
    if name is None:
        return kind.last_complete(now, zone)
    if name.strip().lower() == _CURRENT:
        return kind.containing(now, zone)
    code = f"report.{kind.unit}"
    try:
        period = kind.parse(name, zone)
    except PeriodError as error:
        raise Stop(ExitCode.USAGE, Problem(code, str(error))) from None
    if period.start > now:
        message = f"{kind.unit} {period} has not started; the current {kind.unit} is {kind.containing(now, zone)}"
        raise Stop(ExitCode.USAGE, Problem(code, message))
    return period


def _build(project: "Project", period: "Period", now: "datetime", *, scope: "ReportScope | None") -> "PeriodReport":
    from monitor.reporting.build import build_report, gather

    with reading(project) as tx:
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
