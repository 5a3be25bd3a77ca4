"""One transaction of the store: repositories that share its connection."""

from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from sqlalchemy import Table, delete, func, insert, select

from incidents import State
from store._accounts import AccountReader, AccountWriter
from store._class_repository import ClassCountReader, ClassCountWriter
from store._daemons import DaemonReader, DaemonWriter
from store._deliveries import DeliveryReader, DeliveryWriter
from store._incident_repository import IncidentReader, IncidentWriter
from store._ledger_repository import LedgerReader, LedgerWriter
from store._outbox import OutboxReader, OutboxWriter
from store._releases import ReleaseEventReader, ReleaseEventWriter, ReleaseReader, ReleaseWriter
from store._repository import Repository
from store._result_repository import ResultReader, ResultWriter
from store._retention import Pruned, prune
from store._rows import (
    CheckStateRow,
    EpisodeRow,
    GapRow,
    IncidentEventRow,
    IncidentRow,
    MeasurementRow,
    ProjectRow,
    RunRow,
)
from store._schedule import ScheduleReader, ScheduleWriter
from store._silences import SilenceReader, SilenceWriter
from store._slots import SlotReader, SlotWriter
from store._values import Counts

_PROJECT: Final = ProjectRow.__table__


class ReadTransaction(Repository):
    """One state of the store, unmoved by what others write meanwhile. Repositories return core values, never rows."""

    @cached_property
    def results(self) -> ResultReader:
        """Return the repository of runs, results, the state of checks, unobserved time."""
        return ResultReader(self._connection)

    @cached_property
    def incidents(self) -> IncidentReader:
        """Return the repository of incidents with episodes and events."""
        return IncidentReader(self._connection)

    @cached_property
    def schedule(self) -> ScheduleReader:
        """Return the repository of when tables are due, and the clock."""
        return ScheduleReader(self._connection)

    @cached_property
    def slots(self) -> SlotReader:
        """Return the repository of which daemon runs which slot, under which lease."""
        return SlotReader(self._connection)

    @cached_property
    def daemons(self) -> DaemonReader:
        """Return the repository of daemons and quarantined checks."""
        return DaemonReader(self._connection)

    @cached_property
    def outbox(self) -> OutboxReader:
        """Return the repository of changes of incidents that wait for a decision, and what channels were told."""
        return OutboxReader(self._connection)

    @cached_property
    def deliveries(self) -> DeliveryReader:
        """Return the repository of messages and how far they are."""
        return DeliveryReader(self._connection)

    @cached_property
    def silences(self) -> SilenceReader:
        """Return the repository of silences and disabled channels."""
        return SilenceReader(self._connection)

    @cached_property
    def classes(self) -> ClassCountReader:
        """Return the repository of class counts that are carried from run to run."""
        return ClassCountReader(self._connection)

    @cached_property
    def releases(self) -> ReleaseReader:
        """Return the repository of earlier releases, as signatures of persons and classes."""
        return ReleaseReader(self._connection)

    @cached_property
    def release_events(self) -> ReleaseEventReader:
        """Return the repository of decisions about releases, and exports."""
        return ReleaseEventReader(self._connection)

    @cached_property
    def ledger(self) -> LedgerReader:
        """Return the repository of privacy budgets and the chained entries of the ledger."""
        return LedgerReader(self._connection)

    @cached_property
    def accounts(self) -> AccountReader:
        """Return the repository of who may use the web application."""
        return AccountReader(self._connection)

    def project(self) -> str | None:
        """Return the name of the project whose store this is, None before it was said."""
        name: str | None = self._connection.scalar(select(_PROJECT.c.name))
        return name

    def counts(self) -> Counts:
        """Count what the store holds."""
        open_ones = select(func.count()).where(IncidentRow.__table__.c.state != State.RESOLVED)
        return Counts(
            runs=self._count(RunRow.__table__),
            measurements=self._count(MeasurementRow.__table__),
            checks=self._count(CheckStateRow.__table__),
            incidents=self._count(IncidentRow.__table__),
            open_incidents=self._connection.scalar(open_ones) or 0,
            episodes=self._count(EpisodeRow.__table__),
            events=self._count(IncidentEventRow.__table__),
            gaps=self._count(GapRow.__table__),
        )

    def _count(self, table: Table) -> int:
        return self._connection.scalar(select(func.count()).select_from(table)) or 0


class WriteTransaction(ReadTransaction):
    """The one transaction that writes; its repositories read too, and see what was written before in it."""

    @cached_property
    def results(self) -> ResultWriter:
        """Return the repository of runs, results, the state of checks, unobserved time."""
        return ResultWriter(self._connection)

    @cached_property
    def incidents(self) -> IncidentWriter:
        """Return the repository of incidents with episodes and events."""
        return IncidentWriter(self._connection)

    @cached_property
    def schedule(self) -> ScheduleWriter:
        """Return the repository of when tables are due, and the clock."""
        return ScheduleWriter(self._connection)

    @cached_property
    def slots(self) -> SlotWriter:
        """Return the repository of which daemon runs which slot, under which lease."""
        return SlotWriter(self._connection)

    @cached_property
    def daemons(self) -> DaemonWriter:
        """Return the repository of daemons and quarantined checks."""
        return DaemonWriter(self._connection)

    @cached_property
    def outbox(self) -> OutboxWriter:
        """Return the repository of changes of incidents that wait for a decision, and what channels were told."""
        return OutboxWriter(self._connection)

    @cached_property
    def deliveries(self) -> DeliveryWriter:
        """Return the repository of messages and how far they are."""
        return DeliveryWriter(self._connection)

    @cached_property
    def silences(self) -> SilenceWriter:
        """Return the repository of silences and disabled channels."""
        return SilenceWriter(self._connection)

    @cached_property
    def classes(self) -> ClassCountWriter:
        """Return the repository of class counts that are carried from run to run."""
        return ClassCountWriter(self._connection)

    @cached_property
    def releases(self) -> ReleaseWriter:
        """Return the repository of earlier releases, as signatures of persons and classes."""
        return ReleaseWriter(self._connection)

    @cached_property
    def release_events(self) -> ReleaseEventWriter:
        """Return the repository of decisions about releases, and exports."""
        return ReleaseEventWriter(self._connection)

    @cached_property
    def ledger(self) -> LedgerWriter:
        """Return the repository of privacy budgets and the chained entries of the ledger."""
        return LedgerWriter(self._connection)

    @cached_property
    def accounts(self) -> AccountWriter:
        """Return the repository of who may use the web application."""
        return AccountWriter(self._connection)

    def name_project(self, name: str) -> None:
        """Report whose store this is, in place of what was said before."""
        self._connection.execute(delete(_PROJECT))
        self._connection.execute(insert(_PROJECT).values(id=1, name=name))

    def prune(self, *, keep_measurements: timedelta, keep_incidents: timedelta, now: datetime) -> Pruned:
        """Forget a batch of what is older than it has to be kept; see `Store.prune`."""
        measured, incidents = now - keep_measurements, now - keep_incidents
        return prune(self._connection, measured_before=measured, incidents_before=incidents, now=now)
