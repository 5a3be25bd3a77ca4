"""Log events around tables, such as deployments."""

from dataclasses import dataclass
from datetime import datetime

from monitor.config.project import Project
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name
from monitor.triage.create import unknown_table
from store import LoggedEvent, LoggedEventKind, NotRecorded, Store


@dataclass(frozen=True, slots=True)
class EventForm:
    """An event that a person logs: at a moment (None: now), about a table, a source, or neither in particular."""

    kind: LoggedEventKind
    note: str
    happened_at: datetime | None = None
    table: str | None = None
    source: str | None = None


def log_event(project: Project, store: Store, form: EventForm, *, actor: str) -> tuple[LoggedEvent, bool]:
    """Log an event; return it, and whether it is new.

    Raises:
        Stop: its table or source is not configured, or its time is in the future.
    """
    check_event(project, form)
    with store.writing() as tx:
        now = tx.schedule.clock(project.clock.now())
        at = form.happened_at or now
        if at > now:
            raise _refused("an event has happened: its time is in the future")
        event = LoggedEvent(form.kind, at, form.table, form.source, form.note, actor, now)
        return tx.logged_events.add(event)


def remove_event(project: Project, store: Store, number: int, *, actor: str) -> LoggedEvent:
    """Record that an event was logged by mistake; return it.

    Raises:
        Stop: there is none of that number.
    """
    try:
        with store.writing() as tx:
            now = tx.schedule.clock(project.clock.now())
            return tx.logged_events.remove(number, actor=actor, recorded_at=now)
    except NotRecorded as error:
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("event.not_found", str(error))) from None


def check_event(project: Project, form: EventForm) -> None:
    """Check that an event can be logged.

    Raises:
        Stop: its table or source is not configured.
    """
    if form.table is not None and form.source is not None:
        raise _refused("an event is of a table or of a source, not of both")
    if form.table is not None and (problem := unknown_table(form.table, project.config)) is not None:
        raise Stop(ExitCode.USAGE, problem)
    if form.source is not None and form.source not in project.config.sources:
        raise Stop(ExitCode.USAGE, unknown_name("source", form.source, project.config.sources))


def _refused(message: str) -> Stop:
    return Stop(ExitCode.USAGE, Problem("event.refused", message))
