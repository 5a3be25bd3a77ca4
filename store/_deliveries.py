"""Store messages to channels: each is attempted until it is sent or given up, always under the same id.

A message is sent at least once: the holder of its lease may die after sending it and before recording that.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, exists, func, literal_column, or_, select, true, update

from store._columns import Mapped
from store._errors import NotRecorded
from store._notice_rows import DeliveryRow
from store._notices import Delivery, DeliveryState, MessageSubject
from store._repository import Repository, any_of

_DELIVERY: Final = DeliveryRow.__table__
_DELIVERIES: Final = Mapped(DeliveryRow, Delivery)
_IS_WAITING: Final = _DELIVERY.c.state == literal_column("'waiting'")  # in the text, so that partial indexes are used
_IS_DEAD: Final = _DELIVERY.c.state == literal_column("'dead'")

_EARLIER: Final = _DELIVERY.alias("earlier")


def _waits_earlier(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(
        _EARLIER.c.state == literal_column("'waiting'"),
        _EARLIER.c.channel == _DELIVERY.c.channel,
        *conditions,
        _EARLIER.c.number < _DELIVERY.c.number,
        _EARLIER.c.subject == literal_column("'incidents'"),
    )


_FOLLOWS: Final = and_(
    _DELIVERY.c.subject == literal_column("'incidents'"),
    or_(
        _waits_earlier(_EARLIER.c.about == _DELIVERY.c.about),
        _waits_earlier(_EARLIER.c.about.is_(None)),
        and_(_DELIVERY.c.about.is_(None), _waits_earlier()),
    ),
)


class DeliveryReader(Repository):
    """Queries about messages."""

    def since(self, since: datetime, limit: int, *, subject: MessageSubject | None = None) -> list[Delivery]:
        """Return messages that were written since a moment, newest first: all, or those of a subject."""
        of_subject = [] if subject is None else [_DELIVERY.c.subject == subject]
        rows = self._connection.execute(
            select(*_DELIVERIES.columns)
            .where(_DELIVERY.c.created_at >= since, *of_subject)
            .order_by(_DELIVERY.c.created_at.desc(), _DELIVERY.c.number.desc())
            .limit(limit)
        )
        return _DELIVERIES.values(rows)

    def any_waiting(self) -> bool:
        """Check whether a message waits for being sent, now or later."""
        return self._connection.scalar(select(_DELIVERY.c.number).where(_IS_WAITING).limit(1)) is not None

    def get(self, delivery_id: str) -> Delivery:
        """Return one message.

        Raises:
            NotRecorded: there is none with that id.
        """
        rows = self._connection.execute(select(*_DELIVERIES.columns).where(_DELIVERY.c.id == delivery_id))
        delivery = _DELIVERIES.first(rows)
        if delivery is None:
            raise NotRecorded(f"message {delivery_id} is not in the store; 'tablewatch alert log' shows those that are")
        return delivery

    def states(self, delivery_ids: Iterable[str]) -> Mapping[str, DeliveryState]:
        """Return how far messages are, by id; those that retention took are left out."""
        batch = any_of(self._connection, delivery_ids, "delivery_id")
        rows = self._connection.execute(select(_DELIVERY.c.id, _DELIVERY.c.state).where(_DELIVERY.c.id.in_(batch)))
        return {row.id: row.state for row in rows}

    def sent_at(self, delivery_ids: Iterable[str]) -> Mapping[str, datetime]:
        """Return when messages were sent, by id; those that were not, or that retention took, are left out."""
        batch = any_of(self._connection, delivery_ids, "delivery_id")
        sent = select(_DELIVERY.c.id, _DELIVERY.c.sent_at).where(
            _DELIVERY.c.id.in_(batch), _DELIVERY.c.state == DeliveryState.SENT
        )
        return {row.id: row.sent_at for row in self._connection.execute(sent)}

    def count_by_state(self) -> Mapping[DeliveryState, int]:
        """Count messages by how far they are; every state is there."""
        number = select(func.count()).select_from(_DELIVERY)
        waiting = self._connection.scalar(number.where(_IS_WAITING)) or 0
        dead = self._connection.scalar(number.where(_IS_DEAD)) or 0
        sent = (self._connection.scalar(number) or 0) - waiting - dead  # no index has those alone: they are the most
        return {DeliveryState.WAITING: waiting, DeliveryState.SENT: sent, DeliveryState.DEAD: dead}

    def unsent_by_channel(self) -> Mapping[tuple[str, DeliveryState], int]:
        """Count the messages that wait and those that were given up, by channel; none that is 0."""
        return {
            (channel, state): number
            for state, condition in ((DeliveryState.WAITING, _IS_WAITING), (DeliveryState.DEAD, _IS_DEAD))
            for channel, number in Counter(
                self._connection.scalars(select(_DELIVERY.c.channel).where(condition))
            ).items()
        }

    def newest(self, channel: str) -> Delivery | None:
        """Return the message that was written last for a channel."""
        of_channel = select(*_DELIVERIES.columns).where(_DELIVERY.c.channel == channel)
        return _DELIVERIES.first(self._connection.execute(of_channel.order_by(_DELIVERY.c.created_at.desc()).limit(1)))

    def created_since(self, since: datetime, channels: Iterable[str]) -> Mapping[str, list[datetime]]:
        """Return when messages about incidents were written for channels, oldest first, whether they were sent or not.

        A channel that cannot be reached would otherwise be flooded when it can be again.
        """
        results: dict[str, list[datetime]] = {channel: [] for channel in channels}
        written = select(_DELIVERY.c.channel, _DELIVERY.c.created_at).where(
            _DELIVERY.c.channel.in_(any_of(self._connection, results, "channel")),
            _DELIVERY.c.created_at >= since,
            _DELIVERY.c.subject == MessageSubject.INCIDENTS,
        )
        for channel, moment in self._connection.execute(written):
            results[channel].append(moment)
        return {channel: sorted(moments) for channel, moments in results.items()}


class DeliveryWriter(DeliveryReader):
    """Statements that write messages."""

    def add(self, rows: Sequence[Delivery]) -> None:
        """Save messages to send, in this order.

        Raises:
            StoreConflict: one of them is there already.
        """
        self._insert(_DELIVERY, [_DELIVERIES.cells(row) for row in rows])

    def lease(
        self,
        now: datetime,
        *,
        holder: str,
        lease_until: datetime,
        limit: int,
        channels_busy: Collection[str] = (),
    ) -> list[Delivery]:
        """Claim messages that are due and that no one else attempts, the one that waits longest first.

        A message about incidents stays back while an earlier one of its channel waits that is about the same table; one
        about several tables follows all earlier ones, and all later ones follow it.
        """
        is_free = or_(_DELIVERY.c.lease_until_at.is_(None), _DELIVERY.c.lease_until_at <= now)
        due = select(_DELIVERY.c.number).where(_IS_WAITING, _DELIVERY.c.next_try_at <= now, is_free, ~_FOLLOWS)
        if channels_busy:
            due = due.where(_DELIVERY.c.channel.not_in(channels_busy))
        first = due.order_by(_DELIVERY.c.next_try_at, _DELIVERY.c.number).limit(limit).scalar_subquery()
        statement = update(_DELIVERY).where(_DELIVERY.c.number.in_(first))
        rows = self._connection.execute(
            statement.values(holder=holder, lease_until_at=lease_until).returning(
                *_DELIVERIES.columns, _DELIVERY.c.number
            )
        )
        return _DELIVERIES.values(sorted(rows, key=attrgetter("next_try_at", "number")))

    def take_back(self, now: datetime, *, holder: str) -> int:
        """Free the messages leased by others, when a new sender starts; return how many.

        The holders are dead or no longer send; at worst a message is sent twice, under the same id.
        """
        of_others = (_IS_WAITING, _DELIVERY.c.lease_until_at > now, _DELIVERY.c.holder != holder)
        return self._connection.execute(update(_DELIVERY).where(*of_others).values(lease_until_at=None)).rowcount

    def mark_sent(self, delivery_id: str, at: datetime, holder: str) -> bool:
        """Save that a message was sent; return whether it still waited.

        This holds for every sender: a message was delivered also if the lease had expired.
        """
        new = {"state": DeliveryState.SENT, "sent_at": at, "error": None, "holder": holder, "lease_until_at": None}
        return self._end_try(delivery_id, new)

    def retry(self, delivery_id: str, next_try_at: datetime, error: str, holder: str) -> bool:
        """Save that an attempt failed, and when the next one is; return whether this holder still had the lease."""
        new = {"next_try_at": next_try_at, "error": error, "lease_until_at": None}
        return self._end_try(delivery_id, new, only_of=holder)

    def mark_dead(self, delivery_id: str, at: datetime, error: str, holder: str) -> bool:
        """Mark a message as given up after its last try; return whether it was still this holder's."""
        new = {"state": DeliveryState.DEAD, "buried_at": at, "error": error, "lease_until_at": None}
        return self._end_try(delivery_id, new, only_of=holder)

    def hasten(self, channel: str, now: datetime) -> int:
        """Make failed messages due now on a channel that works again; return how many."""
        later = (_IS_WAITING, _DELIVERY.c.next_try_at > now, _DELIVERY.c.channel == channel, _DELIVERY.c.attempts > 0)
        return self._connection.execute(update(_DELIVERY).where(*later).values(next_try_at=now)).rowcount

    def set_back(self, now: datetime) -> None:
        """Set times that lie in the future to the present, since the clock was set back; what waits is tried now.

        When messages about incidents were written stays: the rate limit would take them for messages of this hour.
        """
        others = _DELIVERY.c.subject != MessageSubject.INCIDENTS
        for time, condition in (("next_try_at", _IS_WAITING), ("sent_at", true()), ("created_at", others)):
            later = update(_DELIVERY).where(_DELIVERY.c[time] > now, condition)
            self._connection.execute(later.values({time: now}))

    def resend(self, delivery_id: str, now: datetime) -> Delivery:
        """Try a message again from the beginning, under its id, however far it was.

        Raises:
            NotRecorded: there is none with that id.
        """
        delivery = self.get(delivery_id)
        waiting_again = {
            "state": DeliveryState.WAITING,
            "attempts": 0,
            "next_try_at": now,
            "sent_at": None,
            "buried_at": None,
            "error": None,
        }
        self._connection.execute(update(_DELIVERY).where(_DELIVERY.c.id == delivery.id).values(waiting_again))
        return self.get(delivery_id)

    def _end_try(self, delivery_id: str, new: Mapping[str, Any], *, only_of: str | None = None) -> bool:
        of_holder = [] if only_of is None else [_DELIVERY.c.holder == only_of]
        tried = update(_DELIVERY).where(_DELIVERY.c.id == delivery_id, _IS_WAITING, *of_holder)
        return self._connection.execute(tried.values({**new, "attempts": _DELIVERY.c.attempts + 1})).rowcount > 0
