"""Webhooks: signed JSON by Standard Webhooks 1.0."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from monitor.channels.kind import Attempt, ChannelKind, OutgoingMessage, SecretPlace, Settings


class Webhook(Settings):
    """An address that accepts signed JSON."""

    url: Annotated[str, Field(pattern="^https?://")]
    secret: str | None = Field(None, description="Key of the signature (HMAC).")
    allow_private: bool = Field(default=False, description="Whether the address may lie in a private network.")


class WebhookKind(ChannelKind):
    """A program that accepts signed JSON over HTTP."""

    name = "webhook"
    settings = Webhook
    secrets = (SecretPlace(("url",), is_address=True), SecretPlace(("secret",)))
    reads_json = True

    def send(self, settings: Webhook, message: OutgoingMessage) -> Attempt:
        """Send the payload, signed."""
        from monitor.channels import standard_webhooks
        from monitor.channels.addresses import Network

        return standard_webhooks.deliver(
            settings.url,
            message.payload,
            secret=settings.secret,
            message_id=message.id,
            now=message.now,
            network=replace(message.network or Network(), allow_private=settings.allow_private),
        )
