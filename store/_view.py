"""Look at the store: one state of it, seen through one transaction."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Table, func, select

from checks import Earlier, Past, Status
from incidents import Event, Gap, Incident, Spans, State, Watch
from store import _incidents, _measurements
from store._class_counts import ClassCountView
from store._columns import columns_of
from store._daemons import DaemonView
from store._deliveries import DeliveryView
from store._given import any_of
from store._ledger_book import LedgerView
from store._outbox import OutboxView
from store._releases import ReleaseView
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
from store._silences import SilenceView
from store._slots import SlotView
from store._spans import read_spans
from store._values import Counts, IncidentFilter, Result

_STATE: Final = CheckStateRow.__table__.c
_GAP: Final = GapRow.__table__.c


class View(SlotView, DaemonView, OutboxView, DeliveryView, SilenceView, ClassCountView, ReleaseView, LedgerView):
    """What the store knew when this was first asked. Gives core values, never rows."""

    def project(self) -> str | None:
        """Return the name of the project whose store this is, None before it was said."""
        name: str | None = self._connection.scalar(select(ProjectRow.__table__.c.name))
        return name

    def watches(self, check_ids: Iterable[str] | None = None) -> dict[str, Watch]:
        """Return what is known of checks that ran, by check id; None asks for all of them."""
        statement = select(*columns_of(CheckStateRow))
        if check_ids is not None:
            statement = statement.where(_STATE.check_id.in_(any_of(self._connection, check_ids, "check_id")))
        return {row["check_id"]: Watch(**row) for row in self._connection.execute(statement).mappings()}

    def latest_incidents(self, fingerprints: Iterable[str]) -> dict[str, Incident]:
        """Return of each fingerprint the incident that is open, else the one that ended last, in three statements."""
        return _incidents.latest(self._connection, fingerprints)

    def incident(self, incident_id: int) -> Incident:
        """Return one incident.

        Raises:
            NotRecorded: there is none of that number.
        """
        return _incidents.load_one(self._connection, incident_id)

    def incidents_numbered(self, incident_ids: Iterable[int]) -> dict[int, Incident]:
        """Return many incidents by their numbers, in that order; those that are not there are left out."""
        return _incidents.load(self._connection, incident_ids)

    def incidents(self, incident_filter: IncidentFilter = IncidentFilter()) -> list[Incident]:  # noqa: B008 - a frozen value
        """Return the incidents that a filter asks for, newest detection first."""
        return _incidents.matching(self._connection, incident_filter)

    def events(self, incident_id: int) -> list[Event]:
        """Return what happened to an incident, in the order of recording; empty when there is none of that number."""
        return _incidents.events(self._connection, incident_id)

    def histories(self, incident_ids: Iterable[int]) -> dict[int, list[Event]]:
        """Return what happened to each of many incidents, in the order of recording, in one statement."""
        return _incidents.histories(self._connection, incident_ids)

    def latest_results(self, check_ids: Iterable[str] | None = None) -> dict[str, Result]:
        """Return the newest measurement of each check; None asks for every check that has one."""
        return _measurements.latest_results(self._connection, check_ids)

    def earlier(self, check_id: str, at: datetime, current_earlier: Earlier) -> Sequence[Past]:
        """Return the earlier measurements that a check, measured at a time, wants to see; see `earlier_many`."""
        return self.earlier_many({check_id: (at, current_earlier)})[check_id]

    def earlier_many(self, wanted: Mapping[str, tuple[datetime, Earlier]]) -> dict[str, Sequence[Past]]:
        """Return for each check, measured at a time, the earlier measurements it wants to see.

        For each age the evaluated measurement (pass, warn or fail) nearest to that age, if one is near enough, with
        `age` set. If it asks for the accepted one: the newest that passed, or was the first look at a table's columns,
        or was then resolved as expected.
        """
        return _measurements.earlier_many(self._connection, wanted)

    def spans(self, since_us: int, until_us: int) -> Spans:
        """Return all episodes, in columns, of every incident of which one touches a window.

        The bounds are microseconds since 1970 UTC. Made for a million of them. Episodes outside are given too, because
        occurrence and repair belong to a whole incident; clipped to the window they are nothing.
        """
        return read_spans(self._connection, since_us, until_us)

    def gaps(self, since: datetime, until: datetime) -> list[Gap]:
        """Return the unobserved times that touch `[since, until)`, unclipped, by check and start."""
        statement = select(*columns_of(GapRow)).where(_GAP.ended_at > since, _GAP.started_at < until)
        rows = self._connection.execute(statement.order_by(_GAP.check_id, _GAP.started_at))
        return [Gap(row.check_id, row.table_name, row.started_at, row.ended_at, row.reason) for row in rows]

    def results_by_status(self, since: datetime, until: datetime) -> dict[Status, int]:
        """Count what checks found in the runs that began in `[since, until)`, by status; none that is 0."""
        measurement, run = MeasurementRow.__table__, RunRow.__table__
        statement = (
            select(measurement.c.status, func.count())
            .join_from(run, measurement, measurement.c.run == run.c.number)
            .where(run.c.started_at >= since, run.c.started_at < until)
            .group_by(measurement.c.status)
        )
        return {Status(status): number for status, number in self._connection.execute(statement)}

    def saw_anything(self, since: datetime, until: datetime) -> bool:
        """Check whether any check could be evaluated in a run that began in `[since, until)`."""
        measurement, run = MeasurementRow.__table__, RunRow.__table__
        statement = (
            select(measurement.c.id)
            .join_from(run, measurement, measurement.c.run == run.c.number)
            .where(run.c.started_at >= since, run.c.started_at < until, measurement.c.status != Status.UNKNOWN)
            .limit(1)
        )
        return self._connection.scalar(statement) is not None

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
