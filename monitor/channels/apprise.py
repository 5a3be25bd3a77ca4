"""Chats, pagers and mail servers: every service that Apprise knows."""

from monitor.channels.kind import Attempt, ChannelKind, OutgoingMessage, SecretPlace


class AppriseKind(ChannelKind):
    """A service that an Apprise URL names."""

    name = "apprise"
    settings = str
    description = "An Apprise URL."
    secrets = (SecretPlace(is_address=True),)

    def problem(self, settings: str) -> str | None:
        """Check whether Apprise knows the service and can read the address."""
        from monitor.channels.apprise_services import understands

        if understands(settings):
            return None
        return "Apprise does not understand this address; its documentation has the form of each service"

    def send(self, settings: str, message: OutgoingMessage) -> Attempt:
        """Send the message in the form for people."""
        from monitor.channels import apprise_services

        return apprise_services.deliver(settings, message.mail(), message_id=message.id)
