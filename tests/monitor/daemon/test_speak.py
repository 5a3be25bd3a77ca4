"""One daemon speaks for all, and goes on where a dead one left off."""

from datetime import timedelta

import pytest

from monitor.alerts.dispatch import LEASE
from monitor.daemon.speak import Speaker
from store import Delivery, Store, StoreBusy, Subject, open_store
from tests.monitor.alerts.made import NOW, project

_HELD = {"holder": "dead", "lease_until": NOW + LEASE, "limit": 1}


@pytest.fixture
def store(tmp_path):
    """Give a store in which a daemon that was killed holds a message that it was about to send."""
    with open_store(f"sqlite:///{tmp_path}/store.db") as store, store.writing() as book:
        book.add_deliveries([Delivery("msg_1", "gone", Subject.TEST, {}, NOW, NOW)])
        assert len(book.lease_deliveries(NOW, **_HELD)) == 1
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        yield store


def _tries(store):
    with store.reading() as view:
        return [one.attempts + (one.buried_at is not None) for one in view.deliveries(NOW - timedelta(1), 9)]


def test_what_a_killed_daemon_was_about_to_send_is_sent_at_once(store, tmp_path):
    """The next daemon does not wait for the end of the dead one's lease."""
    shop = project(tmp_path)
    speaker = Speaker(store, shop.clock, holder="me")
    speaker.speak(shop)
    speaker.finish(shop)
    assert _tries(store) != [0]


def test_a_store_that_fails_meanwhile_puts_it_off(store, tmp_path, monkeypatch):
    """What a dead one held is taken back at the next try, and nothing is sent before."""
    shop = project(tmp_path)
    speaker = Speaker(store, shop.clock, holder="me")
    with monkeypatch.context() as broken:
        broken.setattr(Store, "writing", lambda _: _refuse())
        with pytest.raises(StoreBusy):
            speaker.speak(shop)
    assert (speaker.leads, _tries(store)) == (False, [0])
    speaker.speak(shop)
    speaker.finish(shop)
    assert _tries(store) != [0]


def _refuse():
    raise StoreBusy("held by others")
