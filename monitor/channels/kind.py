"""The interface of a kind of alert channel: its settings, their secrets, and how a message is sent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from monitor.channels.addresses import Network

LONGEST_WAIT: Final = timedelta(hours=24)
"""The longest wait that a service may ask for, as with Retry-After."""


class Settings(BaseModel):
    """Base class of the settings of a kind that needs more than an address."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)


class TicketStatus(StrEnum):
    """The state of a ticket."""

    NEW = "new"
    IN_PROGRESS = "in-progress"
    """In work, or assigned."""
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class DeliverySucceeded:
    """The service accepted it. `item`: its id of the item of the incident; `status`: of a ticket."""

    item: str | None = None
    status: TicketStatus | None = None


@dataclass(frozen=True, slots=True)
class DeliveryFailed:
    """The message did not arrive, as far as is known: only the answer may be lost.

    `retry_after`: the wait that the service asked for. `gone`: it accepts no more messages, so the channel is disabled.
    `permanent`: another attempt would fail too, so there is none.
    """

    why: str
    retry_after: timedelta | None = None
    gone: bool = False
    permanent: bool = False


Attempt: TypeAlias = DeliverySucceeded | DeliveryFailed


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to a message, if the service accepts files."""

    name: str
    mime: str
    text: str


@dataclass(frozen=True, slots=True)
class Mail:
    """A message for people: plain text for chats and pagers, HTML for mail, and attachments."""

    title: str
    text: str
    html: str | None = None
    attachments: Sequence[Attachment] = ()


@dataclass(frozen=True, slots=True)
class SentItem:
    """The item of an incident in a service: a page, message or ticket.

    `label`: our own, by which the service finds it. `item`: the id of the service, None while it is not known.
    `tried_s`: how many seconds ago the last attempt began that may have created it, None at the first attempt.
    """

    label: str
    item: str | None = None
    tried_s: float | None = None


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message and the moment of an attempt, UTC.

    `id`: the same at every attempt. `payload`: JSON. `mail`: composes the payload for people. `network`: by default
    that of the system. `sent_item`: the item of the message's one incident, for a kind that follows incidents.
    """

    id: str
    payload: Mapping[str, Any]
    now: datetime
    mail: Callable[[], Mail]
    network: Network | None = None
    sent_item: SentItem | None = None


class SecretPlace(NamedTuple):
    """The place of a secret: keys below the name of the kind, none for the value itself; whether it is an address."""

    keys: tuple[str, ...] = ()
    is_address: bool = False


class ChannelKind(ABC):
    """A kind of channel. A channel has settings of one kind, under the kind's name."""

    name: ClassVar[str]
    """The key under `alerts.channels.NAME`."""
    settings: ClassVar[Any]
    """The type of its value: a `Settings`, or `str`."""
    description: ClassVar[str | None] = None
    """The description of the key in the JSON schema."""
    secrets: ClassVar[Sequence[SecretPlace]]
    """The places of secrets in the settings."""
    follows: ClassVar[bool] = False
    """Whether each incident is one item that follows it (a page, a message, a ticket): each incident has messages of
    its own, also when it is acknowledged."""
    reads_json: ClassVar[bool] = False
    """Whether programs read the messages, so that reports are sent as JSON and not as HTML."""

    def problem(self, settings: Any) -> str | None:
        """Return why settings cannot work, as far as is known without sending; None if no problem is found."""
        del settings  # not every kind can check them
        return None

    def target(self, settings: Any) -> str:
        """Return the place of items, without secrets: in another place incidents get new items."""
        del settings  # only kinds that follow incidents have items
        return self.name

    def item_url(self, settings: Any, item: str) -> str | None:
        """Return the address of an item; None if it does not follow from the settings."""
        del settings, item  # not every service has such an address
        return None

    def ticket_url(self, settings: Any, key: str) -> str | None:
        """Return the address of a ticket that people name by a key such as `OPS-12`; None if it is none of here."""
        del settings, key
        return None

    @abstractmethod
    def send(self, settings: Any, message: OutgoingMessage) -> Attempt:
        """Send a message once. An exception becomes a `DeliveryFailed` that is retried."""
