"""The commands of `tablewatch incident` that change an incident."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from monitor.commands._options import By, ResolutionWord, actor, read_number, reading, typed_times
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop, sum_up

if TYPE_CHECKING:
    from rich.console import Console

    from incidents import Incident
    from monitor.config.project import Project
    from monitor.triage.incident_editor import IncidentDetail, IncidentEditor
    from monitor.triage.time_parsing import TypedTimes
    from monitor.web.views.incidents import IncidentPage


Number: TypeAlias = Annotated[int, typer.Argument(metavar="ID", help="Incident number.", parser=read_number)]
Occurred: TypeAlias = Annotated[str | None, typer.Option(metavar="TIME", help="When the problem started.")]
Detected: TypeAlias = Annotated[str | None, typer.Option(metavar="TIME", help="When it was detected.")]


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the group of commands."""
    app.command("ack")(acknowledge)
    app.command()(assign)
    app.command()(snooze)
    app.command()(resolve)
    app.command()(reopen)
    app.command()(correct)
    app.command()(comment)
    app.command()(merge)
    app.command()(root)


def acknowledge(ctx: typer.Context, incident_id: Number, by: By = None) -> None:
    """Acknowledge an incident.

    Example: tablewatch incident ack 41
    """
    _change(ctx, by, lambda editor, _: editor.acknowledge(incident_id))


def assign(
    ctx: typer.Context,
    incident_id: Number,
    assignee: Annotated[str, typer.Argument(metavar="WHO", help="Assignee.")],
    by: By = None,
) -> None:
    """Assign an incident to somebody.

    Example: tablewatch incident assign 41 s.sato
    """
    name = _required_text(assignee, "WHO is empty; write the assignee")
    _change(ctx, by, lambda editor, _: editor.assign(incident_id, name))


def snooze(
    ctx: typer.Context,
    incident_id: Number,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="LENGTH", help="Duration, such as 2h or 1d."),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="End time.")] = None,
    by: By = None,
) -> None:
    """Mute alerts of an incident for a time, or until its severity rises. Its downtime still counts.

    Example: tablewatch incident snooze 41 --for 2h
    """
    if (for_ is None) == (until is None):
        raise Stop(ExitCode.USAGE, Problem("usage", "use either --for or --until", hint="--for 2h"))

    def work(editor: "IncidentEditor", times: "TypedTimes") -> "Incident":
        end = times.moment("--until", until)
        return editor.snooze(incident_id, end or editor.now + times.length("--for", for_ or ""))

    _change(ctx, by, work)


def resolve(
    ctx: typer.Context,
    incident_id: Number,
    as_: Annotated[
        ResolutionWord,
        typer.Option("--as", help="Resolution."),
    ],
    resolved: Annotated[
        str | None, typer.Option(metavar="TIME", help="When the data was correct again; by default now.")
    ] = None,
    cause: Annotated[str | None, typer.Option(help="Root cause.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Resolve even if its check still fails.")] = False,
    by: By = None,
) -> None:
    """Resolve an incident, or correct its resolution.

    `fixed` and `no-action` count as downtime; `expected`, `false-positive` and `duplicate` do not.

    Example: tablewatch incident resolve 41 --as fixed --resolved 2026-11-11T16:28+09:00 --cause 'unit of amounts'
    """
    from incidents import Resolution

    why = None if cause is None else _required_text(cause, "--cause is empty; write the root cause, or omit the option")

    def work(editor: "IncidentEditor", times: "TypedTimes") -> "Incident":
        at = times.moment("--resolved", resolved)
        return editor.resolve(incident_id, Resolution(as_), at=at, cause=why, force=force)

    _change(ctx, by, work)


def reopen(
    ctx: typer.Context, incident_id: Number, occurred: Occurred = None, detected: Detected = None, by: By = None
) -> None:
    """Reopen an incident: a new episode begins. The time in between is healthy and not counted.

    Example: tablewatch incident reopen 41 --occurred 2026-11-12T09:00+09:00
    """

    def work(editor: "IncidentEditor", times: "TypedTimes") -> "Incident":
        began = times.moment("--occurred", occurred)
        return editor.reopen(
            incident_id, detected_at=times.moment("--detected", detected) or editor.now, occurred_at=began
        )

    _change(ctx, by, work)


def correct(
    ctx: typer.Context,
    incident_id: Number,
    occurred: Occurred = None,
    detected: Detected = None,
    resolved: Annotated[str | None, typer.Option(metavar="TIME", help="When the data was correct again.")] = None,
    episode: Annotated[
        int | None, typer.Option(min=1, help="Episode number, 1 is the first; by default the latest.")
    ] = None,
    by: By = None,
) -> None:
    """Correct an incident's timestamps. Past figures change with them; the history keeps the earlier values.

    Example: tablewatch incident correct 41 --occurred 2026-11-11T09:40+09:00
    """
    from incidents import Corrected

    def work(editor: "IncidentEditor", times: "TypedTimes") -> "Incident":
        change = Corrected(
            episode=-1 if episode is None else episode - 1,
            occurred_at=times.moment("--occurred", occurred),
            detected_at=times.moment("--detected", detected),
            resolved_at=times.moment("--resolved", resolved),
        )
        return editor.correct(incident_id, change)

    _change(ctx, by, work)


def comment(
    ctx: typer.Context,
    incident_id: Number,
    text: Annotated[str, typer.Argument(help="Text of the comment.")],
    by: By = None,
) -> None:
    """Add a comment to an incident.

    Example: tablewatch incident comment 41 'the supplier changed the unit'
    """
    wording = _required_text(text, "the comment is empty; write its text")
    _change(ctx, by, lambda editor, _: editor.comment(incident_id, wording))


def merge(
    ctx: typer.Context,
    incident_id: Number,
    into: Annotated[int, typer.Argument(metavar="INTO", help="The incident it duplicates.", parser=read_number)],
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Merge even if they did not overlap in time, or the other is resolved or not counted."
        ),
    ] = False,
    by: By = None,
) -> None:
    """Mark an incident as a duplicate of another on its table: it is resolved, the other one continues.

    Example: tablewatch incident merge 42 41
    """
    from monitor.triage.time_parsing import format_hours

    invocation: Invocation = ctx.obj

    def work(editor: "IncidentEditor", _: "TypedTimes") -> "Incident":
        incident, lost = editor.merge(incident_id, into, force=force)
        if lost:
            invocation.note(
                f"note: {format_hours(lost)} of #{incident_id} are not covered by #{into} and are no longer counted"
            )
        return incident

    _change(ctx, by, work)


def root(
    ctx: typer.Context,
    incident_id: Number,
    cause_id: Annotated[
        int | None, typer.Argument(metavar="CAUSE_ID", help="The incident that is its root cause.", parser=read_number)
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Remove the recorded cause.")] = False,
    by: By = None,
) -> None:
    """Set the root cause of an incident: downtime is then also shown by owner of the root cause.

    Example: tablewatch incident root 42 41
    """
    if (cause_id is None) != none:
        raise Stop(ExitCode.USAGE, Problem("usage", "use either CAUSE_ID or --none", hint="incident root 42 41"))
    _change(ctx, by, lambda editor, _: editor.name_root(incident_id, cause_id))


@contextmanager
def incident_editor(project: "Project", by: str | None, *, existing: bool = True) -> "Iterator[IncidentEditor]":
    """Open the store, which is made if it need not be `existing`, and yield the editor of incidents.

    Raises:
        Stop: the editor refuses a change.
    """
    from monitor.triage.errors import explained
    from monitor.triage.incident_editor import IncidentEditor

    recorded = actor(by)
    with project.open_store(existing=existing) as store, explained(project.config.timezone):
        yield IncidentEditor(project, store, actor=recorded)


def present(
    invocation: Invocation,
    project: "Project",
    detail: "IncidentDetail",
    *,
    whole: bool = False,
) -> None:
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


def _change(ctx: typer.Context, by: str | None, work: "Callable[[IncidentEditor, TypedTimes], Incident]") -> None:
    from monitor.config.project import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation, lazily=True)
    with incident_editor(project, by) as editor:
        times = typed_times(project, invocation, editor.now)
        detail = editor.sheet(work(editor, times))
    present(invocation, project, detail)


def _required_text(text: str, problem: str) -> str:
    from monitor.triage.create import tidy

    trimmed = tidy(text)
    if not trimmed:
        raise Stop(ExitCode.USAGE, Problem("usage", problem))
    return trimmed
