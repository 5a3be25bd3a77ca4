"""Call JSON APIs of services with an item for each incident, and read the one incident of a message.

ServiceRefused      a request failed, or its result is not known; it has the `DeliveryFailed`
"""

import base64
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from monitor.channels.addresses import Network
from monitor.channels.http_client import HttpAnswer, HttpRequest, RequestFailed, exchange, read_retry_after
from monitor.channels.kind import DeliveryFailed, OutgoingMessage, SentItem

_FIELD_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")


class ServiceRefused(Exception):
    """A request failed, or its result is not known."""

    def __init__(self, failure: DeliveryFailed) -> None:
        super().__init__(failure.why)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class JsonService:
    """A service for one attempt: its name in errors, and the headers of all requests."""

    name: str
    message: OutgoingMessage
    allow_private: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    def call(
        self, method: str, url: str, content: Mapping[str, Any] | None = None, *, expects: Collection[int] = ()
    ) -> HttpAnswer:
        """Send a request and return its answer: with status 2xx, or one of `expects`.

        Raises:
            ServiceRefused: any other answer, or none.
        """
        body = b"" if content is None else json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
        network = replace(self.message.network or Network(), allow_private=self.allow_private)
        headers = {"Accept": "application/json", **self.headers}
        try:
            answer = exchange(HttpRequest(url, body, method, headers), network)
        except RequestFailed as error:
            raise ServiceRefused(DeliveryFailed(str(error))) from None
        if not 200 <= answer.status < 300 and answer.status not in expects:
            raise ServiceRefused(self._refusal(answer))
        return answer

    def _refusal(self, answer: HttpAnswer) -> DeliveryFailed:
        text = f"{self.name} answered {answer.status}"
        match answer.status:
            case 401:
                return DeliveryFailed(f"{text}: it does not accept the credentials", gone=True)
            case 400 | 413 | 422:
                return DeliveryFailed(f"{text}: it does not accept the request{_fields_of(answer)}", permanent=True)
            case status if 300 <= status < 400:
                return DeliveryFailed(f"{text}: redirects are not followed; update the address in the configuration")
        return DeliveryFailed(text, retry_after=read_retry_after(answer.retry_after, self.message.now))


def _fields_of(answer: HttpAnswer) -> str:
    """Return the refused fields as text; nothing else of an answer is quoted."""
    errors = answer.json().get("errors")
    names = [name for name in errors if _FIELD_NAME.fullmatch(name)] if isinstance(errors, dict) else []
    return f" (fields {', '.join(sorted(names)[:10])})" if names else ""


def basic(user: str, password: str) -> Mapping[str, str]:
    """Return the header of HTTP basic authentication."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def sends_in_the_clear(url: str) -> str | None:
    """Return the problem of an address over which a secret would be sent unencrypted; None if it is encrypted."""
    if url.startswith("https://") or re.match(r"http://(127\.|localhost[:/])", f"{url}/"):
        return None
    return "its address does not begin with https://, so that its secret would be sent unencrypted"


@dataclass(frozen=True, slots=True)
class IncidentNews:
    """The content of a message, and its one incident; `incident` is None if it is about something else.

    A message about something else, or several incidents, has an item of its own in the service.
    """

    title: str
    text: str
    sent_item: SentItem
    incident: Mapping[str, Any] | None
    is_test: bool

    @classmethod
    def of(cls, message: OutgoingMessage) -> Self:
        """Return the content of a message."""
        payload, mail = message.payload, message.mail()
        subject, incidents = payload.get("subject"), payload.get("incidents", ())
        incident = incidents[0] if subject in {"incidents", "test"} and len(incidents) == 1 else None
        is_test = subject == "test"
        other = SentItem(message.id, None, None if is_test else float("inf"))
        return cls(mail.title, mail.text, message.sent_item or other, incident, is_test)

    @property
    def reason(self) -> str:
        """Return the reason of the notification."""
        return "first" if self.incident is None else str(self.incident["reason"])

    @property
    def is_over(self) -> bool:
        """Check whether the incident is over."""
        return self.incident is not None and bool(self.incident["over"])

    @property
    def is_acknowledged(self) -> bool:
        """Check whether the incident is acknowledged."""
        return self.incident is not None and self.incident["state"] == "acknowledged"

    @property
    def severity(self) -> str:
        """Return the severity of the incident."""
        return "info" if self.incident is None else str(self.incident["severity"])

    @property
    def page(self) -> str | None:
        """Return the address of the incident in the web application, if there is one."""
        return None if self.incident is None else self.incident["page"]
