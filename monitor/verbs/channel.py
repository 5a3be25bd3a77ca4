"""The verbs of alert channels: send a test message, send a message again, enable a channel that was disabled."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from monitor.verbs.verb import Access, Acting, Body, Name, Query, Typed, Verb

if TYPE_CHECKING:
    from monitor.reporting.model import PeriodReport
    from monitor.summaries.channel import EnabledChannelPage, ResentMessagePage, SentTestPage


class LikeWord(StrEnum):
    """Templates of a test message; those of `monitor.alerts.trial_message.TrialMessageKind`."""

    INCIDENT = "incident"
    RESOLVED = "resolved"
    WARNING = "warning"
    REPORT = "report"


class ChannelName(Query):
    """The name of a channel."""

    name: Annotated[Name, Typed(metavar="CHANNEL")] = Field(description="One of alerts.channels.")


class MessageId(Query):
    """The id of a message."""

    id: Annotated[Name, Typed(metavar="ID")] = Field(description="As `alert log` shows it: msg_...")


class TestBody(Body):
    """The template of a test message."""

    like: LikeWord = Field(LikeWord.INCIDENT, alias="as", description="Message template.")


def _test(acting: Acting, target: ChannelName, body: TestBody) -> "SentTestPage":
    from monitor.alerts.dispatch import send
    from monitor.alerts.trial_message import TrialMessageKind, trial_message
    from monitor.channels import DeliveryFailed
    from monitor.summaries.channel import SentTestPage
    from monitor.terminal.problem import ExitCode, Problem, Stop

    project, channel = acting.project, target.name
    _check_channel(channel, project.config.alerts.channels)
    report = _last_report(acting) if body.like is LikeWord.REPORT else None
    like = TrialMessageKind(body.like)
    message = trial_message(project, channel, like, now=project.clock.now(), report=report)
    attempt = send(project, message)
    if isinstance(attempt, DeliveryFailed):
        text = f"channel '{channel}' could not be reached: {attempt.why}"
        raise Stop(ExitCode.FAILED, Problem("alert.not_sent", text))
    return SentTestPage(channel=channel, id=message.id, like=like.value, title=str(message.payload["title"]))


def _last_report(acting: Acting) -> "PeriodReport":
    from monitor.reporting.build import build_report, gather
    from monitor.reporting.period import Week

    project = acting.project
    now = project.clock.now()
    week = Week.last_complete(now, project.config.timezone)
    with acting.store.reading() as tx:
        return build_report(gather(project, tx, week, now), week)


def _resend(acting: Acting, target: MessageId, _: Body) -> "ResentMessagePage":
    from monitor.summaries.channel import ResentMessagePage
    from monitor.terminal.problem import ExitCode, Problem, Stop
    from store import NotRecorded

    try:
        with acting.store.writing() as tx:
            now = tx.schedule.clock(acting.project.clock.now())
            delivery = tx.deliveries.resend(target.id, now)
            is_disabled = delivery.channel in tx.silences.disabled_channels()
    except NotRecorded as error:
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("alert.not_found", str(error))) from None
    if is_disabled:
        name = delivery.channel
        acting.note(f"note: {name} is disabled; it waits until 'tablewatch alert enable {name}'")
    return ResentMessagePage(channel=delivery.channel, id=delivery.id)


def _enable(acting: Acting, target: ChannelName, _: Body) -> "EnabledChannelPage":
    from monitor.alerts.reminders import decide_again
    from monitor.summaries.channel import EnabledChannelPage

    channel, project = target.name, acting.project
    with acting.store.writing() as tx:
        now, before = tx.schedule.clock(project.clock.now()), tx.silences.disabled_channels()
        _check_channel(channel, [*project.config.alerts.channels, *before])
        tx.silences.enable_channel(channel)
        tx.deliveries.hasten(channel, now)
    decide_again(acting.store, now)
    return EnabledChannelPage(channel=channel, was_disabled=channel in before)


def _check_channel(channel: str, known: Iterable[str]) -> None:
    """Check that a channel is configured.

    Raises:
        Stop: it is not.
    """
    from monitor.terminal.problem import ExitCode, Stop, unknown_name

    channels = list(known)
    if channel not in channels:
        see = "channels are declared under 'alerts.channels'"
        problem = unknown_name("channel", channel, channels, see=see, code="alert.unknown_channel")
        raise Stop(ExitCode.NOTHING_SELECTED, problem)


TEST: Final = Verb(
    "test",
    ChannelName,
    TestBody,
    _test,
    "Send a test message to a channel now, once, and report whether it was delivered",
    "data-team --as resolved",
    "It is marked as a test and not stored. As a report it contains the figures of the last complete week.",
    access=Access.ADMINISTER,
    whole=True,
    creates=True,
    recorded=False,
)
RESEND: Final = Verb(
    "resend",
    MessageId,
    Body,
    _resend,
    "Resend a message under its id, whether it was given up, sent or waits for a retry",
    "msg_0f61c1ddbc8d4b5e8a3c7f10",
    "The daemon sends it; without one, `tablewatch run --once` does.",
    access=Access.ADMINISTER,
    recorded=False,
)
ENABLE: Final = Verb(
    "enable",
    ChannelName,
    Body,
    _enable,
    "Enable a channel again that was disabled: it was gone, or refused its credentials. Waiting messages are sent",
    "audit-hook",
    "It is notified once of open incidents and of resolutions of known incidents, not of incidents it missed entirely.",
    access=Access.ADMINISTER,
    whole=True,
    recorded=False,
)
VERBS: Final = (TEST, RESEND, ENABLE)
