"""Change incidents on behalf of people: each verb is one short transaction that reads, decides and writes.

The verbs of `incidents.verbs` decide. What they depend on (is another one open, does the check still fail, root causes)
is read in the same transaction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from checks import Status
from incidents import (
    Change,
    Corrected,
    Event,
    Incident,
    Opened,
    ReportedIncident,
    Resolution,
    Spans,
    State,
    Watch,
    to_us,
    uncovered,
    verbs,
)
from incidents.verbs import Ending
from monitor.config.project import Project
from monitor.triage.create import listed_cause
from monitor.triage.errors import IncidentChanged
from store import ExternalItem, History, IncidentFilter, NotRecorded, ReadTransaction, Store, WriteTransaction


@dataclass(frozen=True, slots=True)
class IncidentDetail:
    """An incident, its events in the order of recording, and the incidents that were merged into it.

    `external_items`: its pages, messages and tickets in other services.
    """

    incident: Incident
    events: Sequence[Event]
    duplicates: Sequence[int]
    external_items: Sequence[ExternalItem] = ()


def read_incident_detail(tx: ReadTransaction, incident_id: int) -> IncidentDetail:
    """Read an incident with its details.

    Raises:
        NotRecorded: there is no such incident.
    """
    merged = tx.incidents.matching(IncidentFilter(merged_into=incident_id))
    duplicates = sorted(item.id for item in merged)
    incident, events = tx.incidents.get(incident_id), tx.incidents.events(incident_id)
    return IncidentDetail(incident, events, duplicates, tx.external_items.of_incident(incident_id))


def alike(store: Store, incident: Incident) -> Sequence[int]:
    """Return the other unresolved incidents of a table with the title of an incident, the newest first."""
    with store.reading() as tx:
        lasting = tx.incidents.matching(
            IncidentFilter(tables=(incident.table,), states=(State.OPEN, State.ACKNOWLEDGED))
        )
    return [item.id for item in lasting if item.id != incident.id and item.title == incident.title]


class IncidentEditor:
    """Changes incidents on behalf of an actor, at one moment.

    `if_version`: only an incident with so many events, so that a decision on a page is not applied to another state.
    `beside` writes more in the transaction of the change; an error in it undoes both.
    """

    def __init__(
        self,
        project: Project,
        store: Store,
        *,
        actor: str,
        if_version: int | None = None,
        beside: Callable[[WriteTransaction], None] | None = None,
    ) -> None:
        self._project = project
        self._store = store
        self._actor = actor
        self._if_version = if_version
        self._beside = beside
        self.now = project.clock.now()

    def log(self, reported_incident: ReportedIncident) -> tuple[Incident, bool]:
        """Record a reported incident; return it, and whether it is new: the same report twice is one incident.

        Raises:
            incidents.ImpossibleOrder: its times are in an impossible order.
        """
        changes = reported_incident.changes(self.now)
        opened = changes[0]
        with self._store.writing() as tx:
            incidents = tx.incidents.latest([opened.fingerprint]) if isinstance(opened, Opened) else {}
            for incident in incidents.values():
                return incident, False
            return tx.incidents.add_histories([History(changes, self.now, self._actor)], announce=True)[0], True

    def acknowledge(self, incident_id: int) -> Incident:
        """Acknowledge an incident."""
        return self._change(incident_id, lambda _, incident: verbs.acknowledge(incident, now=self.now))

    def assign(self, incident_id: int, assignee: str) -> Incident:
        """Assign an incident."""
        return self._change(incident_id, lambda _, incident: verbs.assign(incident, assignee))

    def snooze(self, incident_id: int, until: datetime) -> Incident:
        """Snooze an incident."""
        return self._change(incident_id, lambda _, incident: verbs.snooze(incident, until, now=self.now))

    def comment(self, incident_id: int, text: str, *, post_mortem: bool = False) -> Incident:
        """Add a comment, or the post-mortem."""
        return self._change(incident_id, lambda _, incident: verbs.comment(incident, text, post_mortem=post_mortem))

    def resolve(
        self,
        incident_id: int,
        resolution: Resolution,
        *,
        at: datetime | None = None,
        cause: str | None = None,
        force: bool = False,
    ) -> Incident:
        """Resolve an incident (by default now), or correct its resolution (by default without changing the time).

        Raises:
            incidents.NotAllowed: its check still fails, and it is not forced.
            Stop: the cause is not one of the list in the configuration.
        """
        listed = None if cause is None else listed_cause(self._project.config, cause)

        def decide(tx: WriteTransaction, incident: Incident) -> Change:
            fails = not force and still_fails(self._project, tx, incident)
            ending = Ending(at or incident.last.resolved_at or self.now, resolution, listed)
            return verbs.resolve(incident, ending, now=self.now, check_still_fails=fails, force=force)

        return self._change(incident_id, decide)

    def reopen(self, incident_id: int, *, detected_at: datetime, occurred_at: datetime | None) -> Incident:
        """Reopen an incident with a new episode."""

        def decide(tx: WriteTransaction, incident: Incident) -> Change:
            newest = tx.incidents.latest([incident.fingerprint])[incident.fingerprint]
            other = newest.id if newest.state is not State.RESOLVED and newest.id != incident.id else None
            return verbs.reopen(
                incident, detected_at=detected_at, now=self.now, occurred_at=occurred_at, other_open=other
            )

        return self._change(incident_id, decide)

    def correct(self, incident_id: int, change: Corrected) -> Incident:
        """Correct times."""
        return self._change(incident_id, lambda _, incident: verbs.correct(incident, change, now=self.now))

    def merge(self, incident_id: int, into: int, *, force: bool = False) -> tuple[Incident, int]:
        """Merge an incident into another; return it, and the downtime that is no longer counted (microseconds)."""
        lost = 0

        def decide(tx: WriteTransaction, incident: Incident) -> Change:
            nonlocal lost
            other = tx.incidents.get(into)
            change = verbs.merge(incident, other, lookup=_lookup(tx), now=self.now, force=force)
            planned = self._project.maintenance(Spans.of([incident]).names)
            lost = uncovered(incident, other, as_of_us=to_us(self.now), maintenance=planned)
            return change

        return self._change(incident_id, decide), lost

    def name_root(self, incident_id: int, cause: int | None) -> Incident:
        """Set the incident that caused it; None removes it."""

        def decide(tx: WriteTransaction, incident: Incident) -> Change:
            root = None if cause is None else tx.incidents.get(cause)
            return verbs.name_root(incident, root, lookup=_lookup(tx))

        return self._change(incident_id, decide)

    def _change(self, incident_id: int, decide: Callable[[WriteTransaction, Incident], Change]) -> Incident:
        with self._store.writing() as tx:
            incident = tx.incidents.get(incident_id)
            version = self._if_version
            if version is not None and version != (current := tx.incidents.version(incident_id)):
                raise IncidentChanged(f"incident #{incident_id} is at version {current}, not {version}; read it again")
            change = decide(tx, incident)
            if self._beside is not None:
                self._beside(tx)
            return tx.incidents.append(incident, [change], recorded_at=self.now, actor=self._actor)


def still_fails(project: Project, tx: ReadTransaction, incident: Incident) -> bool:
    """Check whether the last evaluated run of its check failed; False if the check is no longer configured.

    While the configuration has errors, a check counts as configured.
    """
    if incident.check_id is None:
        return False
    series = incident.series or incident.check_id
    watch = tx.results.watches([series]).get(series)
    if watch is None or not _failed(watch):
        return False
    return project.check_of(incident) is not None or not project.is_whole()


def _failed(watch: Watch) -> bool:
    if watch.last_unknown is not None:
        return watch.fail_streak > 0
    return watch.last_status == Status.FAIL


def _lookup(tx: ReadTransaction) -> Callable[[int], Incident | None]:
    def look(incident_id: int) -> Incident | None:
        try:
            return tx.incidents.get(incident_id)
        except NotRecorded:  # retention may have taken it
            return None

    return look
