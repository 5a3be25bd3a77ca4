"""Store silences and disabled channels."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from sqlalchemy import delete, insert, or_, select, update

from store._columns import Mapped
from store._errors import NotRecorded, StoreError
from store._notice_rows import DisabledChannelRow, SilenceRow
from store._notices import Disabled, Scope, Silence
from store._repository import Repository

_SILENCE: Final = SilenceRow.__table__
_DISABLED: Final = DisabledChannelRow.__table__
_SILENCES: Final = Mapped(SilenceRow, Silence, by="actor")
_WHY: Final = Mapped(DisabledChannelRow, Disabled, at="disabled_at")
_NEWEST_FIRST: Final = select(*_SILENCES.columns).order_by(_SILENCE.c.id.desc())


class SilenceReader(Repository):
    """Queries about silences and channels."""

    def all(self, active_at: datetime | None = None) -> list[Silence]:
        """Return the silences that hold at a moment, else all that are known; newest first."""
        statement = _NEWEST_FIRST
        if active_at is not None:
            not_ended = or_(_SILENCE.c.ended_at.is_(None), _SILENCE.c.ended_at > active_at)
            statement = statement.where(_SILENCE.c.starts_at <= active_at, _SILENCE.c.until_at > active_at, not_ended)
        return _SILENCES.values(self._connection.execute(statement))

    def get(self, number: int) -> Silence:
        """Return a silence.

        Raises:
            NotRecorded: there is none of that number.
        """
        silence = _SILENCES.first(self._connection.execute(_NEWEST_FIRST.where(_SILENCE.c.id == number)))
        if silence is None:
            raise NotRecorded(f"silence {number} is not in the store; 'tablewatch silence list' shows those that are")
        return silence

    def disabled_channels(self) -> Mapping[str, Disabled]:
        """Return the channels that are not used, with why and since when."""
        rows = self._connection.execute(select(_DISABLED.c.name, *_WHY.columns).order_by(_DISABLED.c.name))
        return {name: _WHY.value(why) for name, *why in rows}


class SilenceWriter(SilenceReader):
    """Statements that write silences and channels."""

    def add(
        self, *, scope: Scope, name: str | None, starts_at: datetime, until: datetime, reason: str, by: str
    ) -> Silence:
        """Silence a table, a domain's tables or everything until a time; return the silence with its number.

        Raises:
            StoreError: it would end before it begins, or its name does not go with its scope.
        """
        if until <= starts_at:
            raise StoreError("a silence must end after it begins")
        if (name is None) != (scope == Scope.ALL):
            raise StoreError("a silence of all tables has no name; one of a domain or a table names it")
        row = {"scope": scope, "name": name, "starts_at": starts_at, "until_at": until, "reason": reason, "actor": by}
        number = self._connection.scalars(insert(_SILENCE).values(row).returning(_SILENCE.c.id)).one()
        return self.get(number)

    def end(self, silence_id: int, at: datetime) -> Silence:
        """End a silence before its time; one that is over stays as it ended.

        Raises:
            NotRecorded: there is none of that number.
        """
        silence = self.get(silence_id)
        if silence.ended_at is None and at < silence.until:
            self._connection.execute(update(_SILENCE).where(_SILENCE.c.id == silence_id).values(ended_at=at))
        return self.get(silence_id)

    def set_back(self, now: datetime) -> None:
        """Set the beginning and the early end of silences that lie in the future to the present."""
        for time in ("starts_at", "ended_at"):
            self._connection.execute(update(_SILENCE).where(_SILENCE.c[time] > now).values({time: now}))

    def disable_channel(self, name: str, why: str, at: datetime) -> None:
        """Disable a channel; one that is disabled already keeps its reason."""
        row = self._upsert(_DISABLED).values(name=name, why=why, disabled_at=at)
        self._connection.execute(row.on_conflict_do_nothing(index_elements=[_DISABLED.c.name]))

    def enable_channel(self, name: str) -> bool:
        """Enable a channel; return whether it was disabled."""
        return self._connection.execute(delete(_DISABLED).where(_DISABLED.c.name == name)).rowcount > 0
