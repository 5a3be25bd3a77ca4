"""A test message to an alert channel, on request of an administrator; sent at once, marked as a test, not stored."""

from typing import Annotated

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict

from monitor.alerts.dispatch import send
from monitor.alerts.trial_message import TrialMessageKind, trial_message
from monitor.channels import DeliveryFailed
from monitor.summaries.shapes import Shape
from monitor.terminal.problem import Problem
from monitor.web.call import Call
from monitor.web.problems import WebError


class ChannelTestBody(BaseModel):
    """The channel to test."""

    model_config = ConfigDict(extra="forbid")

    channel: Annotated[str, MinLen(1), MaxLen(500)]


class SentTest(Shape):
    """The channel that has taken a test message."""

    channel: str


def send_test(call: Call) -> SentTest:
    """Send a test message, once.

    Raises:
        WebError: 404 for no such channel, 502 if it did not take the message.
    """
    channel = call.body.channel
    if channel not in call.project.config.alerts.channels:
        raise WebError(404, Problem("alert.unknown_channel", "there is no such channel in alerts.channels"))
    attempt = send(call.project, trial_message(call.project, channel, TrialMessageKind.INCIDENT, now=call.now))
    if isinstance(attempt, DeliveryFailed):
        raise WebError(502, Problem("alert.not_sent", f"channel '{channel}' could not be reached: {attempt.why}"))
    return SentTest(channel=channel)
