"""A service that accepts messages as JSON."""

from typing import Annotated

from pydantic import Field

from monitor.channels.kind import Attempt, ChannelKind, DeliverySucceeded, OutgoingMessage, SecretPlace, Settings


class Skeleton(Settings):
    """An account of the service."""

    token: str = Field(description="Token of the account.")
    url: Annotated[str, Field(pattern="^https?://[^@ ]+$", description="Address of the service.")]
    allow_private: bool = Field(default=False, description="Whether the address may lie in a private network.")


class SkeletonKind(ChannelKind):
    """Messages with a title and a text."""

    name = "skeleton"
    settings = Skeleton
    secrets = (SecretPlace(("token",)),)

    def send(self, settings: Skeleton, message: OutgoingMessage) -> Attempt:
        """Post the title and the text."""
        from monitor.channels.json_service import JsonService, ServiceRefused

        account = {"Authorization": f"Bearer {settings.token}", "Content-Type": "application/json"}
        service, mail = JsonService("skeleton", message, settings.allow_private, account), message.mail()
        try:
            service.call("POST", settings.url, {"id": message.id, "title": mail.title, "text": mail.text})
        except ServiceRefused as error:
            return error.failure
        return DeliverySucceeded()
