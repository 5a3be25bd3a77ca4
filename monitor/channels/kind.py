"""What a kind of alert channel is: its settings, what in them is secret, and how a message is sent through it."""

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
"""The most that the other side may ask for, as with Retry-After."""


class Settings(BaseModel):
    """Base of the settings of a kind that needs more than an address."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)


class TicketStatus(StrEnum):
    """How far people are with a ticket."""

    NEW = "new"
    IN_PROGRESS = "in-progress"
    """Somebody works on it, or it is assigned."""
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class DeliverySucceeded:
    """The other side took it. `item` is what it calls what it made of an incident, `status` that of a ticket."""

    item: str | None = None
    status: TicketStatus | None = None


@dataclass(frozen=True, slots=True)
class DeliveryFailed:
    """It did not arrive, as far as anybody knows; it may have, when only the answer was lost.

    `retry_after`: how long the other side asked to be left alone. `gone`: it wants no message ever again, so the
    channel is disabled. `permanent`: trying again changes nothing, so it is not tried again by itself.
    """

    why: str
    retry_after: timedelta | None = None
    gone: bool = False
    permanent: bool = False


Attempt: TypeAlias = DeliverySucceeded | DeliveryFailed


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with a message, where the service takes files."""

    name: str
    mime: str
    text: str


@dataclass(frozen=True, slots=True)
class Mail:
    """A message for people: plain text for chats and pagers, a page for mail, and what goes with it."""

    title: str
    text: str
    html: str | None = None
    attachments: Sequence[Attachment] = ()


@dataclass(frozen=True, slots=True)
class SentItem:
    """What an incident is at the other side.

    `label` is ours, by which the other side finds it. `item` is what the other side calls it, None while that is not
    known. `tried_s` seconds ago the last try began that may have made it, None at the first try.
    """

    label: str
    item: str | None = None
    tried_s: float | None = None


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message and the moment of an attempt, UTC.

    `id`: the same at every attempt. `payload`: JSON. `mail`: composes the payload for people. `network`: how the world
    is reached; by default as the system does. `sent_item`: for a kind that follows incidents, what the one incident of
    the message is at the other side.
    """

    id: str
    payload: Mapping[str, Any]
    now: datetime
    mail: Callable[[], Mail]
    network: Network | None = None
    sent_item: SentItem | None = None


class SecretPlace(NamedTuple):
    """Where a secret stands: keys below the name of the kind, none for the value itself; whether it is an address."""

    keys: tuple[str, ...] = ()
    is_address: bool = False


class ChannelKind(ABC):
    """A kind of channel. A channel has settings of one kind, under the kind's name."""

    name: ClassVar[str]
    """The key under `alerts.channels.NAME`."""
    settings: ClassVar[Any]
    """The type of what stands there: a `Settings`, or `str`."""
    description: ClassVar[str | None] = None
    """What the JSON schema says of the key."""
    secrets: ClassVar[Sequence[SecretPlace]]
    """Where secrets stand in the settings."""
    follows: ClassVar[bool] = False
    """Whether an incident is one thing at the other side that follows it (a page, a message, a ticket): each incident
    has messages of its own, also when it is acknowledged."""
    reads_json: ClassVar[bool] = False
    """Whether programs read what is sent, so that the weekly report goes as JSON and not as a page."""

    def problem(self, settings: Any) -> str | None:
        """Return why settings cannot work, as far as can be told without sending anything; None if nothing is seen."""
        del settings  # not every kind can tell
        return None

    def target(self, settings: Any) -> str:
        """Return the place in which incidents are shown, without secrets: in another place they are shown anew."""
        del settings  # what does not follow incidents shows them nowhere
        return self.name

    def item_url(self, settings: Any, item: str) -> str | None:
        """Return the address at which people see what the other side made; None where the settings do not tell it."""
        del settings, item  # not every service has an address that can be told from these
        return None

    @abstractmethod
    def send(self, settings: Any, message: OutgoingMessage) -> Attempt:
        """Send a message once. What is raised becomes a `DeliveryFailed` that may be tried again."""
