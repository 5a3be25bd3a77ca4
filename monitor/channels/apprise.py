"""Chats, pagers and mail servers: every service that Apprise knows."""

from monitor.channels.kind import Attempt, ChannelKind, OutgoingMessage, SecretPlace


class AppriseKind(ChannelKind):
    """A service that an Apprise URL names."""

    name = "apprise"
    settings = str
    description = "An Apprise URL; needs the extra `[apprise]`."
    secrets = (SecretPlace(is_address=True),)

    def problem(self, settings: str) -> str | None:
        """Check whether Apprise knows the service, can read the address, and needs no file for it."""
        from monitor.channels import apprise_services

        return apprise_services.problem(settings)

    def send(self, settings: str, message: OutgoingMessage) -> Attempt:
        """Send the message in the form for people."""
        from monitor.channels import apprise_services

        return apprise_services.deliver(settings, message.mail(), message_id=message.id)
