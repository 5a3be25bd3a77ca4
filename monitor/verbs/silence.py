"""The verbs of silences: mute the alerts of a table, a domain or all tables for a while, and end that early."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from monitor.verbs.verb import Acting, Body, Length, Line, Name, Nothing, Number, Query, Time, Typed, Verb

if TYPE_CHECKING:
    from store import Scope, Silence

_LONGEST: Final = timedelta(days=365)


class SilenceNumber(Query):
    """The number of a silence."""

    id: Annotated[Number, Typed(metavar="ID")] = Field(description="Silence number.")


class SilenceBody(Body):
    """Mute the alerts of one of a table, a domain and all tables, for a time or until one."""

    reason: Line = Field(description="Reason; shown in 'alert log'.")
    table: Name | None = Field(None, description="Table.")
    domain: Name | None = Field(None, description="Domain.")
    everything: bool = Field(default=False, alias="all", description="All tables.")
    length: Length | None = Field(None, alias="for", description="Duration, such as 2h or 1d.")
    until: Time | None = Field(None, description="End time.")


def _add(acting: Acting, _: Nothing, body: SilenceBody) -> "Silence":
    from monitor.terminal.problem import ExitCode, Problem, Stop

    project = acting.project
    scope, name = _scope(acting, body)
    _check_tables(acting, scope, name)
    with acting.store.writing() as tx:
        now = tx.schedule.clock(project.clock.now())
        end = acting.end(now, length=body.length, until=body.until)
        if end <= now:
            raise Stop(ExitCode.USAGE, Problem("usage", "a silence must end in the future"))
        if end - now > _LONGEST:
            raise Stop(ExitCode.USAGE, Problem("usage", "a silence lasts at most one year"))
        return tx.silences.add(scope=scope, name=name, starts_at=now, until=end, reason=body.reason, by=acting.actor)


def _scope(acting: Acting, body: SilenceBody) -> "tuple[Scope, str | None]":
    """Return what is to be silent.

    Raises:
        Stop: nothing or several things were named, or one that is not configured.
    """
    from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name
    from monitor.triage.create import unknown_table
    from store import Scope

    config = acting.project.config
    if [body.table is not None, body.domain is not None, body.everything].count(True) != 1:
        words = f"use one of {acting.named('table')}, {acting.named('domain')} and {acting.named('all')}"
        raise Stop(ExitCode.USAGE, Problem("usage", words))
    if body.table is not None:
        if (problem := unknown_table(body.table, config)) is not None:
            raise Stop(ExitCode.USAGE, problem)
        return Scope.TABLE, body.table
    if body.domain is not None:
        if body.domain not in config.domains:
            raise Stop(ExitCode.USAGE, unknown_name("domain", body.domain, config.domains))
        return Scope.DOMAIN, body.domain
    return Scope.ALL, None


def _check_tables(acting: Acting, scope: "Scope", name: str | None) -> None:
    """Check that the actor may act on each table that is silent.

    Raises:
        Stop: the actor may not.
    """
    from store import Scope

    if scope is Scope.TABLE:
        acting.check_table(str(name))  # also one that left the configuration
        return
    for table in acting.project.config.tables:
        if scope is Scope.ALL or name == table.domain:
            acting.check_table(table.name)


def _end(acting: Acting, target: SilenceNumber, _: Body) -> "Silence":
    from monitor.alerts.reminders import decide_again
    from monitor.terminal.problem import ExitCode, Problem, Stop
    from store import NotRecorded

    try:
        with acting.store.reading() as tx:
            silence = tx.silences.get(target.id)
        _check_tables(acting, silence.scope, silence.name)
        with acting.store.writing() as tx:
            now = tx.schedule.clock(acting.project.clock.now())
            silence = tx.silences.end(target.id, now)
    except NotRecorded as error:
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("silence.not_found", str(error))) from None
    decide_again(acting.store, now)
    return silence


ADD: Final = Verb(
    "add",
    Nothing,
    SilenceBody,
    _add,
    "Mute alerts for tables until a given time",
    "--table sales.orders --for 4h --reason 'the loader is being moved'",
    "Incidents still open then are sent; resolutions are always sent.",
    creates=True,
)
END: Final = Verb(
    "end",
    SilenceNumber,
    Body,
    _end,
    "End a silence early; incidents still open are sent",
    "3",
)
