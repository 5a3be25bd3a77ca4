"""Messages: each is tried under one id until it was sent or is given up."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from store import Delivery, DeliveryState, MessageSubject, NotRecorded, Store, StoreConflict, WriteTransaction
from tests.store.made import AT, HOUR

MINUTE = timedelta(minutes=1)
UNTIL = AT + 10 * MINUTE


def _message(name: str = "a", channel: str = "ops", *, at: datetime = AT, **said: Any) -> Delivery:
    result = {"subject": MessageSubject.OPERATIONS, "payload": {"text": f"見て {name}"}, **said}
    return Delivery(f"msg_{name}", channel, created_at=at, next_try_at=at, **result)


def _lease(
    tx: WriteTransaction, now: datetime = AT, *, holder: str = "one", limit: int = 9, busy: Sequence[str] = ()
) -> list[str]:
    leased = tx.deliveries.lease(now, holder=holder, lease_until=now + 10 * MINUTE, limit=limit, channels_busy=busy)
    return [one.id.removeprefix("msg_") for one in leased]


def test_a_message_comes_back_as_it_was_written(store: Store) -> None:
    """What is to be sent is kept as it is, and found by its id."""
    with store.writing() as tx:
        tx.deliveries.add([_message()])
        assert tx.deliveries.lease(AT, holder="one", lease_until=UNTIL, limit=9) == [_message()]
        assert tx.deliveries.get("msg_a") == _message()
        with pytest.raises(NotRecorded, match="msg_b"):
            tx.deliveries.get("msg_b")
    with pytest.raises(StoreConflict), store.writing() as tx:
        tx.deliveries.add([_message()])


def test_a_message_is_tried_by_one_at_a_time(store: Store) -> None:
    """Who leases a message has it for himself until the lease is over."""
    with store.writing() as tx:
        tx.deliveries.add([_message()])
        assert _lease(tx) == ["a"]
        assert _lease(tx, holder="two") == []
        assert _lease(tx, UNTIL, holder="two") == ["a"]


def test_who_begins_to_send_for_all_takes_back_what_others_had(store: Store) -> None:
    """What a dead daemon was about to send waits for no lease; one's own messages, and sent ones, are left alone."""
    with store.writing() as tx:
        tx.deliveries.add([_message(), _message("b"), _message("c")])
        assert _lease(tx, holder="dead", limit=2) == ["a", "b"]
        tx.deliveries.mark_sent("msg_a", AT, "dead")
        assert _lease(tx, holder="two") == ["c"]
        assert tx.deliveries.take_back(AT, holder="two") == 1
        assert _lease(tx, holder="two") == ["b"]


def test_what_waits_longest_is_tried_first(store: Store) -> None:
    """Messages come in the order of their next try, then as they were written; busy channels are passed over."""
    with store.writing() as tx:
        tx.deliveries.add([_message("later", at=AT + MINUTE), _message("z"), _message("b"), _message("m", "mail")])
        assert _lease(tx, AT - MINUTE) == []
        assert _lease(tx, busy=("ops",)) == ["m"]
        assert _lease(tx, limit=1) == ["z"]
        assert _lease(tx, AT + MINUTE) == ["b", "later"]


def test_a_sent_message_is_not_sent_again(store: Store) -> None:
    """What was sent leaves the queue, and says when."""
    with store.writing() as tx:
        tx.deliveries.add([_message()])
        _lease(tx)
        assert tx.deliveries.mark_sent("msg_a", AT + MINUTE, "one")
        assert not tx.deliveries.mark_sent("msg_a", AT + HOUR, "one")
        assert _lease(tx, AT + 99 * HOUR) == []
        expected = replace(_message(), state=DeliveryState.SENT, attempts=1, sent_at=AT + MINUTE)
        assert tx.deliveries.since(AT, 9) == [expected]


def test_no_message_overtakes_one_about_the_same_table(store: Store) -> None:
    """What is about one table, or over tables, is sent in the order in which it was written, channel by channel."""

    def news(name: str, about: str | None, channel: str = "ops") -> Delivery:
        return _message(name, channel, about=about, subject=MessageSubject.INCIDENTS)

    with store.writing() as tx:
        tx.deliveries.add(
            [
                news("a1", "a"),
                news("a2", "a"),
                news("b1", "b"),
                news("storm", None),
                news("c1", "c"),
                news("mail", "a", "mail"),
                _message("report", subject=MessageSubject.REPORT),
            ]
        )
        assert _lease(tx) == ["a1", "b1", "mail", "report"]
        tx.deliveries.mark_sent("msg_b1", AT, "one")
        assert tx.deliveries.retry("msg_a1", AT + HOUR, "down", "one")
        assert _lease(tx, AT + MINUTE) == []
        assert _lease(tx, AT + HOUR) == ["mail", "report", "a1"]
        tx.deliveries.mark_dead("msg_a1", AT, "down", "one")
        assert _lease(tx, AT + HOUR) == ["a2"]
        tx.deliveries.mark_sent("msg_a2", AT, "one")
        assert _lease(tx, AT + HOUR) == ["storm"]
        tx.deliveries.mark_sent("msg_storm", AT, "one")
        assert _lease(tx, AT + HOUR) == ["c1"]


def test_a_failed_try_is_followed_by_another_one(store: Store) -> None:
    """After a failure the message waits for its next try, which counts on."""
    with store.writing() as tx:
        tx.deliveries.add([_message()])
        _lease(tx)
        assert tx.deliveries.retry("msg_a", AT + HOUR, "the endpoint answered 503", "one")
        assert _lease(tx, AT + HOUR - MINUTE) == []
        (again,) = tx.deliveries.lease(AT + HOUR, holder="two", lease_until=AT + 2 * HOUR, limit=9)
        assert (again.attempts, again.error) == (1, "the endpoint answered 503")
        assert tx.deliveries.mark_sent("msg_a", AT + HOUR, "two")
        assert (tx.deliveries.get("msg_a").attempts, tx.deliveries.get("msg_a").error) == (2, None)


def test_what_failed_can_be_tried_sooner(store: Store) -> None:
    """When a channel works again, what failed on it is due now; nothing else is moved."""
    with store.writing() as tx:
        tx.deliveries.add([_message("a"), _message("m", "mail"), _message("new", at=AT + HOUR)])
        _lease(tx)
        for name in ("a", "m"):
            tx.deliveries.retry(f"msg_{name}", AT + 5 * HOUR, "down", "one")
        assert tx.deliveries.hasten("ops", AT + MINUTE) == 1
        assert _lease(tx, AT + MINUTE) == ["a"]
        assert tx.deliveries.get("msg_a").attempts == 1


def test_who_lost_a_message_cannot_put_it_off(store: Store) -> None:
    """A try whose lease was taken over neither delays nor buries the message, but what it did send is sent."""
    with store.writing() as tx:
        tx.deliveries.add([_message()])
        _lease(tx)
        assert _lease(tx, UNTIL, holder="two") == ["a"]
        assert not tx.deliveries.retry("msg_a", AT + 99 * HOUR, "too slow", "one")
        assert not tx.deliveries.mark_dead("msg_a", AT, "too slow", "one")
        assert tx.deliveries.mark_sent("msg_a", UNTIL, "one")
        assert not tx.deliveries.retry("msg_a", AT + 99 * HOUR, "answer lost", "two")
        assert tx.deliveries.get("msg_a").state is DeliveryState.SENT


def test_a_buried_message_can_be_sent_again(store: Store) -> None:
    """What was given up stays visible, and can be tried from the beginning under the same id."""
    with store.writing() as tx:
        tx.deliveries.add([_message()])
        _lease(tx)
        assert tx.deliveries.mark_dead("msg_a", AT + HOUR, "the endpoint answered 404 ten times", "one")
        dead = tx.deliveries.get("msg_a")
        assert (dead.state, dead.buried_at, dead.attempts) == (DeliveryState.DEAD, AT + HOUR, 1)
        assert tx.deliveries.count_by_state() == {
            DeliveryState.WAITING: 0,
            DeliveryState.SENT: 0,
            DeliveryState.DEAD: 1,
        }
        assert tx.deliveries.resend("msg_a", AT + 2 * HOUR) == replace(_message(), next_try_at=AT + 2 * HOUR)
        assert _lease(tx, AT + 2 * HOUR) == ["a"]
        with pytest.raises(NotRecorded):
            tx.deliveries.resend("msg_b", AT)


def test_states_are_given_by_id(store: Store) -> None:
    """How far messages are can be asked for many at once; unknown ids are left out."""
    with store.writing() as tx:
        tx.deliveries.add([_message(str(number)) for number in range(300)])
        _lease(tx, limit=1)
        tx.deliveries.mark_sent("msg_0", AT, "one")
        states = tx.deliveries.states([f"msg_{number}" for number in range(-1, 300)])
        assert len(states) == 300
        assert (states["msg_0"], states["msg_1"]) == (DeliveryState.SENT, DeliveryState.WAITING)
        assert tx.deliveries.sent_at(states) == {"msg_0": AT}


def test_a_cap_counts_messages_about_incidents(store: Store) -> None:
    """What a channel was given lately counts by when it was written, whether it was sent or not."""
    with store.writing() as tx:
        result = {"subject": MessageSubject.INCIDENTS}
        others = [_message("test"), _message("mail", "mail", **result), _message("old", at=AT - HOUR, **result)]
        tx.deliveries.add([*others, _message("b", at=AT + MINUTE, **result), _message("a", **result)])
        written = tx.deliveries.created_since(AT, ["ops", "nobody"])
        assert written == {"ops": [AT, AT + MINUTE], "nobody": []}


def test_messages_are_listed_newest_first(store: Store) -> None:
    """The log shows the newest messages, the requested number."""
    with store.writing() as tx:
        tx.deliveries.add([_message(str(number), at=AT + number * MINUTE) for number in range(5)])
        assert [delivery.id for delivery in tx.deliveries.since(AT + MINUTE, 3)] == ["msg_4", "msg_3", "msg_2"]


def test_old_messages_go_unless_they_wait(store: Store) -> None:
    """Retention takes messages that were sent or given up; what still waits stays."""
    day = timedelta(days=1)
    with store.writing() as tx:
        young = _message("young", at=AT + 50 * day)
        tx.deliveries.add([_message("sent"), _message("dead"), _message("waiting"), young])
        _lease(tx)
        tx.deliveries.mark_sent("msg_sent", AT, "one")
        tx.deliveries.mark_dead("msg_dead", AT, "gone", "one")
    assert store.prune(keep_measurements=90 * day, keep_incidents=365 * day, now=AT + 100 * day).deliveries == 2
    with store.reading() as tx:
        assert [delivery.id for delivery in tx.deliveries.since(AT, 9)] == ["msg_young", "msg_waiting"]
