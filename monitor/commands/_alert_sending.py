"""What people do about messages: try a channel out, send one again, take a channel into use again."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.frame.output import Invocation
from monitor.frame.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.reports.value import WeeklyReport
    from monitor.wiring import Project


class LikeWord(StrEnum):
    """What a test looks like; the words of `monitor.alerts.trial.Like`."""

    INCIDENT = "incident"
    RESOLVED = "resolved"
    REPORT = "report"


def add_delivery_commands(app: typer.Typer) -> None:
    """Add the commands to the group."""
    app.command("test")(try_out)
    app.command()(resend)
    app.command()(enable)


def try_out(
    ctx: typer.Context,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="One of alerts.channels.")],
    like: Annotated[LikeWord, typer.Option("--as", help="What the message looks like.")] = LikeWord.INCIDENT,
) -> None:
    """Send a message to a channel now, once, and say what came of it.

    It is marked as a test, and nothing of it is kept. As a report it holds the figures of the last week that is over.

    Example: tablewatch alert test data-team --as resolved
    """
    from monitor.alerts.attempt import DeliveryFailed
    from monitor.alerts.dispatch import send
    from monitor.alerts.trial import TrialMessageKind, trial_message
    from monitor.wiring import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    _require(channel, project.config.alerts.channels)
    now = project.clock.now()
    report = _last_report(project) if like is LikeWord.REPORT else None
    message = trial_message(project, channel, TrialMessageKind(like), now=now, report=report)
    attempt = send(project, message)
    if isinstance(attempt, DeliveryFailed):
        said = f"channel '{channel}' did not get the message: {attempt.why}"
        raise Stop(ExitCode.FAILED, Problem("alert.not_sent", said))
    result = {"schema": "tablewatch.alert-test/1", "ok": True, "channel": channel, "id": message.id, "as": str(like)}
    invocation.emit(result, lambda console: console.print(f"sent to {channel}: {message.payload['title']}"))


def _last_report(project: "Project") -> "WeeklyReport":
    from monitor.desk.refusals import explained
    from monitor.reports.build import build_weekly
    from monitor.reports.gather import gather
    from monitor.reports.week import Week

    now = project.clock.now()
    week = Week.last_complete(now, project.config.timezone)
    with project.open_store() as store, explained(), store.reading() as view:
        return build_weekly(gather(project, view, week, now), week)


def resend(
    ctx: typer.Context,
    message: Annotated[str, typer.Argument(metavar="ID", help="As `alert log` shows it: msg_...")],
) -> None:
    """Have a message sent again under its id, however far it was: given up, sent, or waiting for its next try.

    The daemon sends it; without one, `tablewatch run --once` does.

    Example: tablewatch alert resend msg_0f61c1ddbc8d4b5e8a3c7f10
    """
    from monitor.desk.refusals import explained
    from monitor.wiring import Project
    from store import NotRecorded

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with project.open_store() as store, explained():
        try:
            with store.writing() as book:
                known = book.resend(message, book.clock(project.clock.now()))
                is_disabled = known.channel in book.disabled_channels()
        except NotRecorded as error:
            raise Stop(ExitCode.NOTHING_SELECTED, Problem("alert.not_found", str(error))) from None
    result = {"schema": "tablewatch.alert-resend/1", "ok": True, "channel": known.channel, "id": known.id}
    invocation.emit(result, lambda console: console.print(f"{known.id} is to be sent to {known.channel} again"))
    if is_disabled and not invocation.as_json:
        invocation.note(f"note: {known.channel} is disabled; it waits until 'tablewatch alert enable {known.channel}'")


def enable(
    ctx: typer.Context,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="One of alerts.channels.")],
) -> None:
    """Use a channel again whose other end said that it is gone (410); what waits for it is sent.

    It is told, once, of what lasts and of the end of what it knew; not of what began and ended meanwhile.

    Example: tablewatch alert enable audit-hook
    """
    from monitor.alerts.announce import decide_again
    from monitor.desk.refusals import explained
    from monitor.wiring import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with project.open_store() as store, explained():
        with store.writing() as book:
            now, before = book.clock(project.clock.now()), book.disabled_channels()
            _require(channel, [*project.config.alerts.channels, *before])
            book.enable_channel(channel)
            book.hasten(channel, now)
        decide_again(store, now)
    was = before.get(channel)
    result = {"schema": "tablewatch.alert-enable/1", "ok": True, "channel": channel, "was_disabled": was is not None}
    said = f"{channel} is used again" if was is not None else f"{channel} was not disabled"
    invocation.emit(result, lambda console: console.print(said))


def _require(channel: str, known: "Iterable[str]") -> None:
    """Leave if a channel is not known.

    Raises:
        Stop: it is not.
    """
    from checks import did_you_mean

    names = list(known)
    if channel not in names:
        hint = f"the channels are {', '.join(names)}" if names else "alerts.channels names none"
        said = f"channel '{channel}' not found{did_you_mean(channel, names)}"
        raise Stop(ExitCode.USAGE, Problem("alert.unknown_channel", said, hint=hint))
