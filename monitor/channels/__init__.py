"""Send messages: one class for each kind of alert channel.

    `alerts.channels.NAME` of the configuration ─> ChannelKind: settings, secrets, an offline check
    OutgoingMessage ─> ChannelKind.send ─> DeliverySucceeded or DeliveryFailed

In the order of reading: `kind` is what a kind is; `webhook` and `apprise` are kinds that send messages, each a few
lines that other parts of Tablewatch need, and `standard_webhooks` and `apprise_services` send, imported with the first
message. `on_call` names whose channel is used by a calendar. `pagerduty`, `slack`, `jira` and `servicenow` show each
incident as one thing that follows it; `tickets` keeps one ticket for one incident, `json_service` is what the four have
in common. `http_client`, `addresses` and `timed_socket` see to it that no request reaches a private network, and that
all of it has one deadline.

To add a kind, write a file with its class and name the class in `KINDS`.
"""

from typing import Final

from monitor.channels.apprise import AppriseKind
from monitor.channels.jira import JiraKind
from monitor.channels.kind import (
    LONGEST_WAIT,
    Attachment,
    Attempt,
    ChannelKind,
    DeliveryFailed,
    DeliverySucceeded,
    Mail,
    OutgoingMessage,
    SecretPlace,
    SentItem,
    Settings,
    TicketStatus,
)
from monitor.channels.on_call import OnCall, OnCallKind
from monitor.channels.pagerduty import PagerDutyKind
from monitor.channels.servicenow import ServiceNowKind
from monitor.channels.slack import SlackKind
from monitor.channels.tickets import SETTLES_S, TicketKind
from monitor.channels.webhook import Webhook, WebhookKind

KINDS: Final[dict[str, ChannelKind]] = {
    kind.name: kind
    for kind in (AppriseKind(), WebhookKind(), PagerDutyKind(), SlackKind(), JiraKind(), ServiceNowKind(), OnCallKind())
}
"""The kinds by their key in the configuration."""

__all__ = [
    "KINDS",
    "LONGEST_WAIT",
    "SETTLES_S",
    "Attachment",
    "Attempt",
    "ChannelKind",
    "DeliveryFailed",
    "DeliverySucceeded",
    "Mail",
    "OnCall",
    "OutgoingMessage",
    "SecretPlace",
    "SentItem",
    "Settings",
    "TicketKind",
    "TicketStatus",
    "Webhook",
]
