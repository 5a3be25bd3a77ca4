"""Store the warnings of checks that open no incident: which last, and their changes, for the outbox."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, insert, select, update

from incidents import WarningSpell
from store._columns import columns_of
from store._notice_rows import TransitionRow, WarningRow
from store._notices import Changed
from store._outbox import AT_ONCE
from store._repository import Repository, any_of

_WARNING: Final = WarningRow.__table__
_TRANSITION: Final = TransitionRow.__table__
_FIELDS: Final = {"table_name": "table"}


class WarningReader(Repository):
    """Queries about warnings."""

    def lasting(self, check_ids: Iterable[str] | None = None) -> Mapping[str, WarningSpell]:
        """Return the warnings that last, all or those of some checks and their segments, by series."""
        lasting = _warnings().where(_WARNING.c.ended_at.is_(None))
        if check_ids is not None:
            lasting = lasting.where(_WARNING.c.check_id.in_(any_of(self._connection, check_ids, "check_id")))
        return {spell.series: spell for spell in self._read(lasting)}

    def get_many(self, ids: Iterable[int]) -> Mapping[int, WarningSpell]:
        """Return warnings by id; those that are gone are left out."""
        wanted = _warnings().where(_WARNING.c.id.in_(any_of(self._connection, ids, "warning_number")))
        return {spell.id: spell for spell in self._read(wanted)}

    def _read(self, statement: Select[Any]) -> list[WarningSpell]:
        return [
            WarningSpell(**{_FIELDS.get(name, name): cell for name, cell in row.items()})
            for row in self._connection.execute(statement).mappings()
        ]


class WarningWriter(WarningReader):
    """Statements that write warnings."""

    def save(self, spell: WarningSpell, recorded_at: datetime) -> WarningSpell:
        """Start, continue or end a warning, and return it; a start and an end are written into the outbox.

        Raises:
            StoreError: its series has a warning already that lasts.
        """
        if spell.id == 0:
            number = self._connection.execute(
                insert(_WARNING).values(_cells(spell)).returning(_WARNING.c.id)
            ).scalar_one()
            self._announce(number, Changed.OPENED, recorded_at)
            return replace(spell, id=number)
        lasting = update(_WARNING).where(_WARNING.c.id == spell.id, _WARNING.c.ended_at.is_(None))
        is_changed = self._connection.execute(lasting.values(_cells(spell))).rowcount
        if is_changed and spell.ended_at is not None:
            self._announce(spell.id, Changed.RESOLVED, recorded_at)
        return spell

    def set_back(self, now: datetime) -> None:
        """Set the ends of warnings that lie in the future to the present, since the clock was set back.

        `began_at` stays: with the series it identifies a warning in the messages about it.
        """
        for time in ("passing_since", "ended_at"):
            self._connection.execute(update(_WARNING).where(_WARNING.c[time] > now).values({time: now}))

    def _announce(self, number: int, change: Changed, recorded_at: datetime) -> None:
        row = {"warning_id": number, "change": change, "recorded_at": recorded_at, "not_before_at": AT_ONCE}
        self._insert(_TRANSITION, [row])


def _warnings() -> Select[Any]:
    return select(*columns_of(WarningRow))


def _cells(spell: WarningSpell) -> Mapping[str, Any]:
    names = (column.key for column in _WARNING.c if column.key != "id")
    return {name: getattr(spell, _FIELDS.get(name, name)) for name in names}
