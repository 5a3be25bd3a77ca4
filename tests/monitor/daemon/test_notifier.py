"""One daemon speaks for all, and goes on where a dead one left off."""

from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.alerts.dispatch import LEASE
from monitor.alerts.operational import Operation, OperationalEvent
from monitor.daemon import notifier as module
from monitor.daemon.notifier import Notifier
from store import Delivery, MessageSubject, Store, StoreBusy, open_store
from store._deliveries import DeliveryReader
from tests.monitor.alerts.made import NOW, project

_HELD = {"holder": "dead", "lease_until": NOW + LEASE, "limit": 1}


@pytest.fixture
def store(tmp_path):
    """Return a store in which a daemon that was killed holds a message that it was about to send."""
    with open_store(f"sqlite:///{tmp_path}/store.db") as store, store.writing() as tx:
        tx.deliveries.add([Delivery("msg_1", "gone", MessageSubject.TEST, {}, NOW, NOW)])
        assert len(tx.deliveries.lease(NOW, **_HELD)) == 1
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        yield store


def _tries(store):
    with store.reading() as tx:
        return [
            delivery.attempts + (delivery.buried_at is not None)
            for delivery in tx.deliveries.since(NOW - timedelta(1), 9)
        ]


def test_what_a_killed_daemon_was_about_to_send_is_sent_at_once(store, tmp_path):
    """The next daemon does not wait for the end of the dead one's lease."""
    shop = project(tmp_path)
    speaker = Notifier(store, shop.clock, holder="me")
    speaker.notify(shop)
    speaker.finish(shop, seconds=60.0)
    assert _tries(store) != [0]


def test_a_store_that_fails_meanwhile_puts_it_off(store, tmp_path, monkeypatch):
    """What a dead one held is taken back at the next try, and nothing is sent before."""
    shop = project(tmp_path)
    speaker = Notifier(store, shop.clock, holder="me")
    with monkeypatch.context() as broken:
        broken.setattr(Store, "writing", lambda _: _refuse())
        with pytest.raises(StoreBusy):
            speaker.notify(shop)
    assert (speaker.leads, _tries(store)) == (False, [0])
    speaker.notify(shop)
    speaker.finish(shop, seconds=60.0)
    assert _tries(store) != [0]


def test_what_was_decided_is_sent_though_what_comes_now_cannot_be_decided(store, tmp_path, monkeypatch):
    """A bug in deciding is reported elsewhere; the messages that wait are none of its business."""
    shop = project(tmp_path)
    speaker = Notifier(store, shop.clock, holder="me")
    monkeypatch.setattr(module, "notify", lambda *_, **__: {}["a bug"])
    with pytest.raises(KeyError):
        speaker.notify(shop)
    speaker.finish(shop, seconds=60.0)
    assert _tries(store) != [0]


def test_a_daemon_that_lost_the_lead_knows(store, tmp_path, monkeypatch):
    """It decides, sends and reports nothing any more, whether another one leads or the server is away."""
    shop = project(tmp_path)
    speaker = Notifier(store, shop.clock, holder="me")
    speaker.notify(shop)
    assert speaker.leads
    monkeypatch.setattr(Store, "try_lead", lambda _: False)
    speaker.notify(shop)
    assert not speaker.leads


def _heard(store):
    with store.reading() as tx:
        found = tx.deliveries.since(NOW - timedelta(1), 99)
    return [one.payload["operation"] for one in reversed(found) if one.subject is MessageSubject.OPERATIONS]


WRONG = OperationalEvent(Operation.CONFIG_FAILED, why="'tabels' is not a key", since=NOW)
FINE = OperationalEvent(Operation.CONFIG_FINE, until=NOW)


def test_what_several_daemons_notice_is_told_once(store, tmp_path):
    """Each daemon notices at another moment; operators hear of it once, and again when it happens again."""
    shop = project(tmp_path, "  operators: [desk]")
    first, second = (Notifier(store, shop.clock, holder=name) for name in ("one", "two"))
    for happened in (WRONG, FINE, WRONG):
        first.notify_operators(shop, happened)
        second.notify_operators(shop, happened)
    assert _heard(store) == ["config-failed", "config-fine", "config-failed"]


def test_a_statistic_that_is_not_answered_is_told_once_however_long_it_lasts(store, tmp_path):
    """A budget that is spent stays so for months, through restarts; it is reported again after another answer."""
    shop = project(tmp_path, "  operators: [desk]")
    held = OperationalEvent(Operation.STATISTIC_HELD, "orders/weekly", why="less is left", since=NOW)
    answered = OperationalEvent(Operation.STATISTIC_ANSWERED, "orders/weekly", until=NOW)
    for day in range(0, 300, 50):
        shop.clock.advance_to(NOW + timedelta(days=day))
        Notifier(store, shop.clock, holder=f"start {day}").notify_operators(shop, held)
    Notifier(store, shop.clock, holder="last").notify_operators(shop, replace(held, name="orders/other"))
    Notifier(store, shop.clock, holder="last").notify_operators(shop, answered)
    Notifier(store, shop.clock, holder="last").notify_operators(shop, held)
    with store.reading() as tx:
        found = [
            delivery.payload
            for delivery in tx.deliveries.since(NOW, 99)
            if delivery.subject is MessageSubject.OPERATIONS
        ]
    assert sorted((one["operation"], one["name"]) for one in found) == [
        ("statistic-answered", "orders/weekly"),
        ("statistic-held", "orders/other"),
        ("statistic-held", "orders/weekly"),
        ("statistic-held", "orders/weekly"),
    ]


def test_two_who_tell_at_the_same_moment_do_not_both_succeed(store, tmp_path, monkeypatch):
    """A daemon that saw no message of the other writes the same one, and the second is left out without an error."""
    shop = project(tmp_path, "  operators: [desk]")
    monkeypatch.setattr(DeliveryReader, "since", lambda *_: [])
    for name in ("one", "two"):
        Notifier(store, shop.clock, holder=name).notify_operators(shop, WRONG)
    monkeypatch.undo()
    assert _heard(store) == ["config-failed"]


def test_operators_are_told_later_when_the_store_is_busy(store, tmp_path, monkeypatch):
    """What could not be written is kept, and written in order at the next chance."""
    shop = project(tmp_path, "  operators: [desk]")
    speaker = Notifier(store, shop.clock, holder="me")
    with monkeypatch.context() as broken:
        broken.setattr(Store, "writing", lambda _: _refuse())
        speaker.notify_operators(shop, WRONG)
        speaker.notify_operators(shop, FINE)
    assert _heard(store) == []
    speaker.notify(shop)
    speaker.finish(shop, seconds=60.0)
    assert _heard(store) == ["config-failed", "config-fine"]


def _refuse():
    raise StoreBusy("held by others")
