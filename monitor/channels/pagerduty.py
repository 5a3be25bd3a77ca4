"""PagerDuty: an incident is an alert of a service (Events API v2), triggered, acknowledged and resolved."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from monitor.channels.kind import Attempt, ChannelKind, DeliverySucceeded, OutgoingMessage, SecretPlace, Settings

if TYPE_CHECKING:
    from monitor.channels.json_service import IncidentNews

_LONGEST_SUMMARY: Final = 1_024
_KEY_LETTERS: Final = 32
_DETAILS: Final = (
    *("id", "table", "check_id", "kind", "state", "owner", "domain", "tier", "reason", "episode", "regressed"),
    *("occurred_at", "detected_at", "downtime_h", "cost", "runbook"),
)


class PagerDuty(Settings):
    """A PagerDuty service with an Events API v2 integration."""

    routing_key: str = Field(description="The integration key, 32 characters.")
    url: Annotated[str, Field(pattern="^https?://[^@ ]+$")] = Field(
        "https://events.pagerduty.com/v2/enqueue", description="Address of the API; events.eu.pagerduty.com in Europe."
    )
    allow_private: bool = Field(default=False, description="Whether the address may lie in a private network.")


class PagerDutyKind(ChannelKind):
    """An alert for each episode of an incident."""

    name = "pagerduty"
    settings = PagerDuty
    description = "PagerDuty, Events API v2."
    secrets = (SecretPlace(("routing_key",)),)
    follows = True

    def problem(self, settings: PagerDuty) -> str | None:
        """Check the form of the key, and that it is not sent in the clear."""
        from monitor.channels.json_service import sends_in_the_clear

        if len(settings.routing_key) != _KEY_LETTERS:
            return f"a routing key has {_KEY_LETTERS} characters, this one has {len(settings.routing_key)}"
        return sends_in_the_clear(settings.url)

    def send(self, settings: PagerDuty, message: OutgoingMessage) -> Attempt:
        """Send the events that update the alert to the state of the incident; each may be sent twice without harm."""
        from monitor.channels.json_service import IncidentNews, JsonService, ServiceRefused

        service, news = JsonService("PagerDuty", message, settings.allow_private), IncidentNews.of(message)
        try:
            for event in events_of(news, source=str(message.payload.get("project", "tablewatch"))):
                service.call("POST", settings.url, {"routing_key": settings.routing_key, **event})
        except ServiceRefused as error:
            return error.failure
        return DeliverySucceeded(item=news.sent_item.label)


def events_of(news: "IncidentNews", *, source: str) -> Iterator[Mapping[str, Any]]:
    """Yield the events that update an alert to the state of its incident.

    The key of an alert is that of the incident with the number of the episode: an event about one episode that comes
    late, or again, does nothing to the next.
    """
    episode = 1 if news.incident is None else news.incident["episode"]
    key = f"{news.sent_item.label}-{episode}"
    known = news.sent_item.item is not None
    if news.is_over and not (known or news.is_test):
        return  # it was over before a page was sent
    if not known or news.reason not in {"acknowledged", "resolved"}:
        yield {"event_action": "trigger", "dedup_key": key, **_alert(news, source)}
    if news.is_over or news.is_test:
        yield {"event_action": "resolve", "dedup_key": key}
    elif news.is_acknowledged:
        yield {"event_action": "acknowledge", "dedup_key": key}


def _alert(news: "IncidentNews", source: str) -> Mapping[str, Any]:
    incident = news.incident or {}
    payload = {
        "summary": news.title[:_LONGEST_SUMMARY],
        "source": source,
        "severity": "info" if news.is_test else news.severity,
        "component": incident.get("table"),
        "group": incident.get("domain"),
        "class": incident.get("check_id"),
        "timestamp": incident.get("this_episode", {}).get("detected_at"),
        "custom_details": {name: incident[name] for name in _DETAILS if incident.get(name) is not None},
    }
    links = [{"href": news.page, "text": "Tablewatch"}] if news.page else []
    return {
        "payload": {name: value for name, value in payload.items() if value},
        "client": "Tablewatch",
        "links": links,
    }
