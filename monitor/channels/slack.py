"""Slack by a bot: an incident is one message, which is updated in place."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from monitor.channels.kind import (
    Attempt,
    ChannelKind,
    DeliveryFailed,
    DeliverySucceeded,
    OutgoingMessage,
    SecretPlace,
    Settings,
)

if TYPE_CHECKING:
    from monitor.channels.json_service import IncidentNews, JsonService

_LONGEST_SECTION: Final = 3_000
_LOST: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "message_deleted"})
"""Why a message cannot be updated, so that a new one is posted."""
_LOCKED_OUT: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "no_permission"}
)
_CHANNEL: Final[Mapping[str, str]] = {
    "channel_not_found": "the channel is not found; give its id, and invite the bot if it is private",
    "not_in_channel": "the bot is not in the channel; invite it",
    "is_archived": "the channel is archived",
    "missing_scope": "the bot needs the scope chat:write",
}
_UNREADABLE: Final = frozenset({"msg_too_long", "invalid_blocks", "invalid_arguments", "no_text"})


class Slack(Settings):
    """A channel in Slack, through a bot with the scope `chat:write`."""

    token: str = Field(description="The bot's token, xoxb-...")
    channel: Annotated[str, Field(pattern="^[CGD][A-Z0-9]+$")] = Field(description="Id of the channel: C0123ABCD.")
    url: Annotated[str, Field(pattern="^https?://[^@ ]+$")] = Field(
        "https://slack.com/api", description="Address of Slack's Web API."
    )
    allow_private: bool = Field(default=False, description="Whether the address may lie in a private network.")


class SlackKind(ChannelKind):
    """A message for each incident, updated in place."""

    name = "slack"
    settings = Slack
    description = "Slack, with a bot; for an incoming webhook use `apprise`."
    secrets = (SecretPlace(("token",)),)
    follows = True

    def problem(self, settings: Slack) -> str | None:
        """Check the form of the token, and that it is not sent in the clear."""
        from monitor.channels.json_service import sends_in_the_clear

        if not settings.token.startswith("xoxb-"):
            return "a bot's token begins with xoxb-"
        return sends_in_the_clear(settings.url)

    def target(self, settings: Slack) -> str:
        """Return the channel: in another one an incident is posted again."""
        return f"slack {settings.channel}"

    def send(self, settings: Slack, message: OutgoingMessage) -> Attempt:
        """Update the message of the incident, or post one."""
        from monitor.channels.json_service import IncidentNews, JsonService, ServiceRefused

        bot = {"Authorization": f"Bearer {settings.token}", "Content-Type": "application/json; charset=utf-8"}
        service, news = JsonService("Slack", message, settings.allow_private, bot), IncidentNews.of(message)
        content = {"channel": settings.channel, "text": _escaped(news.title), "blocks": _blocks(news)}
        try:
            if news.sent_item.item is not None:
                ts = news.sent_item.item
                updated = _call(service, f"{settings.url}/chat.update", {**content, "ts": ts})
                if updated.get("error") not in _LOST:
                    return _judged(updated)
            return _judged(_call(service, f"{settings.url}/chat.postMessage", {**content, "unfurl_links": False}))
        except ServiceRefused as error:
            return error.failure


def _call(service: "JsonService", url: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
    return service.call("POST", url, content).json()


def _judged(answer: Mapping[str, Any]) -> Attempt:
    if answer.get("ok") is True and isinstance(answer.get("ts"), str):
        return DeliverySucceeded(item=answer["ts"])
    error = answer.get("error")
    if error in _LOCKED_OUT:
        return DeliveryFailed(f"Slack does not accept the token ({error})", gone=True)
    if error in _CHANNEL:
        return DeliveryFailed(f"Slack: {_CHANNEL[str(error)]} ({error})")
    if error in _UNREADABLE:
        return DeliveryFailed(f"Slack does not accept the message ({error})", permanent=True)
    return DeliveryFailed("Slack did not take the message")


def _blocks(news: "IncidentNews") -> Sequence[Mapping[str, Any]]:
    text = _escaped(news.text)
    body = f"{text[: _LONGEST_SECTION - 1]}…" if len(text) > _LONGEST_SECTION else text
    parts = [f"*{_escaped(news.title)}*", body]
    if news.page is not None:
        parts.append(f"<{news.page}|{_escaped(str((news.incident or {})['page_label']))}>")
    return [{"type": "section", "text": {"type": "mrkdwn", "text": part}} for part in parts]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
