"""Rename tables, checks, domains and owners in all that is stored, in one transaction.

`NAME_COLUMNS` is the one list of columns that hold names; docs/store-tables.md and a test of the schema read it. Facts
are never rewritten: an incident gets an event, budgets, exports and logged events are read under their present name,
and where a chain of the ledger vouches for one of these, the change of the name is an entry of it.
See docs/adr/0100-a-rename-is-a-fact.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Column, Index, Table, Text, bindparam, func, or_, select, type_coerce, update

from incidents import Renamed
from store._columns import STRICT, Mapped, Row, key, line, map_all_rows, one_of, time, word
from store._errors import StoreConflict
from store._incident_repository import IncidentWriter
from store._ledger_repository import LedgerWriter
from store._repository import Repository
from store._rows import CheckStateRow, IncidentRow, MeasurementRow, SeriesRow
from store._values import NameChange, NamedThing
from store._work import SlotState
from store._work_rows import SlotRow


class OnRename(StrEnum):
    """What a rename does to a column."""

    REWRITTEN = "written again"
    EVENT = "changed by an event of the incident"
    RESOLVED = "read under its present name"
    KEPT = "stays as it was"


@dataclass(frozen=True, slots=True)
class NameColumns:
    """Columns, as `table.column`, that hold names of one kind, and what a rename does to them."""

    holds: str
    on_rename: OnRename
    columns: tuple[str, ...]

    @classmethod
    def of(cls, holds: str, on_rename: OnRename, columns: str) -> "NameColumns":
        """Return them of a text with blanks between the columns."""
        return cls(holds, on_rename, tuple(columns.split()))


NAME_COLUMNS: Final = (
    NameColumns.of(
        "tables",
        OnRename.REWRITTEN,
        "closed_part.name daily_cost.table_name delivery.about gap.table_name run.table_name schedule.table_name "
        "series.table_name silence.name skip.table_name slot.table_name status_address.name warning.table_name",
    ),
    NameColumns.of(
        "checks",
        OnRename.REWRITTEN,
        "check_state.check_id class_state.subject gap.check_id quarantine.check_id series.check_id warning.check_id "
        "warning.series",
    ),
    NameColumns.of(
        "domains and owners",
        OnRename.REWRITTEN,
        "api_token.scope login_link.scope web_session.scope web_user.scope",
    ),
    NameColumns.of(
        "the table and check of an incident",
        OnRename.EVENT,
        "incident.check_id incident.fingerprint incident.table_name",
    ),
    NameColumns.of(
        "tables and checks, in facts",
        OnRename.RESOLVED,
        "logged_event.table_name privacy_budget.data_set release.subject",
    ),
    NameColumns.of("names before and after a rename", OnRename.KEPT, "name_change.new_name name_change.old_name"),
    NameColumns.of(
        "people and tokens",
        OnRename.KEPT,
        "api_token.name incident.assignee incident_event.actor ledger_entry.actor logged_event.actor login_link.name "
        "name_change.actor release_event.actor silence.actor status_address.actor web_session.name web_user.name",
    ),
    NameColumns.of(
        "any of them, in JSON",
        OnRename.KEPT,
        "answered_request.answer daemon_config.packed delivery.payload incident_event.body ledger_entry.body "
        "ledger_entry.request measurement.message_values measurement.observed message_text.body "
        "release_comparison.body release_event.body incident.title_values transition.decision warning.title_values",
    ),
    NameColumns.of(
        "any of them, in titles and texts of people",
        OnRename.KEPT,
        "incident.cause incident.title logged_event.job logged_event.note release_event.note silence.reason "
        "warning.title",
    ),
)


class NameChangeRow(Row, table=True):
    """A rename, as it was carried out."""

    __tablename__ = "name_change"
    __table_args__ = (Index(None, "recorded_at"), one_of("kind", NamedThing), STRICT)

    id: int = key()
    kind: NamedThing = word(NamedThing)
    old_name: str = line()
    new_name: str = line()
    actor: str = line()
    recorded_at: datetime = time("recorded_us", "recorded_at")


_CHANGE: Final = NameChangeRow.__table__
_CHANGES: Final = Mapped(NameChangeRow, NameChange, old="old_name", new="new_name")
_SERIES: Final = SeriesRow.__table__
_STATE: Final = CheckStateRow.__table__
_MEASUREMENT: Final = MeasurementRow.__table__
_INCIDENT: Final = IncidentRow.__table__
_SLOT: Final = SlotRow.__table__
_BATCH: Final = 1000


class NameReader(Repository):
    """Queries about renames."""

    def changes(self, since: datetime | None = None) -> list[NameChange]:
        """Return the renames since a time, the oldest first."""
        statement = select(*_CHANGES.columns).order_by(_CHANGE.c.id)
        if since is not None:
            statement = statement.where(_CHANGE.c.recorded_at >= since)
        return _CHANGES.values(self._connection.execute(statement))

    def is_used(self, change: NameChange) -> bool:
        """Check whether results or incidents are stored under the new name of a table or check already."""
        is_table = change.kind is NamedThing.TABLE
        columns = [(table.c.table_name if is_table else table.c.check_id) for table in (_SERIES, _INCIDENT)]
        return any(self._connection.scalar(select(func.count()).where(column == change.new)) for column in columns)


class NameWriter(NameReader):
    """Statements that rename."""

    def rename(
        self, change: NameChange, *, also: Mapping[str, str] | None = None, marks: Iterable[str] = ()
    ) -> Mapping[str, int]:
        """Carry out a rename and record it; return how many rows it changed, by column.

        What runs under the old name at the moment is given up. Where both names have results, those of the new name
        follow those of the old.

        Args:
            change: the rename.
            also: names that are made of it, such as those of slots, with what they become.
            marks: by what the table is known from now on, for its budgets.

        Raises:
            StoreConflict: an incident is open under both names, or a budget has the new one.
        """
        names, counts = dict(also or {}), {}
        running = (_SLOT.c.table_name.in_([change.old, *names]), _SLOT.c.state == SlotState.RUNNING)
        if change.kind is NamedThing.TABLE:
            given_up = {"state": SlotState.GIVEN_UP, "ended_at": change.recorded_at}
            self._connection.execute(update(_SLOT).where(*running).values(given_up))
        tables = map_all_rows().tables
        for group in NAME_COLUMNS:
            for place in group.columns if group.on_rename is OnRename.REWRITTEN else ():
                table, _, name = place.partition(".")
                column = next(item for item in tables[table].c if item.name == name)
                counts[place] = self._rewrite(tables[table], column, change, names)
        counts["incident"] = self._rename_incidents(change)
        counts["ledger_entry"] = self._record_in_ledger(change, marks)
        self._insert(_CHANGE, [_CHANGES.cells(change)])
        return {place: rows for place, rows in counts.items() if rows}

    def _rewrite(self, table: Table, column: Column[Any], change: NameChange, names: Mapping[str, str]) -> int:
        if column.name == "scope":
            return self._rewrite_scopes(table, change)
        where = [type_coerce(table.c.scope, Text) == change.kind.value] if "scope" in table.c else []
        if change.kind not in {NamedThing.TABLE, NamedThing.CHECK} and not where:
            return 0
        like = or_(column.in_([change.old, *names]), *(column.startswith(f"{change.old}{end}") for end in ".["))
        rows, taken = 0, set(self._connection.scalars(select(column).distinct().where(*where, column.is_not(None))))
        for value in self._connection.scalars(select(column).distinct().where(*where, like)).all():
            new = names.get(value) or change.renamed(value)
            if new == value:
                continue
            if new in taken and table is _SERIES and column is _SERIES.c.check_id:
                rows += self._join_series(value, new)
            elif new in taken and table is _STATE:
                self._extend_monitoring(value, new)
            elif new not in taken or not (column.primary_key or table.name in {"class_state", "warning"}):
                rows += self._connection.execute(
                    update(table).where(*where, column == value).values({column: new})
                ).rowcount
        return rows

    def _join_series(self, old: str, new: str) -> int:
        """Move the results of one series to another, which follows it."""
        first, second = (
            self._connection.scalar(select(_SERIES.c.id).where(_SERIES.c.check_id == name)) for name in (old, new)
        )
        moved = update(_MEASUREMENT).where(_MEASUREMENT.c.series == first).values(series=second)
        rows = self._connection.execute(moved).rowcount
        self._connection.execute(_SERIES.delete().where(_SERIES.c.id == first))
        return rows

    def _extend_monitoring(self, old: str, new: str) -> None:
        since = self._connection.scalar(
            select(func.min(_STATE.c.monitored_since)).where(_STATE.c.check_id.in_([old, new]))
        )
        self._connection.execute(update(_STATE).where(_STATE.c.check_id == new).values(monitored_since=since))
        self._connection.execute(_STATE.delete().where(_STATE.c.check_id == old))

    def _rewrite_scopes(self, table: Table, change: NameChange) -> int:
        part = {NamedThing.DOMAIN: "domains", NamedThing.OWNER: "owners"}.get(change.kind)
        keys = list(table.primary_key)
        changed = []
        for *of_row, scope in self._connection.execute(select(*keys, table.c.scope)).all() if part else ():
            if change.old in scope.get(part, ()):
                names = [change.renamed(name) for name in scope[part]]
                changed.append({**{f"k{at}": value for at, value in enumerate(of_row)}, "new": {**scope, part: names}})
        if changed:
            where = [column == bindparam(f"k{at}") for at, column in enumerate(keys)]
            self._connection.execute(update(table).where(*where).values(scope=bindparam("new")), changed)
        return len(changed)

    def _rename_incidents(self, change: NameChange) -> int:
        """Add an event to each incident of the table or check."""
        if change.kind not in {NamedThing.TABLE, NamedThing.CHECK}:
            return 0
        column = _INCIDENT.c.table_name if change.kind is NamedThing.TABLE else _INCIDENT.c.check_id
        ids: Sequence[int] = self._connection.scalars(select(_INCIDENT.c.id).where(column == change.old)).all()
        incidents = IncidentWriter(self._connection)
        for at in range(0, len(ids), _BATCH):
            changes = {
                incident.id: Renamed(
                    table=change.renamed(incident.table),
                    fingerprint=change.renamed(incident.fingerprint),
                    check_id=None if incident.check_id is None else change.renamed(incident.check_id),
                )
                for incident in incidents.get_many(ids[at : at + _BATCH]).values()
            }
            incidents.append_each(changes, recorded_at=change.recorded_at, actor=change.actor)
        return len(ids)

    def _record_in_ledger(self, change: NameChange, marks: Iterable[str]) -> int:
        """Chain the rename where the ledger has entries, which may be of the old name."""
        ledger = LedgerWriter(self._connection)
        if change.kind not in {NamedThing.TABLE, NamedThing.CHECK} or not ledger.head().number:
            return 0
        named = [stored for stored in ledger.budgets() if ledger.balance(stored).budget.data_set == change.old]
        if change.kind is NamedThing.TABLE:
            if any(ledger.balance(stored).budget.data_set == change.new for stored in ledger.budgets()):
                raise StoreConflict(
                    f"'{change.new}' has a privacy budget of its own; budgets of two tables never become one"
                )
            if named:
                ledger.identify(named[0], marks, actor=change.actor, now=change.recorded_at)
        ledger.record_rename(change)
        return 1
