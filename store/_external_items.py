"""Store the items of incidents in external services, and the label by which such a service finds them again."""

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, exists, literal_column, select, update

from incidents import State
from store._columns import Mapped
from store._notice_rows import ExternalItemRow, LastNotificationRow
from store._notices import ExternalItem
from store._repository import Repository
from store._rows import EpisodeRow, IncidentRow

_ITEM: Final = ExternalItemRow.__table__
_ITEMS: Final = Mapped(ExternalItemRow, ExternalItem)
_INCIDENT: Final = IncidentRow.__table__
_EPISODE: Final = EpisodeRow.__table__
_NOTIFIED: Final = LastNotificationRow.__table__


class ExternalItemReader(Repository):
    """Queries about external items."""

    def of_incident(self, incident_id: int) -> list[ExternalItem]:
        """Return what an incident is in each service, by channel."""
        statement = select(*_ITEMS.columns).where(_ITEM.c.incident_id == incident_id)
        return _ITEMS.values(self._connection.execute(statement.order_by(_ITEM.c.channel)))

    def lasting(self, channel: str) -> list[ExternalItem]:
        """Return what incidents that last are in the service of a channel, where the service has named it."""
        lasting = select(_INCIDENT.c.id).where(_INCIDENT.c.state != literal_column("'resolved'"))  # has an index
        statement = select(*_ITEMS.columns).where(
            _ITEM.c.incident_id.in_(lasting), _ITEM.c.channel == channel, _ITEM.c.item.is_not(None)
        )
        return _ITEMS.values(self._connection.execute(statement.order_by(_ITEM.c.incident_id)))

    def unheard_acknowledgements(self, reasons_heard: Mapping[str, Iterable[str]], since: datetime) -> set[int]:
        """Return acknowledged incidents whose opening a channel was notified of, but not their acknowledgement.

        `reasons_heard`: by channel, reasons of its last notification after which no other one is needed; `since`: only
        those acknowledged since then.
        """
        acknowledged = select(_INCIDENT.c.id).where(
            _INCIDENT.c.state != literal_column("'resolved'"),  # has an index
            _INCIDENT.c.state == State.ACKNOWLEDGED,
            exists().where(_EPISODE.c.incident_id == _INCIDENT.c.id, _EPISODE.c.acknowledged_at >= since),
        )
        return {
            number
            for channel, reasons in reasons_heard.items()
            for number in self._connection.scalars(
                select(_NOTIFIED.c.incident_id).where(
                    _NOTIFIED.c.incident_id.in_(acknowledged),
                    _NOTIFIED.c.channel == channel,
                    _NOTIFIED.c.reason.not_in(list(reasons)),
                )
            )
        }


class ExternalItemWriter(ExternalItemReader):
    """Statements that write external items."""

    def begin(
        self, incident_id: int, channel: str, target: str, now: datetime, *, settles_s: float
    ) -> tuple[ExternalItem, bool] | None:
        """Return what an incident is in the service of a channel, and whether this is the first try to make it.

        The first try writes its label down. A try that comes `settles_s` or more after the last one that may have made
        the item may make it too, and becomes the last one. A channel that leads elsewhere by now begins again. None for
        an incident that is not in the store any more.
        """
        is_item = (_ITEM.c.incident_id == incident_id, _ITEM.c.channel == channel)
        item = _ITEMS.first(self._connection.execute(select(*_ITEMS.columns).where(*is_item)))
        if item is not None and item.target == target:
            if item.item is None and now - item.begun_at >= timedelta(seconds=settles_s):
                self._connection.execute(update(_ITEM).where(*is_item).values(begun_at=now))
            return item, False
        self._connection.execute(delete(_ITEM).where(*is_item))
        if not self._connection.scalar(select(exists().where(_INCIDENT.c.id == incident_id))):
            return None
        item = ExternalItem(incident_id, channel, target, f"tablewatch-{incident_id}-{secrets.token_hex(6)}", now)
        self._insert(_ITEM, [_ITEMS.cells(item)])
        return item, True

    def set_back(self, now: datetime) -> None:
        """Set the beginnings of attempts that lie in the future to the present, since the clock was set back."""
        self._connection.execute(update(_ITEM).where(_ITEM.c.begun_at > now).values(begun_at=now))

    def save(self, label: str, *, item: str, status: str | None) -> bool:
        """Save the item's name in the service, and its status if that is known; return whether the label is in use."""
        new_status = {} if status is None else {"status": status}
        changed = update(_ITEM).where(_ITEM.c.label == label).values(item=item, **new_status)
        return self._connection.execute(changed).rowcount > 0

    def note_status(self, item: ExternalItem, status: str) -> bool:
        """Save a status that was read, unless it was changed since the item was; return whether it was saved."""
        unchanged = _ITEM.c.status.is_(None) if item.status is None else _ITEM.c.status == item.status
        changed = update(_ITEM).where(_ITEM.c.label == item.label, unchanged).values(status=status)
        return self._connection.execute(changed).rowcount > 0
