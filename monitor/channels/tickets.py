"""Keep one ticket for an incident, whatever dies in between.

Before a ticket is made, its label is in the store (`SentItem.label`), and it carries that label. Whoever comes after an
attempt of which nobody knows how it ended looks for the label first. A service may need a moment until a search finds
what it made, or be still at work on a request whose answer was not waited for: so long after the last attempt that may
have made it (`SentItem.tried_s`), a search that finds nothing proves nothing, and no ticket is made (`SETTLES_S`).
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from monitor.channels.kind import (
    Attempt,
    ChannelKind,
    DeliveryFailed,
    DeliverySucceeded,
    Mail,
    OutgoingMessage,
    TicketStatus,
)

if TYPE_CHECKING:
    from monitor.channels.addresses import Network
    from monitor.channels.json_service import IncidentNews

SETTLES_S: Final = 120.0
"""Seconds after which a search finds a ticket that an earlier attempt made, if it did."""


_UNREADABLE: Final = DeliveryFailed("the answer does not have the documented form; is this the service's address?")


class TicketService(ABC):
    """A ticket system for one attempt. Every method raises `ServiceRefused`."""

    @abstractmethod
    def find(self, label: str) -> str | None:
        """Return the ticket with a label; None if a search finds none."""

    @abstractmethod
    def create(self, news: "IncidentNews") -> str:
        """Make a ticket with the label, and return what it is called."""

    @abstractmethod
    def comment(self, ticket: str, news: "IncidentNews") -> None:
        """Write what a message says on a ticket."""

    @abstractmethod
    def close(self, ticket: str, news: "IncidentNews") -> None:
        """Close a ticket that is not closed."""

    @abstractmethod
    def reopen(self, ticket: str) -> TicketStatus:
        """Open a closed ticket again, if its workflow allows it, and return how it stands."""

    @abstractmethod
    def statuses(self, labels: Collection[str]) -> Mapping[str, TicketStatus]:
        """Return how tickets stand, by label; those that a search does not find are left out."""


class TicketKind(ChannelKind):
    """A ticket for each incident, and its status read back."""

    follows = True
    at_once: ClassVar[int] = 50
    """How many statuses are read with one request."""

    def problem(self, settings: Any) -> str | None:
        """Check that the secret is not sent in the clear."""
        from monitor.channels.json_service import sends_in_the_clear

        return sends_in_the_clear(settings.url)

    @abstractmethod
    def service(self, settings: Any, message: OutgoingMessage) -> TicketService:
        """Return the service for one attempt."""

    def send(self, settings: Any, message: OutgoingMessage) -> Attempt:
        """Bring the ticket to where the incident stands; make it, if there is none."""
        from monitor.channels.json_service import IncidentNews, ServiceRefused

        try:
            return _follow(self.service(settings, message), IncidentNews.of(message))
        except ServiceRefused as error:
            return error.failure
        except (KeyError, TypeError):
            return _UNREADABLE

    def statuses(
        self, settings: Any, labels: Sequence[str], *, now: datetime, network: "Network | None" = None
    ) -> "Mapping[str, TicketStatus] | DeliveryFailed":
        """Return how tickets stand, by label, at most `at_once` of them; or why that could not be read."""
        from monitor.channels.json_service import ServiceRefused

        message = OutgoingMessage("", {}, now, mail=lambda: Mail("", ""), network=network)
        try:
            return self.service(settings, message).statuses(labels)
        except ServiceRefused as error:
            return error.failure
        except (KeyError, TypeError):
            return _UNREADABLE


def _follow(service: TicketService, news: "IncidentNews") -> DeliverySucceeded:
    ticket, status = news.sent_item.item, None
    if ticket is None:
        ticket = _found(service, news)
    if ticket is None:
        ticket, status = service.create(news), TicketStatus.NEW
    elif news.sent_item.item is not None or news.reason != "first":
        service.comment(ticket, news)
    if news.is_over or news.is_test:
        service.close(ticket, news)
        status = TicketStatus.CLOSED
    elif news.reason == "reopened":
        status = service.reopen(ticket)
    return DeliverySucceeded(item=ticket, status=status)


def _found(service: TicketService, news: "IncidentNews") -> str | None:
    """Return the ticket that an earlier attempt made; None if there is none.

    Raises:
        ServiceRefused: that is not known yet.
    """
    from monitor.channels.json_service import ServiceRefused

    tried_s = news.sent_item.tried_s
    if tried_s is None:
        return None
    ticket = service.find(news.sent_item.label)
    if ticket is None and tried_s < SETTLES_S:
        why = "it is not known yet whether an earlier attempt made the ticket; a search does not find one so far"
        raise ServiceRefused(DeliveryFailed(why, retry_after=timedelta(seconds=SETTLES_S - tried_s + 1)))
    return ticket
