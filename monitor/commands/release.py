"""`tablewatch release`: assess, approve and export a table within limits."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from monitor.commands._options import By, Force, Locale, LocaleWord, Page, actor, format_for, note_compiling, reading
from monitor.commands._verb_command import add_verbs
from monitor.terminal.output import Invocation, remember_format
from monitor.terminal.problem import ExitCode, Stop
from monitor.verbs.release import VERBS

if TYPE_CHECKING:
    from monitor.config.project import Project
    from monitor.releases.columns import ReleaseColumns
    from monitor.releases.compare import ReleaseComparison
    from monitor.releases.decisions import ReleaseDecisions
    from monitor.releases.state import ReleaseStanding
    from store import Store


class RecordFormat(StrEnum):
    """Output formats of a record."""

    HTML = "html"
    JSON = "json"


_BY_SUFFIX: Final = {".html": RecordFormat.HTML, ".htm": RecordFormat.HTML, ".json": RecordFormat.JSON}


Name = Annotated[str, typer.Argument(metavar="NAME", help="Configured release.")]
Remedy = Annotated[str, typer.Option(metavar="NAME", help="Remedy of the release, or as-it-is.")]

app = typer.Typer(
    help="Assess a release, compare remedies, approve one, and export a file that passes its limits.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)


@app.callback()
def _group() -> None:
    """Assess a release, compare remedies, approve one, and export a file that passes its limits."""


@app.command()
def assess(ctx: typer.Context, name: Name) -> None:
    """Evaluate the limits of a release on its table; opens or resolves its incidents, as the daemon does.

    Exits with 0 if the release is clear or approved, with 1 if it is on hold, with 3 if it could not be evaluated.

    Example: tablewatch release assess research-extract
    """
    from monitor.releases.assess import assess_release
    from monitor.reporting.terminal_views.release import draw_verdict

    invocation: Invocation = ctx.obj
    with _decisions(invocation, name) as decisions:
        assessed = assess_release(decisions)
    invocation.emit(
        assessed.to_json,
        lambda console: draw_verdict(
            console,
            word=assessed.word,
            why=assessed.why,
            risk_assessment=assessed.assessment,
            warnings=assessed.warnings,
        ),
    )
    raise Stop(assessed.exit_code)


@app.command()
def compare(
    ctx: typer.Context,
    name: Name,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Also write an HTML page with a plot of risk and information loss."
        ),
    ] = None,
    locale: Locale = None,
    force: Force = False,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample", min=1, metavar="N", help="Use a random sample of N rows; by default at most 2 million."
        ),
    ] = None,
) -> None:
    """Compare all remedies on the table: achieved limits, epsilon and information loss.

    Nothing is exported and no budget is charged. Results are computed from the protected table and rounded: they
    are for its steward, not for publication. The store keeps the last ones, for the web page of the release.

    Example: tablewatch release compare research-extract --html comparison.html
    """
    from monitor.commands.privacy.budget import refuse_analysts
    from monitor.releases.compare import LABEL
    from monitor.releases.compare import compare as try_all
    from monitor.releases.plan import TreatmentPlan, kinds_of, plans_of
    from monitor.reporting.terminal_views.release import draw_comparison
    from monitor.terminal.console import progress

    invocation: Invocation = ctx.obj
    with _decisions(invocation, name) as decisions:
        case = decisions.case
    refuse_analysts(case.project, case.target)
    page = Page(html, force, case.project.protected_files, "release.html")
    page.check()
    plans = plans_of(case, kinds_of(case))
    note_compiling(
        invocation, [plan.remedy for plan in plans if isinstance(plan, TreatmentPlan) and plan.remedy is not None]
    )
    with progress("comparing", len(plans)) as advance:
        comparison = try_all(case, plans, done=advance, sample=sample).typed(invocation.typed)
    with _decisions(invocation, name) as decisions, decisions.store.writing() as tx:
        tx.release_events.put_comparison(comparison.to_store(case, case.project.clock.now()))
    if html is not None:
        _write_comparison(invocation, case, comparison, page, locale)
    invocation.emit(
        lambda: {
            "schema": "tablewatch.release-comparison/1",
            "label": LABEL,
            "ok": comparison.recommended is not None,
            "release": name,
            "table": case.release.table,
            "rows": comparison.rows,
            "rows_of_table": comparison.rows_of_table,
            "limits": case.release.limits.model_dump(mode="json", exclude_none=True),
            "remedies": [item.as_json() for item in comparison.tried],
            "recommended": comparison.recommended,
            "reason": comparison.reason,
        },
        lambda console: draw_comparison(console, name, comparison, typed=invocation.typed),
    )


@app.command()
def export(
    ctx: typer.Context,
    name: Name,
    remedy: Remedy,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The .csv or .parquet file to write.")],
    by: By = None,
    hold_back: Annotated[
        bool,
        typer.Option(
            "--hold-back",
            help="Leave out rows that would break a limit together with earlier exports; a later export can include "
            "them.",
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Export an approved release: the file is written, verified, and published only if it meets every limit.

    Example: tablewatch release export research-extract --remedy generalise --out extract.csv
    """
    from monitor.commands._options import with_progress
    from monitor.releases.export import export as export_release
    from monitor.releases.treatment.output import check_not_read, check_place
    from monitor.reporting.terminal_views.release import draw_exported

    invocation: Invocation = ctx.obj
    recorded = actor(by)
    with _decisions(invocation, name) as decisions:
        check_place(out, text=name, force=force, protected=decisions.case.project.protected_files)
        check_not_read(out, decisions.case.place)
        exported = with_progress(
            "exporting",
            lambda tell: export_release(decisions, remedy, out, actor=recorded, progress=tell, hold_back=hold_back),
        )
    result = {
        "schema": "tablewatch.release-export/1",
        "ok": True,
        "release": name,
        "out": str(out),
        "export": exported.event.body,
        "notes": list(exported.notes),
    }
    invocation.emit(result, lambda console: draw_exported(console, exported, str(out)))


@app.command("list")
def list_releases(ctx: typer.Context) -> None:
    """List all releases: state, reason, approval and its expiry, last export.

    Example: tablewatch release list
    """
    from monitor.config.project import Project
    from monitor.releases.record import last_exports, states_now
    from monitor.reporting.terminal_views.release import draw_list, list_as_json

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with reading(project) as tx:
        states, exports = states_now(project, tx), last_exports(tx)
    invocation.emit(
        lambda: list_as_json(states, exports, project.clock.now()), lambda console: draw_list(console, states, exports)
    )


@app.command()
def record(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Release name, including releases no longer configured.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Write to this file: .html, .htm or .json.", show_default="standard output"),
    ] = None,
    locale: Locale = None,
    output_format: Annotated[
        RecordFormat | None,
        typer.Option(
            "--format",
            help="Output format.",
            callback=remember_format,
            show_default="by the extension of --out, else html",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write the record of a release: all decisions and export certificates, newest first.

    Example: tablewatch release record research-extract --out record.html
    """
    from monitor.config.project import Project
    from monitor.releases.record import record_of
    from monitor.reporting.release_record import record_html
    from monitor.reporting.report_json import as_text
    from monitor.terminal.localizer import Localizer

    invocation: Invocation = ctx.obj
    requested = output_format or (RecordFormat.JSON if invocation.as_json else None)
    record_format = format_for(requested, out, _BY_SUFFIX, default=RecordFormat.HTML, code="release.out")
    project = Project.of(invocation)
    page = Page(out, force, project.protected_files, "release.out")
    page.check()
    with reading(project) as tx:
        release_record = record_of(project, tx, name)
    redact = invocation.redactor
    if record_format is RecordFormat.JSON:
        text = as_text(redact.value(release_record.to_json()))
    else:
        localizer = Localizer(locale or project.config.locale, project.config.timezone)
        text = record_html(release_record, localizer, project=project.config.project, redact=redact)
    page.write(text, invocation)


@app.command()
def verify(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An exported file; its name may differ.")],
) -> None:
    """Verify a file against its recorded certificate: content, recomputed k, l and t, and the record itself.

    Exits with 1 if it is not a recorded export, or does not meet what was certified.

    Example: tablewatch release verify extract.csv
    """
    from monitor.config.project import Project
    from monitor.releases.verify_file import verify_file
    from monitor.reporting.terminal_views.release import draw_verification
    from monitor.triage.errors import explained

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with project.open_store(existing=True) as store, explained():
        verification = verify_file(project, store, file)
    code = ExitCode.OK if verification.is_verified else ExitCode.FAILED
    invocation.emit(
        lambda: {**verification.to_json(str(file)), "exit_code": int(code)},
        lambda console: draw_verification(console, verification, str(file)),
    )
    raise Stop(code)


def _write_comparison(
    invocation: Invocation,
    case: "ReleaseColumns",
    release_comparison: "ReleaseComparison",
    page: Page,
    locale: LocaleWord | None,
) -> None:
    from monitor.reporting.release_comparison import comparison_html
    from monitor.terminal.localizer import Localizer

    config = case.project.config
    text = comparison_html(
        case,
        release_comparison,
        Localizer(locale or config.locale, config.timezone),
        project=config.project,
        as_of=case.project.clock.now(),
        redact=invocation.redactor,
    )
    page.write(text, invocation)


@contextmanager
def _decisions(invocation: Invocation, name: str) -> "Iterator[ReleaseDecisions]":
    from monitor.config.project import Project
    from monitor.releases.columns import ReleaseColumns
    from monitor.releases.decisions import ReleaseDecisions
    from monitor.triage.errors import explained

    project = Project.of(invocation)
    with project.open_store() as store, explained():
        yield ReleaseDecisions(ReleaseColumns.of(project, name), store)


def _present(invocation: Invocation, _: "Project", __: "Store", decided: "tuple[str, ReleaseStanding]") -> None:
    from rich.text import Text

    name, release_standing = decided
    result: dict[str, Any] = {
        "schema": "tablewatch.release-decision/1",
        "ok": True,
        "release": name,
        "decision": release_standing.decision.value,
        "remedy": release_standing.remedy,
        "until": None if release_standing.until is None else release_standing.until.isoformat(),
        "said": release_standing.summary,
    }
    invocation.emit(result, lambda console: console.print(Text(f"{name}: {release_standing.summary}")))


add_verbs(app, "release", VERBS, _present)
