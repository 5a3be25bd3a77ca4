import itertools
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from monitor.alerts.dispatch import (
    LEASE,
    LONGEST_PAUSE,
    PARALLEL_SENDS,
    SCHEDULE,
    SEND_TIMEOUT,
    Dispatched,
    Dispatcher,
    dispatch,
    send,
)
from monitor.channels import Attempt, DeliveryFailed, DeliverySucceeded
from monitor.channels.addresses import Network
from monitor.channels.standard_webhooks import body_of
from monitor.clock import SimulatedClock
from monitor.config.project import Project
from store import Delivery, DeliveryState
from tests.monitor.alerts.receivers import Handler, Receiver, Request, answering, listening
from tests.monitor.alerts.sending import NOW, add, found, message, project_of, webhook

SECOND = timedelta(seconds=1)
SEND = partial(send, network=Network(deadline=5))


def speaking_to(folder: Path, channels: Mapping[str, str]) -> Project:
    """Return a project with these webhooks, on the loopback."""
    return project_of(folder, {name: webhook(url) for name, url in channels.items()})


def clock_of(project: Project) -> SimulatedClock:
    """Return the clock, to be moved."""
    assert isinstance(project.clock, SimulatedClock)
    return project.clock


@pytest.fixture
def hook() -> Iterator[Receiver]:
    """Yield a receiver that takes everything."""
    with listening() as receiver:
        yield receiver


def test_what_is_due_is_sent_and_marked(tmp_path: Path, hook: Receiver) -> None:
    """A message arrives under its id, and the store says when it was sent."""
    project = speaking_to(tmp_path, {"hook": hook.url})
    with project.open_store() as store:
        add(store, message(1), message(2, next_try_at=NOW + SECOND))
        assert dispatch(project, store, holder="me", sender=SEND) == Dispatched(sent=1)
        assert [request.message_id for request in hook.requests] == [message(1).id]
        assert json.loads(hook.requests[0].body) == message(1).payload
        assert (found(store).state, found(store).sent_at, found(store).attempts) == (DeliveryState.SENT, NOW, 1)
        assert found(store, 2).state is DeliveryState.WAITING
        assert dispatch(project, store, holder="me", sender=SEND) == Dispatched()


def test_what_fails_is_tried_by_the_schedule_and_then_given_up(tmp_path: Path) -> None:
    """A receiver that is broken for days gets ten attempts under one id over three days; then the message is dead."""
    with listening(answering(500, b"the password is hunter2")) as hook:
        project = speaking_to(tmp_path, {"hook": hook.url})
        clock = clock_of(project)
        with project.open_store() as store:
            add(store, message(1))
            for number in range(1, len(SCHEDULE)):
                assert dispatch(project, store, holder="me", sender=SEND) == Dispatched(failed=1)
                assert dispatch(project, store, holder="me", sender=SEND) == Dispatched()
                waiting = found(store)
                assert waiting.attempts == number
                assert waiting.error == "the server answered 500"
                assert SCHEDULE[number] <= waiting.next_try_at - clock.now() <= SCHEDULE[number] * 1.1
                clock.advance_to(waiting.next_try_at)
            assert dispatch(project, store, holder="me", sender=SEND) == Dispatched(given_up=1)
            assert found(store).state is DeliveryState.DEAD
            assert timedelta(hours=75) < clock.now() - NOW < timedelta(hours=84)
            clock.advance(timedelta(days=9))
            assert dispatch(project, store, holder="me", sender=SEND) == Dispatched()
        assert Counter(request.message_id for request in hook.requests) == {message(1).id: 10}
        assert len({request.headers["webhook-timestamp"] for request in hook.requests}) == 10
        assert len({request.body for request in hook.requests}) == 1


def test_a_dead_message_can_be_sent_again(tmp_path: Path, hook: Receiver) -> None:
    """A message that was given up is tried again when a person asks, under the same id."""
    project = speaking_to(tmp_path, {"hook": hook.url})
    with project.open_store() as store:
        add(store, message(1))
        with store.writing() as tx:
            (leased,) = tx.deliveries.lease(NOW, holder="me", lease_until=NOW, limit=1)
            tx.deliveries.mark_dead(leased.id, NOW, "the server answered 500", "me")
            tx.deliveries.resend(leased.id, NOW)
        assert dispatch(project, store, holder="me", sender=SEND) == Dispatched(sent=1)
    assert [request.message_id for request in hook.requests] == [message(1).id]


def test_retry_after_moves_the_next_try(tmp_path: Path) -> None:
    """A receiver that asks for an hour gets an hour."""
    with listening(answering(429, Retry_After="3600")) as hook:
        project = speaking_to(tmp_path, {"hook": hook.url})
        with project.open_store() as store:
            add(store, message(1))
            dispatch(project, store, holder="me", sender=SEND)
            assert found(store).next_try_at == NOW + timedelta(hours=1)


def test_a_crash_between_sending_and_marking_repeats_under_the_same_id(tmp_path: Path, hook: Receiver) -> None:
    """Who dies before marking leaves a lease; when it ends, another sends the same message under the same id."""
    project = speaking_to(tmp_path, {"hook": hook.url})
    with project.open_store() as store:
        add(store, message(1))
        dying = Dispatcher("one", sender=SEND)
        dying.step(project, store)
        dying._collect(5)  # it was sent, and then the process died
        assert dispatch(project, store, holder="two", sender=SEND) == Dispatched()
        clock_of(project).advance(LEASE)
        assert dispatch(project, store, holder="two", sender=SEND) == Dispatched(sent=1)
        assert found(store).state is DeliveryState.SENT
    assert [request.message_id for request in hook.requests] == [message(1).id] * 2


def test_410_disables_the_channel_and_no_other(tmp_path: Path, hook: Receiver) -> None:
    """What waits for a channel that is gone waits until a user enables it; others are sent."""
    with listening(answering(410)) as gone:
        project = speaking_to(tmp_path, {"gone": gone.url, "hook": hook.url})
        clock = clock_of(project)
        with project.open_store() as store:
            add(store, message(1, "gone"), message(2, "gone", "lines"), message(3))
            done = dispatch(project, store, holder="me", sender=SEND)
            assert (done.disabled, done.sent) == (("gone",), 1)
            with store.reading() as tx:
                assert (
                    tx.silences.disabled_channels()["gone"].why
                    == "the server answered 410: the endpoint no longer accepts messages"
                )
            clock.advance(timedelta(days=30))
            assert dispatch(project, store, holder="me", sender=SEND) == Dispatched()
            assert len(gone.requests) == 1
            gone.script = answering(204)
            with store.writing() as tx:
                tx.silences.enable_channel("gone")
            assert dispatch(project, store, holder="me", sender=SEND) == Dispatched(sent=2)


def test_a_channel_that_left_the_configuration_is_no_reason_to_wait(tmp_path: Path, hook: Receiver) -> None:
    """A message to a channel that is not configured any more is given up at once, and says so."""
    project = speaking_to(tmp_path, {"hook": hook.url})
    with project.open_store() as store:
        add(store, message(1, "former"), message(2))
        assert dispatch(project, store, holder="me", sender=SEND) == Dispatched(sent=1, given_up=1)
        assert found(store).error == "its channel is no longer configured"


def test_dead_channels_do_not_block_others(tmp_path: Path, hook: Receiver) -> None:
    """More silent channels than sends at once, each with older messages, leave room for one that answers."""
    with listening(lambda handler, _: handler.server.receiver.over.wait()) as silent:
        names = [f"silent-{n}" for n in range(PARALLEL_SENDS + 2)]
        project = speaking_to(tmp_path, {"hook": hook.url, **dict.fromkeys(names, silent.url)})
        quick = partial(send, network=Network(deadline=0.1))
        with project.open_store() as store:
            older = [message(n * 100 + m, name, f"t{m}") for n, name in enumerate(names) for m in range(10)]
            add(store, *older, message(9999))
            dispatcher = Dispatcher("me", sender=quick)
            done = dispatcher.step(project, store)
            while not dispatcher.is_idle:
                done += dispatcher.step(project, store, wait=5)
            assert done == Dispatched(sent=1, failed=len(names))


def test_a_channel_that_fails_rests(tmp_path: Path) -> None:
    """A storm on a broken channel costs one try at a time, ever more seldom, until the channel works again."""
    with listening(answering(503)) as hook:
        project = speaking_to(tmp_path, {"hook": hook.url})
        clock = clock_of(project)
        dispatcher = Dispatcher("me", sender=SEND)
        with project.open_store() as store:
            add(store, *(message(n, about=f"t{n}") for n in range(50)))

            def tried() -> int:
                before = len(hook.requests)
                dispatcher.step(project, store)
                while not dispatcher.is_idle:
                    dispatcher.step(project, store, wait=5)
                return len(hook.requests) - before

            waits = (0, 5, 10, 20, 40, 80, 160, 300, 300)
            for wait in waits:
                clock.advance(timedelta(seconds=max(wait - 1, 0)))
                assert not wait or tried() == 0
                clock.advance(timedelta(seconds=min(wait, 1)))
                assert tried() == 1
            assert waits[-1] == LONGEST_PAUSE
            hook.script = answering(204)
            clock.advance(timedelta(seconds=LONGEST_PAUSE))
            assert tried() >= 50 - len(waits)


def test_a_channel_is_sent_one_message_at_a_time(tmp_path: Path) -> None:
    """However many messages wait, a channel never has two on their way; all channels together have four at most."""
    lock, open_now, most = threading.Lock(), Counter[str](), Counter[str]()
    together, first = threading.Barrier(PARALLEL_SENDS, timeout=30), itertools.count()

    def sender(_: Project, delivery: Delivery) -> Attempt:
        with lock:
            open_now.update([delivery.channel, "all"])
            most[delivery.channel] = max(most[delivery.channel], open_now[delivery.channel])
            most["all"] = max(most["all"], open_now["all"])
            is_early = next(first) < PARALLEL_SENDS
        if is_early:
            together.wait()
        with lock:
            open_now.subtract([delivery.channel, "all"])
        return DeliverySucceeded()

    names = [f"hook-{n}" for n in range(6)]
    project = speaking_to(tmp_path, dict.fromkeys(names, "http://127.0.0.1:9/"))
    with project.open_store() as store:
        add(store, *(message(n, names[n % 6], f"t{n}") for n in range(36)))
        assert dispatch(project, store, holder="me", sender=sender) == Dispatched(sent=36)
    assert most["all"] == PARALLEL_SENDS
    assert {most[name] for name in names} == {1}


def test_resolved_never_overtakes_the_problem(tmp_path: Path) -> None:
    """While the first message about a table waits for its next try, later ones about it wait too; others go on."""
    with listening(answering(500)) as hook:
        project = speaking_to(tmp_path, {"hook": hook.url})
        clock = clock_of(project)
        with project.open_store() as store:
            add(store, message(1), message(2), message(3, about="lines"))
            dispatch(project, store, holder="me", sender=SEND)
            hook.script = answering(204)
            dispatch(project, store, holder="me", sender=SEND)
            assert [request.message_id[-1] for request in hook.requests] == ["1", "3"]
            clock.advance_to(found(store, 1).next_try_at)
            dispatch(project, store, holder="me", sender=SEND)
            assert [request.message_id[-1] for request in hook.requests] == ["1", "3", "1", "2"]


def test_a_send_that_hangs_is_left_and_keeps_its_channel(tmp_path: Path) -> None:
    """A hanging send is tried again later; it takes no place from others, and its channel gets no second one."""
    over, begun = threading.Event(), Counter[str]()

    def sender(_: Project, delivery: Delivery) -> Attempt:
        begun[delivery.channel] += 1
        if delivery.channel != "hook":
            over.wait()
        return DeliverySucceeded()

    names = [f"hanging-{n}" for n in range(PARALLEL_SENDS)]
    project = speaking_to(tmp_path, dict.fromkeys([*names, "hook"], "http://127.0.0.1:9/"))
    clock = clock_of(project)
    with project.open_store() as store:
        add(store, *(message(n, name) for n, name in enumerate(names)), message(99))
        dispatcher = Dispatcher("me", sender=sender)
        dispatcher.step(project, store)
        assert begun["hook"] == 0
        clock.advance(SEND_TIMEOUT + SECOND)
        assert dispatcher.step(project, store) == Dispatched(failed=PARALLEL_SENDS)
        assert dispatcher.step(project, store, wait=5) == Dispatched(sent=1)
        assert found(store, 0).error == "it did not end within 60 s"
        clock.advance(timedelta(hours=1))
        dispatcher.step(project, store)
        assert dispatcher.is_idle
        assert {begun[name] for name in names} == {1}
        over.set()
        done = Dispatched()
        while dispatcher._active:
            dispatcher._collect(5)
            done += dispatcher._mark(project, store)
        assert done == Dispatched(sent=PARALLEL_SENDS)
        assert found(store, 0).state is DeliveryState.SENT


def test_a_sender_that_stumbles_is_a_failure_like_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug while sending is reported by its class, loses nothing and stops no other delivery."""

    def stumbling(*_: object, **__: object) -> Attempt:
        raise KeyError("token=secret")

    monkeypatch.setattr("monitor.channels.standard_webhooks.deliver", stumbling)
    project = speaking_to(tmp_path, {"hook": "http://127.0.0.1:9/"})
    with project.open_store() as store:
        add(store, message(1))
        assert dispatch(project, store, holder="me") == Dispatched(failed=1)
        assert found(store).error == "internal error (KeyError); please report it"


def test_what_ends_while_the_store_is_held_is_marked_later(tmp_path: Path, hook: Receiver) -> None:
    """A store that cannot be written loses no mark: the next step writes it."""
    project = speaking_to(tmp_path, {"hook": hook.url})
    with project.open_store() as store:
        add(store, message(1))
        dispatcher = Dispatcher("me", sender=SEND)
        dispatcher.step(project, store)
        dispatcher._collect(5)
    closed = project.open_store()
    with closed as store:
        assert dispatcher.step(project, store) == Dispatched(sent=1)
        assert found(store).state is DeliveryState.SENT
    assert len(hook.requests) == 1


def test_a_dispatcher_that_ends_waits_for_what_is_on_its_way(tmp_path: Path, hook: Receiver) -> None:
    """At the end of a process what was sent is still marked, and nothing new is begun."""
    project = speaking_to(tmp_path, {"hook": hook.url})
    with project.open_store() as store:
        add(store, message(1), message(2))
        dispatcher = Dispatcher("me", sender=SEND)
        dispatcher.step(project, store)
        assert dispatcher.finish(project, store, seconds=5) == Dispatched(sent=1)
        assert dispatcher.is_idle
        assert found(store, 2).attempts == 0


def test_what_waited_for_a_channel_that_was_down_is_not_late_by_hours(tmp_path: Path) -> None:
    """The first message that a channel takes after it was down brings along all that failed meanwhile."""
    with listening(answering(502)) as hook:
        project = speaking_to(tmp_path, {"hook": hook.url})
        clock = clock_of(project)
        dispatcher = Dispatcher("me", sender=SEND)
        with project.open_store() as store:

            def pass_by() -> Dispatched:
                done = dispatcher.step(project, store)
                while not dispatcher.is_idle:
                    done += dispatcher.step(project, store, wait=5)
                return done

            add(store, message(1), message(2, about="lines"))
            for _ in range(8):
                clock.advance(timedelta(hours=1))
                pass_by()
            assert found(store, 1).next_try_at > clock.now() + timedelta(hours=1)
            hook.script = answering(204)
            add(store, message(3, about="board", created_at=clock.now(), next_try_at=clock.now()))
            clock.advance(timedelta(seconds=LONGEST_PAUSE))
            assert pass_by() == Dispatched(sent=3)


def test_one_message_that_is_refused_is_not_hastened_by_others(tmp_path: Path) -> None:
    """A message that alone is refused keeps its three days, however many others are taken."""

    def script(handler: Handler, request: Request) -> None:
        handler.say(400 if request.message_id == message(1).id else 204)

    with listening(script) as hook:
        project = speaking_to(tmp_path, {"hook": hook.url})
        dispatcher = Dispatcher("me", sender=SEND)
        with project.open_store() as store:
            add(store, message(1))
            for number in range(2, 8):
                dispatcher.step(project, store)
                while not dispatcher.is_idle:
                    dispatcher.step(project, store, wait=5)
                clock_of(project).advance(timedelta(seconds=LONGEST_PAUSE))
                now = project.clock.now()
                add(store, message(number, about=f"t{number}", created_at=now, next_try_at=now))
            assert found(store, 1).attempts < 4


class Flaky:
    """A receiver of which 15 % of the answers are 500, 5 % are lost after the work was done, and 5 % are resets."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.lock = threading.Lock()
        self.processed: list[tuple[str, str, bytes]] = []

    def __call__(self, handler: Handler, request: Request) -> None:
        with self.lock:
            luck = self.dice.random()
            if luck >= 0.20:
                self.processed.append((request.path, request.message_id, request.body))
        if luck < 0.15:
            handler.say(500)
        elif luck < 0.20:
            handler.reset()
        elif luck >= 0.25:
            handler.say(204)


def die(dispatcher: Dispatcher) -> None:
    """Let everything arrive that is on its way, and forget it, as kill -9 does at the worst moment."""
    while len(dispatcher._unmarked) < len(dispatcher._active):
        dispatcher._collect(5)


def messages(channels: Sequence[str], count: int) -> Iterator[Delivery]:
    """Yield messages, one table's after another's."""
    for number in range(count):
        channel = channels[number % len(channels)]
        yield message(number, channel, f"table-{number // len(channels) % 7}")


@pytest.mark.parametrize("seed", [1, 2])
def test_a_flaky_receiver_and_many_deaths_lose_nothing(tmp_path: Path, seed: int) -> None:
    """Everything is delivered, in order for each table, and what arrives twice has the same id and the same body."""
    flaky = Flaky(seed)
    dice = random.Random(seed)
    with listening(flaky) as hook:
        channels = [f"hook-{n}" for n in range(4)]
        project = speaking_to(tmp_path, {name: f"{hook.url}/{name}" for name in channels})
        clock = clock_of(project)
        expected = {message.id: message for message in messages(channels, 200)}
        deaths = 0
        with project.open_store() as store:
            add(store, *expected.values())
            while True:
                dispatcher = Dispatcher(f"number-{deaths}", sender=SEND)
                dispatcher.step(project, store)
                if dispatcher._active and dice.random() < 0.8:
                    deaths += 1
                    die(dispatcher)
                else:
                    dispatcher.finish(project, store, seconds=5)
                with store.reading() as tx:
                    waiting = tx.deliveries.count_by_state()[DeliveryState.WAITING]
                if not waiting:
                    break
                clock.advance(LEASE)
            with store.reading() as tx:
                assert tx.deliveries.count_by_state() == {
                    DeliveryState.WAITING: 0,
                    DeliveryState.SENT: len(expected),
                    DeliveryState.DEAD: 0,
                }
    assert deaths >= 100
    arrived = Counter(message_id for _, message_id, _ in flaky.processed)
    assert set(arrived) == set(expected)
    assert max(arrived.values()) > 1
    assert {(message_id, body) for _, message_id, body in flaky.processed} == {
        (one.id, body_of(one.payload)) for one in expected.values()
    }
    firsts = list(dict.fromkeys(message_id for _, message_id, _ in flaky.processed))
    for key in {(one.channel, one.about) for one in expected.values()}:
        order = [first for first in firsts if (expected[first].channel, expected[first].about) == key]
        assert order == sorted(order)


def test_failures_are_values() -> None:
    """A failure that says nothing more is one that may be tried again."""
    assert DeliveryFailed("x") == DeliveryFailed("x", retry_after=None, gone=False, permanent=False)
