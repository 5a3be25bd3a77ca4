"""An administrator tests a channel: it is sent a message that says what it is, and what fails is said."""

import json
from collections.abc import Iterator

import pytest

from store import DeliveryState, WebRole
from tests.monitor.alerts.receivers import Receiver, answering, listening
from tests.monitor.alerts.sending import NOW, add, found, message
from tests.monitor.web.site import Site, alert_channel


@pytest.fixture(params=[204, 403])
def hook(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    """Return a server that takes messages, or refuses them."""
    with listening(answering(request.param)) as receiver:
        yield receiver


@pytest.fixture
def web_section(hook: Receiver) -> str:
    """Return the channel."""
    return alert_channel(hook.url)


def test_a_channel_is_tested_by_a_button(site: Site, hook: Receiver, request: pytest.FixtureRequest) -> None:
    """The button is on the page of alerts; the reason of a failure is shown without the address."""
    client = site.signed_in()
    assert "Send a test message" in client.get("/alerts").text
    done = client.post("/channels/hook/test")
    assert json.loads(hook.requests[0].body)["title"].startswith("[test] ")
    if request.node.callspec.params["hook"] == 204:
        assert done.status_code == 200
        assert "Channel hook has taken it." in done.text
    else:
        assert done.status_code == 502
        assert "the server answered 403" in done.text
        assert str(hook.port) not in done.text


@pytest.mark.parametrize("hook", [204], indirect=True)
def test_only_administrators_see_and_use_it(site: Site, hook: Receiver) -> None:
    """No other role is shown the button."""
    client = site.signed_in(WebRole.RESPONDER)
    assert "Send a test message" not in client.get("/alerts").text
    assert client.post("/channels/hook/test").status_code == 403
    assert site.signed_in().post("/channels/other/test").status_code == 404
    assert hook.requests == []


@pytest.mark.parametrize("hook", [204], indirect=True)
def test_a_message_is_sent_again_and_a_channel_enabled(site: Site) -> None:
    """Both by a button of the page of alerts and over the API; what is not there is 404."""
    add(site.store, message(1))
    with site.store.writing() as tx:
        tx.deliveries.lease(NOW, holder="me", lease_until=NOW, limit=1)
        tx.deliveries.mark_dead(message(1).id, NOW, "the server answered 500", "me")
        tx.silences.disable_channel("hook", "it is gone", NOW)
    client = site.signed_in()
    assert "/channels/hook/enable" in client.get("/alerts").text
    assert client.post("/channels/hook/enable").headers["location"] == "/alerts"
    assert "/channels/hook/enable" not in client.get("/alerts").text
    assert client.post("/api/v1/channels/hook/enable").json()["was_disabled"] is False
    assert client.post(f"/messages/{message(1).id}/resend").status_code == 303
    assert found(site.store).state is DeliveryState.WAITING
    assert client.post(f"/api/v1/messages/{message(1).id}/resend").json()["channel"] == "hook"
    assert client.post("/messages/msg_0/resend").status_code == 404
    assert client.post("/channels/other/enable").status_code == 404
