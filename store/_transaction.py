"""One transaction of the store: repositories that share its connection."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Table, delete, func, insert, select

from incidents import State
from store._repository import Repository
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
from store._values import Counts

if TYPE_CHECKING:
    from store._accounts import AccountReader, AccountWriter
    from store._answered_requests import AnsweredRequestReader, AnsweredRequestWriter
    from store._class_repository import ClassCountReader, ClassCountWriter
    from store._costs import CostReader
    from store._daemons import DaemonReader, DaemonWriter
    from store._deliveries import DeliveryReader, DeliveryWriter
    from store._external_items import ExternalItemReader, ExternalItemWriter
    from store._incident_repository import IncidentReader, IncidentWriter
    from store._ledger_repository import LedgerReader, LedgerWriter
    from store._logged_events import LoggedEventReader, LoggedEventWriter
    from store._names import NameReader, NameWriter
    from store._outbox import OutboxReader, OutboxWriter, WarningReader, WarningWriter
    from store._rebuild import EventComparison
    from store._releases import ReleaseEventReader, ReleaseEventWriter, ReleaseReader, ReleaseWriter
    from store._result_repository import ResultReader, ResultWriter
    from store._retention import Pruned
    from store._schedule import ScheduleReader, ScheduleWriter
    from store._silences import SilenceReader, SilenceWriter
    from store._slots import SlotReader, SlotWriter
    from store._status_addresses import StatusAddressReader, StatusAddressWriter
    from store._trusted_time import TrustedTime

_PROJECT: Final = ProjectRow.__table__


_MAPPING: Final = RLock()
"""One thread at a time maps rows: SQLAlchemy's catalogue of tables is one for all."""


def _repository(place: str) -> Any:
    """Return a property that is a repository; its rows are mapped when a transaction first asks for it."""

    def make(self: Repository) -> Any:
        module, _, name = place.partition(".")
        with _MAPPING:
            repository = getattr(import_module(f"store.{module}"), name)
        return repository(self._connection)

    return cached_property(make)


class ReadTransaction(Repository):
    """One state of the store, unmoved by what others write meanwhile. Repositories return core values, never rows."""

    results: ResultReader = _repository("_result_repository.ResultReader")
    """Runs, results, the state of checks, unobserved time."""

    incidents: IncidentReader = _repository("_incident_repository.IncidentReader")
    """Incidents with episodes and events."""

    costs: CostReader = _repository("_costs.CostReader")
    """The cost of runs by source, table and day."""

    schedule: ScheduleReader = _repository("_schedule.ScheduleReader")
    """The schedule of tables, and the clock."""

    slots: SlotReader = _repository("_slots.SlotReader")
    """Which daemon runs which slot, under which lease."""

    daemons: DaemonReader = _repository("_daemons.DaemonReader")
    """Daemons and quarantined checks."""

    outbox: OutboxReader = _repository("_outbox.OutboxReader")
    """Changes of incidents that wait for a decision, and notifications of channels."""

    warnings: WarningReader = _repository("_outbox.WarningReader")
    """Warnings of checks that open no incident."""

    deliveries: DeliveryReader = _repository("_deliveries.DeliveryReader")
    """Messages and how far they are."""

    external_items: ExternalItemReader = _repository("_external_items.ExternalItemReader")
    """Incidents in external services: pages, messages, tickets."""

    silences: SilenceReader = _repository("_silences.SilenceReader")
    """Silences and disabled channels."""

    logged_events: LoggedEventReader = _repository("_logged_events.LoggedEventReader")
    """Deployments and other events that people log."""

    classes: ClassCountReader = _repository("_class_repository.ClassCountReader")
    """Class counts that are carried from run to run."""

    releases: ReleaseReader = _repository("_releases.ReleaseReader")
    """Earlier releases, as signatures of people and classes."""

    release_events: ReleaseEventReader = _repository("_releases.ReleaseEventReader")
    """Decisions about releases, and exports."""

    ledger: LedgerReader = _repository("_ledger_repository.LedgerReader")
    """Privacy budgets and the chained entries of the ledger."""

    accounts: AccountReader = _repository("_accounts.AccountReader")
    """Accounts of the web application."""

    answered_requests: AnsweredRequestReader = _repository("_answered_requests.AnsweredRequestReader")
    """Requests of programs with a key, and their answers."""

    status_addresses: StatusAddressReader = _repository("_status_addresses.StatusAddressReader")
    """Addresses of status pages for consumers."""

    names: NameReader = _repository("_names.NameReader")
    """Renames of tables, checks, domains and owners."""

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

    results: ResultWriter = _repository("_result_repository.ResultWriter")
    incidents: IncidentWriter = _repository("_incident_repository.IncidentWriter")
    schedule: ScheduleWriter = _repository("_schedule.ScheduleWriter")
    slots: SlotWriter = _repository("_slots.SlotWriter")
    daemons: DaemonWriter = _repository("_daemons.DaemonWriter")
    outbox: OutboxWriter = _repository("_outbox.OutboxWriter")
    warnings: WarningWriter = _repository("_outbox.WarningWriter")
    deliveries: DeliveryWriter = _repository("_deliveries.DeliveryWriter")
    external_items: ExternalItemWriter = _repository("_external_items.ExternalItemWriter")
    silences: SilenceWriter = _repository("_silences.SilenceWriter")
    logged_events: LoggedEventWriter = _repository("_logged_events.LoggedEventWriter")
    classes: ClassCountWriter = _repository("_class_repository.ClassCountWriter")
    releases: ReleaseWriter = _repository("_releases.ReleaseWriter")
    release_events: ReleaseEventWriter = _repository("_releases.ReleaseEventWriter")
    ledger: LedgerWriter = _repository("_ledger_repository.LedgerWriter")
    accounts: AccountWriter = _repository("_accounts.AccountWriter")
    answered_requests: AnsweredRequestWriter = _repository("_answered_requests.AnsweredRequestWriter")
    status_addresses: StatusAddressWriter = _repository("_status_addresses.StatusAddressWriter")
    names: NameWriter = _repository("_names.NameWriter")

    def name_project(self, name: str) -> None:
        """Report whose store this is, in place of what was said before."""
        self._connection.execute(delete(_PROJECT))
        self._connection.execute(insert(_PROJECT).values(id=1, name=name))

    def recorded_time(self) -> datetime | None:
        """Return the trusted time that a process recorded last; None in an empty store, or if a person confirmed it."""
        from store._trusted_time import trusted_times

        trusted, confirmed = trusted_times(self._connection)
        return None if trusted == confirmed else trusted

    def record_time(self, trusted: TrustedTime, *, now: datetime, monotonic: float, boot: str | None) -> None:
        """Record the time, as far as it is trusted."""
        trusted.record(self._connection, now=now, monotonic=monotonic, boot=boot)

    def record_comparison(self, comparison: EventComparison, now: datetime) -> None:
        """Record that incidents agreed with their events."""
        from store._rebuild import record_comparison

        record_comparison(self._connection, comparison, now)

    def note_postponed(self, now: datetime) -> bool:
        """Return whether it was not noted within the last day that data waits, and record that it is now."""
        from store._trusted_time import note

        return note(self._connection, now)

    def confirm_time(self, at: datetime, *, monotonic: float = 0.0, boot: str | None = None) -> None:
        """Record that a person confirmed the time: by it, data is deleted by age."""
        from store._trusted_time import trust

        trust(self._connection, at, confirmed=True, monotonic=monotonic, boot=boot)

    def prune(self, *, keep_measurements: timedelta, keep_incidents: timedelta, now: datetime) -> Pruned:
        """Delete a batch of rows past their retention; see `Store.prune`."""
        from store._retention import prune

        measured, incidents = now - keep_measurements, now - keep_incidents
        return prune(self._connection, measured_before=measured, incidents_before=incidents, now=now)
