"""Send what waits in the store: at least once, in order, and no channel waits for another.

- **At least once.** A delivery is leased, sent, and then marked. Whoever dies between sending and marking leaves a
  lease that ends, and the same delivery is sent again under the same id.
- **In order.** A channel is sent one delivery at a time, the one that waits longest first. A delivery about incidents
  is held back while an earlier one of its channel about the same table (or about several) waits for its next try: the
  store leases none of these, so "resolved" never overtakes the problem. Other tables' news goes on meanwhile: one
  message that is refused again and again does not silence a channel for the three days of its schedule.
- **Side by side.** At most four sends at once, each in a thread of its own. A send that hangs is left after a minute:
  it counts no more among the four, but keeps its channel, so that hanging sends do not pile up.
- **A channel that fails rests**: 5 s after the first failure in a row, then twice as long each time up to 5 minutes, or
  for as long as it asked (Retry-After). So a storm on a dead channel costs its deliveries no tries and others no time.
  When it takes a delivery after two failures in a row or more, what waits for it is tried at once, not hours later.
- A channel that answered 410 is disabled, and so is nothing else; what waits for it waits until somebody enables it.

Decide when a delivery that failed is tried again: the schedule of Standard Webhooks 1.0, with jitter.

The jitter is a function of the delivery, so that the same history always gives the same times and deliveries that
failed together do not come back together.
"""

import hashlib
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from checks import Outcome, PlainEnglish
from monitor.alerts.message import compose
from monitor.alerts.on_call import duty_of
from monitor.channels import (
    LONGEST_WAIT,
    SETTLES_S,
    Attachment,
    Attempt,
    DeliveryFailed,
    DeliverySucceeded,
    Mail,
    OutgoingMessage,
    SentItem,
)
from monitor.config.project import Project
from monitor.scan import results as boundary
from store import FailPoint, MessageSubject, reached

if TYPE_CHECKING:
    from monitor.channels.addresses import Network
    from store import Delivery, Store, WriteTransaction

SCHEDULE: Final[Sequence[timedelta]] = (
    timedelta(0),
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""How long to wait before each attempt, counted from the one before; ten attempts over 75 h 35 min in all."""

JITTER: Final = 0.1
"""The most that is added to a wait, as a share of it."""


def next_try(
    delivery_id: str, *, attempts: int, now: datetime, retry_after: timedelta | None = None
) -> datetime | None:
    """Return when to try again after so many failed attempts (1 or more); None when that was the last one.

    Never earlier than the schedule says, and never earlier than the other side asked for.
    """
    if attempts >= len(SCHEDULE):
        return None
    wait = SCHEDULE[attempts] * (1 + JITTER * _share(delivery_id, attempts))
    asked = min(retry_after or timedelta(0), LONGEST_WAIT)
    return now + max(wait, asked)


def _share(delivery_id: str, attempts: int) -> float:
    """Return a number in [0, 1) that depends on the delivery and the attempt only."""
    digest = hashlib.blake2b(f"{delivery_id}/{attempts}".encode(), digest_size=6).digest()
    return int.from_bytes(digest) / 2**48


AT_ONCE: Final = 4
LEFT_AFTER: Final = timedelta(minutes=1)
"""A send that takes longer is left to itself; only apprise's services can: a webhook has a deadline of its own."""
LEASE: Final = timedelta(minutes=3)
"""How long a delivery is held by whoever sends it."""
FIRST_REST: Final = 5.0
LONGEST_REST: Final = 300.0
"""Seconds that a channel rests after a failure."""
DOWN_AFTER: Final = 2
"""Failures in a row that are the channel's, and not one message's."""


_SENT_ITEM: Final = "sent_item"
"""Where a message carries what its incident is at the other side, from its lease to its mark; never in the store."""

Sender: TypeAlias = Callable[[Project, "Delivery"], Attempt]
"""Sends a delivery once. It raises nothing; a thread that ended without a word would keep its channel for ever."""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What became of the deliveries whose attempt ended."""

    sent: int = 0
    failed: int = 0
    buried: int = 0
    disabled: tuple[str, ...] = ()

    def __add__(self, other: "Dispatched") -> "Dispatched":
        """Count two together."""
        return Dispatched(
            self.sent + other.sent,
            self.failed + other.failed,
            self.buried + other.buried,
            self.disabled + other.disabled,
        )


@dataclass(eq=False, slots=True)
class _ActiveSend:
    """A send on its way: since when (monotonic seconds), and whether it was left."""

    delivery: "Delivery"
    since: float
    left: bool = False


@dataclass(frozen=True, slots=True)
class _SendResult:
    """How a send ended; `hung`: it did not, and is waited for no more."""

    flight: _ActiveSend
    attempt: Attempt
    hung: bool = False


@dataclass(frozen=True, slots=True)
class _Backoff:
    """Until when a channel rests (monotonic seconds), after how many failures in a row."""

    until: float
    failures: int


class Dispatcher:
    """Sends for one holder of leases. It is called by one thread; what it knows beside the store may be lost."""

    def __init__(self, holder: str, *, sender: "Sender | None" = None) -> None:
        """Take the name under which deliveries are leased, and what sends one, in a thread (by default `send`)."""
        self._holder = holder
        self._send: Sender = sender or send
        self._flights: dict[str, _ActiveSend] = {}
        self._rests: dict[str, _Backoff] = {}
        self._ended: queue.SimpleQueue[_SendResult] = queue.SimpleQueue()
        self._unmarked: list[_SendResult] = []

    @property
    def is_idle(self) -> bool:
        """Check whether nothing is on its way that is still waited for."""
        return not self._unmarked and self._ended.empty() and all(flight.left for flight in self._flights.values())

    def step(self, project: Project, store: "Store", *, wait: float = 0.0) -> Dispatched:
        """Mark what has ended, leave what hangs, and begin to send what is due.

        It does not wait for what it begins; `wait` are seconds to wait first for something to end.

        Raises:
            StoreError: nothing of this step is lost; call it again.
        """
        self._collect(wait if self._flights else 0.0)
        done = self._mark(project, store)
        self._leave_hanging(project.clock.monotonic())
        done += self._mark(project, store)
        self._begin(project, store)
        return done

    def finish(self, project: Project, store: "Store", *, seconds: float) -> Dispatched:
        """Begin nothing new; wait so long for what is on its way, and mark it. Others will send the rest again."""
        until = project.clock.monotonic() + seconds
        done = Dispatched()
        while not self.is_idle:
            left = until - project.clock.monotonic()
            self._collect(max(left, 0.0))
            done += self._mark(project, store)
            if left <= 0:
                break
        return done

    def _collect(self, wait: float) -> None:
        try:
            self._unmarked.append(self._ended.get(timeout=wait) if wait else self._ended.get_nowait())
            while True:
                self._unmarked.append(self._ended.get_nowait())
        except queue.Empty:
            pass

    def _leave_hanging(self, now: float) -> None:
        for flight in self._flights.values():
            if not flight.left and now - flight.since > LEFT_AFTER.total_seconds():
                flight.left = True
                why = f"it did not end within {LEFT_AFTER.total_seconds():g} s"
                self._unmarked.append(_SendResult(flight, DeliveryFailed(why), hung=True))

    def _mark(self, project: Project, store: "Store") -> Dispatched:
        """Write down what ended; each is forgotten here only once it is in the store."""
        done = Dispatched()
        while self._unmarked:
            landed = self._unmarked[0]
            delivery, attempt = landed.flight.delivery, landed.attempt
            told_before = landed.flight.left and not landed.hung and isinstance(attempt, DeliveryFailed)
            reached(FailPoint.AFTER_ANSWER)
            if not told_before:
                with store.writing() as tx:
                    now = tx.schedule.clock(project.clock.now())
                    done += _mark(tx, delivery, attempt, now=now, holder=self._holder)
                    if isinstance(attempt, DeliverySucceeded) and self._was_down(delivery.channel):
                        tx.deliveries.hasten(delivery.channel, now)
                self._note(delivery.channel, attempt, project.clock.monotonic())
            if not landed.hung:
                del self._flights[delivery.channel]
            del self._unmarked[0]
        return done

    def _was_down(self, channel: str) -> bool:
        rest = self._rests.get(channel)
        return rest is not None and rest.failures >= DOWN_AFTER

    def _note(self, channel: str, attempt: Attempt, now: float) -> None:
        """Let a channel rest after a failure."""
        before = self._rests.pop(channel, None)
        if isinstance(attempt, DeliveryFailed) and not attempt.permanent:
            failures = 1 if before is None else before.failures + 1
            asked = min(attempt.retry_after or timedelta(0), LONGEST_WAIT).total_seconds()
            rest = min(FIRST_REST * 2 ** min(failures - 1, 10), LONGEST_REST)
            self._rests[channel] = _Backoff(now + max(rest, asked), failures)

    def _begin(self, project: Project, store: "Store") -> None:
        while sum(not flight.left for flight in self._flights.values()) < AT_ONCE:
            resting = {name for name, rest in self._rests.items() if rest.until > project.clock.monotonic()}
            with store.writing() as tx:
                now = tx.schedule.clock(project.clock.now())
                leased = tx.deliveries.lease(
                    now,
                    holder=self._holder,
                    lease_until=now + LEASE,
                    limit=1,
                    channels_busy={*self._flights, *resting, *tx.silences.disabled_channels()},
                )
                leased = [_with_sent_item(project, tx, delivery, now) for delivery in leased]
            if not leased:
                return
            reached(FailPoint.AFTER_LEASE)
            self._launch(project, leased[0])

    def _launch(self, project: Project, delivery: "Delivery") -> None:
        flight = _ActiveSend(delivery, project.clock.monotonic())

        def fly() -> None:
            self._ended.put(_SendResult(flight, self._send(project, delivery)))

        self._flights[delivery.channel] = flight
        threading.Thread(target=fly, name=f"send {delivery.id}", daemon=True).start()


def dispatch(project: Project, store: "Store", *, holder: str, sender: "Sender | None" = None) -> Dispatched:
    """Send everything that is due now, each once, and wait for how it ends; what failed waits for its next try.

    Raises:
        StoreError: the store could not be written; what was sent and not marked will be sent again under its id.
    """
    dispatcher = Dispatcher(holder, sender=sender)
    done = dispatcher.step(project, store)
    while not dispatcher.is_idle:
        done += dispatcher.step(project, store, wait=1.0)
    return done


def send(project: Project, delivery: "Delivery", network: "Network | None" = None) -> Attempt:
    """Send a delivery once through its channel. Whatever goes wrong is a `DeliveryFailed`."""
    made = boundary.run_guarded(lambda: _sent_through(project, delivery, network))
    return DeliveryFailed(made.message.render(PlainEnglish())) if isinstance(made, Outcome) else made


def _sent_through(project: Project, delivery: "Delivery", network: "Network | None") -> Attempt:
    channels = project.config.alerts.channels
    duty = duty_of(project, delivery.channel, project.clock.now())
    channel = channels.get(delivery.channel if duty is None else duty.channel)
    if channel is None:
        return DeliveryFailed("its channel is no longer configured", permanent=True)
    sent_item = delivery.payload.get(_SENT_ITEM)
    message = OutgoingMessage(
        delivery.id,
        delivery.payload,
        project.clock.now(),
        mail=lambda: _mail_of(delivery.payload),
        network=network,
        sent_item=None if sent_item is None else SentItem(**sent_item),
    )
    attempt = channel.kind.send(channel.settings, message)
    other = None if duty is None or duty.channel == duty.fallback else duty.fallback
    fallback = None if other is None else channels.get(other)
    if fallback is None or not (isinstance(attempt, DeliveryFailed) and (attempt.permanent or attempt.gone)):
        return attempt
    return fallback.kind.send(fallback.settings, message)  # the way of one person is not that of all on call


def _mail_of(payload: Mapping[str, Any]) -> Mail:
    """Return a stored payload as people read it, with its files."""
    composed = compose(payload)
    files = [Attachment(file["name"], file["mime"], file["text"]) for file in payload.get("attachments", ())]
    return Mail(composed.title, composed.text, composed.html, files)


def _with_sent_item(project: Project, tx: "WriteTransaction", delivery: "Delivery", now: datetime) -> "Delivery":
    """Return a leased message with what its one incident is at the other side, where its channel follows incidents.

    Its label is in the store before anything is sent: whoever dies then is followed by one that looks for it.
    """
    channel = project.config.alerts.channels.get(delivery.channel)
    ids = delivery.payload.get("ids", ())
    if channel is None or not channel.kind.follows or delivery.subject is not MessageSubject.INCIDENTS or len(ids) != 1:
        return delivery
    target = channel.kind.target(channel.settings)
    begun = tx.external_items.begin(ids[0], delivery.channel, target, now, settles_s=SETTLES_S)
    if begun is None:
        return delivery
    item, first = begun
    tried_s = None if first else max(now - item.begun_at, timedelta()).total_seconds()
    sent_item = {"label": item.label, "item": item.item, "tried_s": tried_s}
    return replace(delivery, payload={**delivery.payload, _SENT_ITEM: sent_item})


def _mark(tx: "WriteTransaction", delivery: "Delivery", attempt: Attempt, *, now: datetime, holder: str) -> Dispatched:
    if isinstance(attempt, DeliverySucceeded):
        tx.deliveries.mark_sent(delivery.id, now, holder)
        if attempt.item is not None and _SENT_ITEM in delivery.payload:
            tx.external_items.save(delivery.payload[_SENT_ITEM]["label"], item=attempt.item, status=attempt.status)
        return Dispatched(sent=1)
    if attempt.gone:
        tx.silences.disable_channel(delivery.channel, attempt.why, now)
    again = next_try(delivery.id, attempts=delivery.attempts + 1, now=now, retry_after=attempt.retry_after)
    disabled = (delivery.channel,) if attempt.gone else ()
    if again is None or attempt.permanent:
        tx.deliveries.mark_dead(delivery.id, now, attempt.why, holder)
        return Dispatched(buried=1, disabled=disabled)
    tx.deliveries.retry(delivery.id, again, attempt.why, holder)
    return Dispatched(failed=1, disabled=disabled)
