"""`tablewatch incident`: show incidents, act on them, and log what no check found.

What is done to them is in `monitor.verbs.incident`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from monitor.commands._options import Force, Locale, Page, read_number, reading, typed_times
from monitor.commands._verb_command import add_verbs
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop, sum_up, unknown_name
from monitor.verbs.incident import OPEN, VERBS
from monitor.verbs.words import SeverityWord, StateWord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from incidents import Incident
    from monitor.config.project import Project
    from monitor.summaries.incident import IncidentFigures
    from monitor.triage.incident_editor import IncidentDetail
    from monitor.web.views.incidents import IncidentPage
    from store import Store

Number: TypeAlias = Annotated[int, typer.Argument(metavar="ID", help="Incident number.", parser=read_number)]
_LONG_UNNOTICED_US: Final = 90 * 86_400_000_000

app = typer.Typer(help="List, log and manage incidents.", no_args_is_help=True, rich_help_panel="Incidents and cost")


@app.callback()
def _group() -> None:
    """List, log and manage incidents."""


@app.command("list")
def list_(
    ctx: typer.Context,
    state: Annotated[list[StateWord] | None, typer.Option(help="State; repeatable.")] = None,
    table: Annotated[list[str] | None, typer.Option(help="Table; repeatable.")] = None,
    owner: Annotated[str | None, typer.Option(help="Owner of the table.")] = None,
    severity: Annotated[list[SeverityWord] | None, typer.Option(help="Severity; repeatable.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Open or resolved since: 7d, 2026-11-01, or a time.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of entries, newest first.")] = 50,
) -> None:
    """List incidents, newest first.

    Example: tablewatch incident list --state open --state acknowledged --since 7d
    """
    from dataclasses import replace

    from checks import Severity
    from incidents import State
    from monitor.config.project import Project
    from monitor.summaries.incident import incident_figures
    from monitor.triage.create import unknown_table
    from monitor.web.views.incident_list import IncidentListPage, IncidentQuery, filter_of
    from store import IncidentFilter, IncidentPlace, IncidentSlice

    invocation: Invocation = ctx.obj
    project = Project.of(invocation, lazily=True)
    now = project.clock.now()
    query = IncidentQuery.model_construct(
        state=tuple(map(State, state or ())),
        severity=tuple(map(Severity, severity or ())),
        table=tuple(table or ()),
        owner=() if owner is None else (owner,),
        since=typed_times(project, invocation, now).bound("--since", since),
        size=limit,
    )
    incident_filter = filter_of(project.config, query)
    if incident_filter is None and owner not in project.config.owners:
        raise Stop(ExitCode.USAGE, unknown_name("owner", str(owner), project.config.owners))
    with reading(project) as tx:
        found = [] if incident_filter is None else tx.incidents.matching(replace(incident_filter, limit=limit + 1))
        for name in query.table:  # a table that left the configuration may still have incidents
            problem = unknown_table(name, project.config)
            if problem is not None and not tx.incidents.matching(IncidentFilter(tables=(name,), limit=1)):
                raise Stop(ExitCode.USAGE, problem)
        shown, more = found[:limit], len(found) > limit
        older = IncidentPlace(shown[-1].episodes[0].detected_at, shown[-1].id) if more else None
        page: IncidentListPage | dict[str, object] = (
            IncidentListPage.of(project, tx, query, IncidentSlice(shown, None, older), now)
            if invocation.as_json
            else {}
        )
    invocation.emit(page, lambda console: _draw(console, project, shown, incident_figures(project, shown, now)))
    if more and not invocation.as_json:
        invocation.note(f"note: there are more than {limit}; see --limit")


def _draw(
    console: "Console", project: "Project", incidents: "Sequence[Incident]", figures: "Mapping[int, IncidentFigures]"
) -> None:
    from monitor.summaries.incident import english_title, is_downtime
    from monitor.terminal.tables import draw_table
    from monitor.triage.time_parsing import format_hours, format_time

    if not incidents:
        console.print("no incidents")
        return
    rows = [
        (
            str(incident.id),
            incident.table,
            incident.severity.value,
            ", ".join(word.value for word in (incident.state, incident.resolution) if word is not None),
            format_time(incident.episodes[0].detected_at, project.config.timezone)[4:],
            format_hours(figures[incident.id].downtime_us) if is_downtime(incident) else "not counted",
            english_title(incident),
        )
        for incident in incidents
    ]
    draw_table(console, (">#", "~table", "severity", "state", "detected", ">downtime", "~what"), rows)


@app.command()
def show(
    ctx: typer.Context,
    incident_id: Number,
    sql: Annotated[bool, typer.Option("--sql", help="Show the SELECT of the rows that break its check.")] = False,
) -> None:
    """Show an incident: times and their source, TTD, TTR, cost, history, available actions.

    Example: tablewatch incident show 41
    """
    from monitor.config.project import Project
    from monitor.triage.incident_editor import read_incident_detail

    invocation: Invocation = ctx.obj
    project = Project.of(invocation, lazily=not sql)
    with reading(project) as tx:
        detail = read_incident_detail(tx, incident_id)
    if sql:
        _show_sql(invocation, project, detail.incident)
    else:
        _present(invocation, project, detail, whole=True)


def _show_sql(invocation: Invocation, project: "Project", incident: "Incident") -> None:
    from monitor.scan.violations import NoRows, violations_sql

    try:
        select = violations_sql(project, incident.table, project.check_of(incident), project.clock.now())
    except NoRows as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("incident.sql", str(error))) from None
    result = {"schema": "tablewatch.incident-sql/1", "id": incident.id, "check_id": incident.check_id, "sql": select}
    invocation.emit(result, lambda console: console.print(select, markup=False, highlight=False))


@app.command()
def causes(ctx: typer.Context, incident_id: Number) -> None:
    """List what may have caused an incident: what changed near its beginning, the likeliest first, with the evidence.

    Example: tablewatch incident causes 41
    """
    from monitor.config.project import Project
    from monitor.reporting.terminal_views.incident import incident_headline, show_causes
    from monitor.summaries.causes import IncidentCauseList, causes_of

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with reading(project) as tx:
        incident = tx.incidents.get(incident_id)
        causes_found = causes_of(project, tx, incident)

    def draw(console: "Console") -> None:
        console.print(incident_headline(incident))
        for line in show_causes(causes_found, project.config.timezone):
            console.print(line)

    invocation.emit(lambda: IncidentCauseList.of(incident, causes_found), draw)


@app.command()
def brief(
    ctx: typer.Context,
    incident_id: Number,
    locale: Locale = None,
    post_mortem: Annotated[bool, typer.Option("--post-mortem", help="Write the draft of a post-mortem.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write, else standard output.")] = None,
    force: Force = False,
) -> None:
    """Write an incident as Markdown: a hand-over of one page, or the draft of a post-mortem.

    Example: tablewatch incident brief 41 --out handover.md
    """
    from monitor.config.project import Project
    from monitor.terminal.localizer import Localizer
    from monitor.web.incident_brief import incident_brief

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    page = Page(out, force, project.protected_files, "incident.out")
    page.check()
    localizer = Localizer(locale or project.config.locale, project.config.timezone)
    with reading(project) as tx:
        text = incident_brief(project, tx, incident_id, localizer, post_mortem=post_mortem)
    if invocation.as_json and out is None:
        shape = {
            "schema": "tablewatch.incident-brief/1",
            "id": incident_id,
            "locale": localizer.language,
            "markdown": text,
        }
        invocation.emit(shape, lambda _: None)
    else:
        page.write(text, invocation)


def _present(invocation: Invocation, project: "Project", detail: "IncidentDetail", *, whole: bool = False) -> None:
    """Show an incident: all details, or the last event and the available actions; JSON always has all."""
    from incidents import Resolved
    from incidents.verbs import available
    from monitor.reporting.terminal_views.incident import format_event, incident_headline, incident_lines

    def as_json() -> "IncidentPage":
        from monitor.web.views.incidents import incident_page

        with reading(project) as tx:
            return incident_page(project, tx, detail, project.clock.now())

    def draw(console: "Console") -> None:
        if not whole:
            console.print(incident_headline(detail.incident))
            ends = [event for event in detail.events[-2:] if isinstance(event.change, Resolved)]
            for event in ends if len(ends) == 2 else detail.events[-1:]:  # who corrects an end sees whose it was
                console.print(format_event(event, project.config.timezone))
            console.print(f"  available actions: {', '.join(available(detail.incident))}", style="dim")
            return
        for line in incident_lines(project, detail):
            console.print(line)

    invocation.emit(as_json, draw)
    if project.faults:
        why = sum_up(project.faults)
        invocation.note(f"note: the configuration has errors ({why}), so checks and channels are not shown")


def _present_changed(invocation: Invocation, project: "Project", store: "Store", incident: "Incident") -> None:
    from monitor.triage.incident_editor import read_incident_detail

    with store.reading() as tx:
        detail = read_incident_detail(tx, incident.id)
    _present(invocation, project, detail)


def _present_logged(
    invocation: Invocation, project: "Project", store: "Store", logged: "tuple[Incident, bool]"
) -> None:
    from monitor.triage.incident_editor import alike

    incident, is_new = logged
    if not is_new:
        invocation.note(f"note: already logged as incident #{incident.id}; nothing was changed")
    for note in _warnings(project, incident, alike(store, incident)) if is_new else ():
        invocation.note(f"note: {note}")
    _present_changed(invocation, project, store, incident)


def _warnings(project: "Project", incident: "Incident", alike: "Sequence[int]") -> "Iterator[str]":
    """Yield warnings about likely typing errors in an incident that was just logged."""
    from monitor.summaries.incident import incident_figures
    from monitor.triage.time_parsing import format_hours

    unnoticed = incident_figures(project, [incident])[incident.id].ttd_us
    if unnoticed > _LONG_UNNOTICED_US:
        length = format_hours(unnoticed)
        yield f"time to detection is {length}; to correct it: tablewatch incident correct {incident.id}"
    if alike:
        yield (
            f"incident #{alike[0]}, still open, has the same title; if it is a duplicate: "
            f"tablewatch incident merge {incident.id} {alike[0]}"
        )


add_verbs(app, "incident", [OPEN], _present_logged)
add_verbs(app, "incident", VERBS, _present_changed)
