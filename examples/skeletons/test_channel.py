import json
from datetime import UTC, datetime

from monitor.channels import DeliverySucceeded, Mail, OutgoingMessage
from monitor.channels.skeleton import Skeleton, SkeletonKind
from tests.monitor.alerts.receivers import answering, listening


def test_posts_title_and_text():
    """The service receives the message once."""
    message = OutgoingMessage("msg_1", {}, datetime(2026, 11, 23, tzinfo=UTC), lambda: Mail("late", "since 9:00"))
    with listening(answering(200)) as service:
        settings = Skeleton.model_validate({"token": "canary", "url": service.url, "allow_private": True})
        assert SkeletonKind().send(settings, message) == DeliverySucceeded()
    (request,) = service.requests
    assert json.loads(request.body) == {"id": "msg_1", "title": "late", "text": "since 9:00"}
