"""Keep one ticket for each incident, also after crashes and lost answers.

The label of a ticket (`SentItem.label`) is stored before the ticket is created, and is part of it. After an attempt
with an unknown result the label is searched first. A search may find a new ticket only after a while, and a request may
still be running whose answer was not awaited: for so long after the last attempt that may have created it
(`SentItem.tried_s`, `SETTLES_S`) an empty search result is no proof, and no ticket is created.
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
        """Create a ticket with the label, and return its id."""

    @abstractmethod
    def comment(self, ticket: str, news: "IncidentNews") -> None:
        """Add a message to a ticket as a comment."""

    @abstractmethod
    def close(self, ticket: str, news: "IncidentNews") -> None:
        """Close a ticket that is not closed."""

    @abstractmethod
    def reopen(self, ticket: str) -> TicketStatus:
        """Reopen a closed ticket, if its workflow allows it, and return its status."""

    @abstractmethod
    def statuses(self, labels: Collection[str]) -> Mapping[str, TicketStatus]:
        """Return the statuses of tickets, by label; those that a search does not find are left out."""


class TicketKind(ChannelKind):
    """A ticket for each incident, and its status read back."""

    follows = True
    at_once: ClassVar[int] = 50
    """The number of statuses that are read with one request."""

    def problem(self, settings: Any) -> str | None:
        """Check that the secret is not sent in the clear."""
        from monitor.channels.json_service import sends_in_the_clear

        return sends_in_the_clear(settings.url)

    @abstractmethod
    def service(self, settings: Any, message: OutgoingMessage) -> TicketService:
        """Return the service for one attempt."""

    def send(self, settings: Any, message: OutgoingMessage) -> Attempt:
        """Update the ticket to the state of the incident; create it, if there is none."""
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
        """Return the statuses of at most `at_once` tickets, by label; or why they could not be read."""
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
        ticket = _find_created(service, news)
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


def _find_created(service: TicketService, news: "IncidentNews") -> str | None:
    """Return the ticket that an earlier attempt created; None if there is none.

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
