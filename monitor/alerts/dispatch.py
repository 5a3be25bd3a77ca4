"""Send the deliveries that are due: at least once, in order, and independently for each channel.

- **At least once.** A delivery is leased, sent, and then marked. After a crash between sending and marking the lease
  ends, and the delivery is sent again under the same id.
- **In order.** A channel is sent one delivery at a time, the one due longest first. A delivery about incidents is not
  leased while an earlier one of its channel about the same table (or about several) waits for its next attempt, so
  "resolved" never overtakes the problem. Deliveries of other tables continue: one message that is refused again and
  again does not block a channel for the three days of its schedule.
- **In parallel.** At most four sends, each in a thread. A send that hangs is abandoned after a minute: it no longer
  counts among the four, but its channel stays busy, so that hanging sends do not accumulate.
- **Backoff.** A channel is paused for 5 s after a failure, then twice as long each time up to 5 minutes, or for as long
  as it asked (Retry-After). So a storm on a dead channel costs its deliveries no attempts and others no time. When a
  delivery succeeds after two failures in a row or more, the others of its channel are tried at once.
- A channel that answered 410 is disabled; its deliveries wait until a user enables it.

Failed deliveries are retried by the schedule of Standard Webhooks 1.0, with jitter. The jitter is a function of the
delivery, so that the same history always gives the same times, and deliveries that failed together are not retried
together.
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

    Never earlier than by the schedule, and never earlier than the receiver asked for.
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


PARALLEL_SENDS: Final = 4
SEND_TIMEOUT: Final = timedelta(minutes=1)
"""A send that takes longer is abandoned; only those of Apprise can: webhooks have a deadline of their own."""
LEASE: Final = timedelta(minutes=3)
"""How long a delivery is leased."""
FIRST_PAUSE: Final = 5.0
LONGEST_PAUSE: Final = 300.0
"""Seconds for which a channel is paused after a failure."""
DOWN_AFTER: Final = 2
"""Failures in a row that are taken as those of the channel, not of one message."""


_SENT_ITEM: Final = "sent_item"
"""The key of the item of a message's incident in the channel, in the payload of a leased delivery; never stored."""

Sender: TypeAlias = Callable[[Project, "Delivery"], Attempt]
"""Sends a delivery once. It must not raise: the channel of a thread that ended without a result stays busy."""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """The numbers of deliveries whose attempt ended, by result, and the channels that were disabled."""

    sent: int = 0
    failed: int = 0
    given_up: int = 0
    disabled: tuple[str, ...] = ()

    def __add__(self, other: "Dispatched") -> "Dispatched":
        return Dispatched(
            self.sent + other.sent,
            self.failed + other.failed,
            self.given_up + other.given_up,
            self.disabled + other.disabled,
        )


@dataclass(eq=False, slots=True)
class _ActiveSend:
    """A send in progress: since when (monotonic seconds), and whether it was abandoned."""

    delivery: "Delivery"
    since: float
    abandoned: bool = False


@dataclass(frozen=True, slots=True)
class _SendResult:
    """The result of a send; `hung`: it did not end in time."""

    active: _ActiveSend
    attempt: Attempt
    hung: bool = False


@dataclass(frozen=True, slots=True)
class _Backoff:
    """Until when a channel is paused (monotonic seconds), after how many failures in a row."""

    until: float
    failures: int


class Dispatcher:
    """Sends for one holder of leases. Not thread-safe; its state beside the store may be lost."""

    def __init__(self, holder: str, *, sender: "Sender | None" = None) -> None:
        """Send as `holder` of the leases; `sender` sends a delivery, in a thread (by default `send`)."""
        self._holder = holder
        self._send: Sender = sender or send
        self._active: dict[str, _ActiveSend] = {}
        self._backoffs: dict[str, _Backoff] = {}
        self._ended: queue.SimpleQueue[_SendResult] = queue.SimpleQueue()
        self._unmarked: list[_SendResult] = []

    @property
    def is_idle(self) -> bool:
        """Check whether no send is in progress, except abandoned ones."""
        return not self._unmarked and self._ended.empty() and all(active.abandoned for active in self._active.values())

    @property
    def is_at_rest(self) -> bool:
        """Check whether no send is in progress or abandoned, and no channel waits after a failure."""
        return self.is_idle and not self._active and not self._backoffs

    def step(self, project: Project, store: "Store", *, wait: float = 0.0) -> Dispatched:
        """Mark deliveries whose send ended, abandon hanging sends, and begin to send those that are due.

        It does not wait for the sends that it begins; `wait`: seconds to wait first for a send to end.

        Raises:
            StoreError: nothing of this step is lost; call it again.
        """
        self._collect(wait if self._active else 0.0)
        done = self._mark(project, store)
        self._abandon_hanging(project.clock.monotonic())
        done += self._mark(project, store)
        self._begin(project, store)
        return done

    def finish(self, project: Project, store: "Store", *, seconds: float) -> Dispatched:
        """Begin no send; wait so many seconds for those in progress, and mark them. Others send the rest again."""
        until = project.clock.monotonic() + seconds
        done = Dispatched()
        while not self.is_idle:
            remaining = until - project.clock.monotonic()
            self._collect(max(remaining, 0.0))
            done += self._mark(project, store)
            if remaining <= 0:
                break
        return done

    def _collect(self, wait: float) -> None:
        try:
            self._unmarked.append(self._ended.get(timeout=wait) if wait else self._ended.get_nowait())
            while True:
                self._unmarked.append(self._ended.get_nowait())
        except queue.Empty:
            pass

    def _abandon_hanging(self, now: float) -> None:
        for active in self._active.values():
            if not active.abandoned and now - active.since > SEND_TIMEOUT.total_seconds():
                active.abandoned = True
                why = f"it did not end within {SEND_TIMEOUT.total_seconds():g} s"
                self._unmarked.append(_SendResult(active, DeliveryFailed(why), hung=True))

    def _mark(self, project: Project, store: "Store") -> Dispatched:
        """Write the results of sends that ended; each is forgotten only once it is in the store."""
        done = Dispatched()
        while self._unmarked:
            result = self._unmarked[0]
            delivery, attempt = result.active.delivery, result.attempt
            marked_before = result.active.abandoned and not result.hung and isinstance(attempt, DeliveryFailed)
            reached(FailPoint.AFTER_ANSWER)
            if not marked_before:
                with store.writing() as tx:
                    now = tx.schedule.clock(project.clock.now())
                    done += _mark(tx, delivery, attempt, now=now, holder=self._holder)
                    if isinstance(attempt, DeliverySucceeded) and self._was_down(delivery.channel):
                        tx.deliveries.hasten(delivery.channel, now)
                self._pause_after(delivery.channel, attempt, project.clock.monotonic())
            if not result.hung:
                del self._active[delivery.channel]
            del self._unmarked[0]
        return done

    def _was_down(self, channel: str) -> bool:
        backoff = self._backoffs.get(channel)
        return backoff is not None and backoff.failures >= DOWN_AFTER

    def _pause_after(self, channel: str, attempt: Attempt, now: float) -> None:
        """Pause a channel after a failure."""
        before = self._backoffs.pop(channel, None)
        if isinstance(attempt, DeliveryFailed) and not attempt.permanent:
            failures = 1 if before is None else before.failures + 1
            asked = min(attempt.retry_after or timedelta(0), LONGEST_WAIT).total_seconds()
            pause = min(FIRST_PAUSE * 2 ** min(failures - 1, 10), LONGEST_PAUSE)
            self._backoffs[channel] = _Backoff(now + max(pause, asked), failures)

    def _begin(self, project: Project, store: "Store") -> None:
        while sum(not active.abandoned for active in self._active.values()) < PARALLEL_SENDS:
            paused = {name for name, backoff in self._backoffs.items() if backoff.until > project.clock.monotonic()}
            with store.writing() as tx:
                now = tx.schedule.clock(project.clock.now())
                leased = tx.deliveries.lease(
                    now,
                    holder=self._holder,
                    lease_until=now + LEASE,
                    limit=1,
                    channels_busy={*self._active, *paused, *tx.silences.disabled_channels()},
                )
                leased = [_with_sent_item(project, tx, delivery, now) for delivery in leased]
            if not leased:
                return
            reached(FailPoint.AFTER_LEASE)
            self._start(project, leased[0])

    def _start(self, project: Project, delivery: "Delivery") -> None:
        active = _ActiveSend(delivery, project.clock.monotonic())

        def run() -> None:
            self._ended.put(_SendResult(active, self._send(project, delivery)))

        self._active[delivery.channel] = active
        threading.Thread(target=run, name=f"send {delivery.id}", daemon=True).start()


def dispatch(project: Project, store: "Store", *, holder: str, sender: "Sender | None" = None) -> Dispatched:
    """Send all deliveries that are due now, each once, and wait for the results; failed ones wait for their next try.

    Raises:
        StoreError: the store could not be written; deliveries sent and not marked will be sent again under their ids.
    """
    dispatcher = Dispatcher(holder, sender=sender)
    done = dispatcher.step(project, store)
    while not dispatcher.is_idle:
        done += dispatcher.step(project, store, wait=1.0)
    return done


def send(project: Project, delivery: "Delivery", network: "Network | None" = None) -> Attempt:
    """Send a delivery once through its channel. Every error is a `DeliveryFailed`."""
    attempt = boundary.run_guarded(lambda: _send_through_channel(project, delivery, network))
    return DeliveryFailed(attempt.message.render(PlainEnglish())) if isinstance(attempt, Outcome) else attempt


def _send_through_channel(project: Project, delivery: "Delivery", network: "Network | None") -> Attempt:
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
    return fallback.kind.send(fallback.settings, message)  # only the channel of this person refused it


def _mail_of(payload: Mapping[str, Any]) -> Mail:
    """Return a stored payload as a message for people, with its files."""
    composed = compose(payload)
    files = [Attachment(file["name"], file["mime"], file["text"]) for file in payload.get("attachments", ())]
    return Mail(composed.title, composed.text, composed.html, files)


def _with_sent_item(project: Project, tx: "WriteTransaction", delivery: "Delivery", now: datetime) -> "Delivery":
    """Return a leased delivery with the item of its one incident, where each incident is an item in its channel.

    The label of the item is in the store before anything is sent, so that it can be looked up after a crash.
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
        return Dispatched(given_up=1, disabled=disabled)
    tx.deliveries.retry(delivery.id, again, attempt.why, holder)
    return Dispatched(failed=1, disabled=disabled)
