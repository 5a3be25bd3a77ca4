"""On-call rotas: a message goes to the channel of the person who is on call by a calendar when it is sent."""

from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import Field

from monitor.channels.kind import Attempt, ChannelKind, DeliveryFailed, OutgoingMessage, Settings


class OnCall(Settings):
    """A calendar, and the channels of the people in it."""

    calendar: str = Field(description="An iCalendar file (`.ics`), relative to the configuration.")
    people: Annotated[dict[str, str], MinLen(1)] = Field(
        description="Channels by person: the address of an attendee, or a name in the summary of an event."
    )
    fallback: str = Field(description="Channel while no one is on call, or the calendar cannot be read.")


class OnCallKind(ChannelKind):
    """The channel of the person on call."""

    name = "on_call"
    settings = OnCall
    description = "The person on call by a calendar; needs the extra `[oncall]`."
    secrets = ()

    def send(self, settings: Any, message: OutgoingMessage) -> Attempt:
        """Raise: messages are sent through the channel of a person (`monitor.alerts.on_call`)."""
        del settings, message
        return DeliveryFailed("a calendar of who is on call is no way to send", permanent=True)
