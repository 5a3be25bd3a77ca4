"""How a message leaves: one class for each kind of alert channel.

    `alerts.channels.NAME` of the configuration ─> ChannelKind: settings, secrets, an offline check
    OutgoingMessage ─> ChannelKind.send ─> DeliverySucceeded or DeliveryFailed

In the order of reading: `kind` is what a kind is; `webhook` and `apprise` are the kinds, each a few lines that other
parts of Tablewatch need, and `standard_webhooks` and `apprise_services` send, imported with the first message;
`addresses` and `timed_socket` see to it that no webhook reaches a private network, and that all of it has one deadline.

To add a kind, write a file with its class and name the class in `KINDS`.
"""

from typing import Final

from monitor.channels.apprise import AppriseKind
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
    Settings,
)
from monitor.channels.webhook import Webhook, WebhookKind

KINDS: Final[dict[str, ChannelKind]] = {kind.name: kind for kind in (AppriseKind(), WebhookKind())}
"""The kinds by their key in the configuration."""

__all__ = [
    "KINDS",
    "LONGEST_WAIT",
    "Attachment",
    "Attempt",
    "ChannelKind",
    "DeliveryFailed",
    "DeliverySucceeded",
    "Mail",
    "OutgoingMessage",
    "SecretPlace",
    "Settings",
    "Webhook",
]
