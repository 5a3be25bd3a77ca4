"""Messages: each is tried under one id until it was sent or is given up."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from store import Book, Delivery, DeliveryState, MessageSubject, NotRecorded, Store, StoreConflict
from tests.store.made import AT, HOUR

MINUTE = timedelta(minutes=1)
UNTIL = AT + 10 * MINUTE


def _message(name: str = "a", channel: str = "ops", *, at: datetime = AT, **said: Any) -> Delivery:
    told = {"subject": MessageSubject.OPERATIONS, "payload": {"text": f"見て {name}"}, **said}
    return Delivery(f"msg_{name}", channel, created_at=at, next_try_at=at, **told)


def _lease(
    book: Book, now: datetime = AT, *, holder: str = "one", limit: int = 9, busy: Sequence[str] = ()
) -> list[str]:
    leased = book.lease_deliveries(now, holder=holder, lease_until=now + 10 * MINUTE, limit=limit, channels_busy=busy)
    return [one.id.removeprefix("msg_") for one in leased]


def test_a_message_comes_back_as_it_was_written(store: Store) -> None:
    """What is to be sent is kept as it is, and found by its id."""
    with store.writing() as book:
        book.add_deliveries([_message()])
        assert book.lease_deliveries(AT, holder="one", lease_until=UNTIL, limit=9) == [_message()]
        assert book.delivery("msg_a") == _message()
        with pytest.raises(NotRecorded, match="msg_b"):
            book.delivery("msg_b")
    with pytest.raises(StoreConflict), store.writing() as book:
        book.add_deliveries([_message()])


def test_a_message_is_tried_by_one_at_a_time(store: Store) -> None:
    """Who leases a message has it for himself until the lease is over."""
    with store.writing() as book:
        book.add_deliveries([_message()])
        assert _lease(book) == ["a"]
        assert _lease(book, holder="two") == []
        assert _lease(book, UNTIL, holder="two") == ["a"]


def test_who_begins_to_send_for_all_takes_back_what_others_had(store: Store) -> None:
    """What a dead daemon was about to send waits for no lease; one's own messages, and sent ones, are left alone."""
    with store.writing() as book:
        book.add_deliveries([_message(), _message("b"), _message("c")])
        assert _lease(book, holder="dead", limit=2) == ["a", "b"]
        book.sent("msg_a", AT, "dead")
        assert _lease(book, holder="two") == ["c"]
        assert book.take_back_deliveries(AT, holder="two") == 1
        assert _lease(book, holder="two") == ["b"]


def test_what_waits_longest_is_tried_first(store: Store) -> None:
    """Messages come in the order of their next try, then as they were written; busy channels are passed over."""
    with store.writing() as book:
        book.add_deliveries([_message("later", at=AT + MINUTE), _message("z"), _message("b"), _message("m", "mail")])
        assert _lease(book, AT - MINUTE) == []
        assert _lease(book, busy=("ops",)) == ["m"]
        assert _lease(book, limit=1) == ["z"]
        assert _lease(book, AT + MINUTE) == ["b", "later"]


def test_a_sent_message_is_not_sent_again(store: Store) -> None:
    """What was sent leaves the queue, and says when."""
    with store.writing() as book:
        book.add_deliveries([_message()])
        _lease(book)
        assert book.sent("msg_a", AT + MINUTE, "one")
        assert not book.sent("msg_a", AT + HOUR, "one")
        assert _lease(book, AT + 99 * HOUR) == []
        expected = replace(_message(), state=DeliveryState.SENT, attempts=1, sent_at=AT + MINUTE)
        assert book.deliveries(AT, 9) == [expected]


def test_no_message_overtakes_one_about_the_same_table(store: Store) -> None:
    """What is about one table, or over tables, is sent in the order in which it was written, channel by channel."""

    def news(name: str, about: str | None, channel: str = "ops") -> Delivery:
        return _message(name, channel, about=about, subject=MessageSubject.INCIDENTS)

    with store.writing() as book:
        book.add_deliveries(
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
        assert _lease(book) == ["a1", "b1", "mail", "report"]
        book.sent("msg_b1", AT, "one")
        assert book.retry("msg_a1", AT + HOUR, "down", "one")
        assert _lease(book, AT + MINUTE) == []
        assert _lease(book, AT + HOUR) == ["mail", "report", "a1"]
        book.bury("msg_a1", AT, "down", "one")
        assert _lease(book, AT + HOUR) == ["a2"]
        book.sent("msg_a2", AT, "one")
        assert _lease(book, AT + HOUR) == ["storm"]
        book.sent("msg_storm", AT, "one")
        assert _lease(book, AT + HOUR) == ["c1"]


def test_a_failed_try_is_followed_by_another_one(store: Store) -> None:
    """After a failure the message waits for its next try, which counts on."""
    with store.writing() as book:
        book.add_deliveries([_message()])
        _lease(book)
        assert book.retry("msg_a", AT + HOUR, "the endpoint answered 503", "one")
        assert _lease(book, AT + HOUR - MINUTE) == []
        (again,) = book.lease_deliveries(AT + HOUR, holder="two", lease_until=AT + 2 * HOUR, limit=9)
        assert (again.attempts, again.error) == (1, "the endpoint answered 503")
        assert book.sent("msg_a", AT + HOUR, "two")
        assert (book.delivery("msg_a").attempts, book.delivery("msg_a").error) == (2, None)


def test_what_failed_can_be_tried_sooner(store: Store) -> None:
    """When a channel works again, what failed on it is due now; nothing else is moved."""
    with store.writing() as book:
        book.add_deliveries([_message("a"), _message("m", "mail"), _message("new", at=AT + HOUR)])
        _lease(book)
        for name in ("a", "m"):
            book.retry(f"msg_{name}", AT + 5 * HOUR, "down", "one")
        assert book.hasten("ops", AT + MINUTE) == 1
        assert _lease(book, AT + MINUTE) == ["a"]
        assert book.delivery("msg_a").attempts == 1


def test_who_lost_a_message_cannot_put_it_off(store: Store) -> None:
    """A try whose lease was taken over neither delays nor buries the message, but what it did send is sent."""
    with store.writing() as book:
        book.add_deliveries([_message()])
        _lease(book)
        assert _lease(book, UNTIL, holder="two") == ["a"]
        assert not book.retry("msg_a", AT + 99 * HOUR, "too slow", "one")
        assert not book.bury("msg_a", AT, "too slow", "one")
        assert book.sent("msg_a", UNTIL, "one")
        assert not book.retry("msg_a", AT + 99 * HOUR, "answer lost", "two")
        assert book.delivery("msg_a").state is DeliveryState.SENT


def test_a_buried_message_can_be_sent_again(store: Store) -> None:
    """What was given up stays visible, and can be tried from the beginning under the same id."""
    with store.writing() as book:
        book.add_deliveries([_message()])
        _lease(book)
        assert book.bury("msg_a", AT + HOUR, "the endpoint answered 404 ten times", "one")
        dead = book.delivery("msg_a")
        assert (dead.state, dead.buried_at, dead.attempts) == (DeliveryState.DEAD, AT + HOUR, 1)
        assert book.delivery_counts() == {DeliveryState.WAITING: 0, DeliveryState.SENT: 0, DeliveryState.DEAD: 1}
        assert book.resend("msg_a", AT + 2 * HOUR) == replace(_message(), next_try_at=AT + 2 * HOUR)
        assert _lease(book, AT + 2 * HOUR) == ["a"]
        with pytest.raises(NotRecorded):
            book.resend("msg_b", AT)


def test_states_are_given_by_id(store: Store) -> None:
    """How far messages are can be asked for many at once; unknown ids are left out."""
    with store.writing() as book:
        book.add_deliveries([_message(str(number)) for number in range(300)])
        _lease(book, limit=1)
        book.sent("msg_0", AT, "one")
        states = book.delivery_states([f"msg_{number}" for number in range(-1, 300)])
        assert len(states) == 300
        assert (states["msg_0"], states["msg_1"]) == (DeliveryState.SENT, DeliveryState.WAITING)
        assert book.sent_at(states) == {"msg_0": AT}


def test_a_cap_counts_messages_about_incidents(store: Store) -> None:
    """What a channel was given lately is told by when it was written, whether it was sent or not."""
    with store.writing() as book:
        told = {"subject": MessageSubject.INCIDENTS}
        others = [_message("test"), _message("mail", "mail", **told), _message("old", at=AT - HOUR, **told)]
        book.add_deliveries([*others, _message("b", at=AT + MINUTE, **told), _message("a", **told)])
        assert book.delivered_since("ops", AT) == [AT, AT + MINUTE]


def test_messages_are_listed_newest_first(store: Store) -> None:
    """The log shows the newest messages, as many as were asked for."""
    with store.writing() as book:
        book.add_deliveries([_message(str(number), at=AT + number * MINUTE) for number in range(5)])
        assert [delivery.id for delivery in book.deliveries(AT + MINUTE, 3)] == ["msg_4", "msg_3", "msg_2"]


def test_old_messages_go_unless_they_wait(store: Store) -> None:
    """Retention takes messages that were sent or given up; what still waits stays."""
    day = timedelta(days=1)
    with store.writing() as book:
        young = _message("young", at=AT + 50 * day)
        book.add_deliveries([_message("sent"), _message("dead"), _message("waiting"), young])
        _lease(book)
        book.sent("msg_sent", AT, "one")
        book.bury("msg_dead", AT, "gone", "one")
    assert store.prune(keep_measurements=90 * day, keep_incidents=365 * day, now=AT + 100 * day).deliveries == 2
    with store.reading() as view:
        assert [delivery.id for delivery in view.deliveries(AT, 9)] == ["msg_young", "msg_waiting"]
