"""Send messages: one class for each kind of alert channel.

    `alerts.channels.NAME` of the configuration ─> ChannelKind: settings, secrets, an offline check
    OutgoingMessage ─> ChannelKind.send ─> DeliverySucceeded or DeliveryFailed

In the order of reading: `kind` is what a kind is; `webhook` and `apprise` are kinds that send messages, each a few
lines that other parts of Tablewatch need, and `standard_webhooks` and `apprise_services` send, imported with the first
message. `on_call` names whose channel is used by a calendar. `pagerduty`, `slack`, `jira` and `servicenow` show each
incident as one thing that follows it; `tickets` keeps one ticket for one incident, `json_service` is what the four have
in common. `http_client`, `addresses` and `timed_socket` see to it that no request reaches a private network, and that
all of it has one deadline.

To add a kind, write a file with its class and name the class in `OWN_KINDS`. Other distributions add kinds by entry
points (docs/plugins.md).
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Final

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
from sources import Plugin, PluginError, PluginGroup, usable_plugins

OWN_KINDS: Final[dict[str, ChannelKind]] = {
    kind.name: kind
    for kind in (AppriseKind(), WebhookKind(), PagerDutyKind(), SlackKind(), JiraKind(), ServiceNowKind(), OnCallKind())
}
NO_NAMES: Final = frozenset({*OWN_KINDS, "locale"})
"""Keys of a channel that no other distribution can take."""


class UnavailableKind(ChannelKind):
    """A kind of another distribution that cannot be loaded: nothing is sent, and all of its settings are secret."""

    settings = dict[str, Any] | str
    secrets = (SecretPlace(),)
    why: ClassVar[str]

    @classmethod
    def of(cls, name: str, why: str) -> ChannelKind:
        """Return the kind of a name, with why it cannot be loaded."""
        kind: ChannelKind = type(cls.__name__, (cls,), {"name": name, "why": why})()
        return kind

    def problem(self, settings: Any) -> str | None:
        """Return why it cannot be loaded."""
        del settings
        return self.why

    def send(self, settings: Any, message: OutgoingMessage) -> Attempt:
        """Return that nothing was sent; at a later attempt it may be installed."""
        del settings, message
        return DeliveryFailed(self.why)


def kind_of_plugin(plugin: Plugin) -> ChannelKind:
    """Return a kind of channel of another distribution.

    Raises:
        PluginError: it cannot be loaded, or is no kind of this name.
    """
    kind: ChannelKind = plugin.load(ChannelKind)
    if kind.name != plugin.name:
        raise PluginError(f"{plugin} calls itself '{kind.name}'; its entry point has to have that name")
    return kind


def _kinds_of_plugins() -> Iterator[ChannelKind]:
    for name, plugin in usable_plugins(PluginGroup.CHANNELS, NO_NAMES).items():
        try:
            yield kind_of_plugin(plugin)
        except PluginError as error:
            yield UnavailableKind.of(name, str(error))


KINDS: Final[dict[str, ChannelKind]] = {**OWN_KINDS, **{kind.name: kind for kind in _kinds_of_plugins()}}
"""The kinds by their key in the configuration, those of other distributions last."""

__all__ = [
    "KINDS",
    "LONGEST_WAIT",
    "NO_NAMES",
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
    "kind_of_plugin",
]
