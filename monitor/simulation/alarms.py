"""Return the alerts of replayed incidents: their events, and those of incidents around them that may mute them."""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import replace

from incidents import Event, Window, from_us
from monitor.alerts.hold import Lineage
from monitor.config.project import Project
from monitor.simulation.replayed_alerts import Alarm, ReplayedAlerts
from store import IncidentFilter, ReadTransaction


def alarms_of(
    project: Project, tx: ReadTransaction, events: Iterable[Event], *, checks: Sequence[str], window: Window
) -> list[Alarm]:
    """Return the alerts that a project would have sent in a window.

    Args:
        project: the configuration of routes and alert rules.
        tx: the store with silences and the incidents of other checks.
        events: the events of the incidents of the replayed checks.
        checks: the ids of the replayed checks.
        window: the time of the alerts.
    """
    if not project.config.alerts.channels:
        return []
    related = _related_events(project, tx, checks)
    merged = heapq.merge(
        *(_sorted(part) for part in (_events_in(events, window), related)),
        key=lambda event: event.recorded_at,
    )
    start, end = from_us(window.start_us), from_us(window.end_us)
    alarms = ReplayedAlerts(project, tx.silences.all(), frozenset(checks)).play(merged, until=end)
    return [alarm for alarm in alarms if start <= alarm.at < end]


def _events_in(events: Iterable[Event], window: Window) -> list[Event]:
    """Return the events of the incidents that were open in a window or had an event in it, up to its end."""
    start, end = from_us(window.start_us), from_us(window.end_us)
    by_incident: dict[int, list[Event]] = {}
    for event in events:
        by_incident.setdefault(event.incident_id, []).append(event)
    return [
        event
        for own in by_incident.values()
        if own[-1].recorded_at >= start or own[-1].change.kind not in {"resolved", "merged"}
        for event in own
        if event.recorded_at < end
    ]


def _sorted(events: Iterable[Event]) -> list[Event]:
    """Return events by time; those of an incident stay in order, also where a run ended before an earlier one."""
    moved: dict[int, list[Event]] = {}
    for event in events:
        own = moved.setdefault(event.incident_id, [])
        own.append(replace(event, recorded_at=max(event.recorded_at, own[-1].recorded_at)) if own else event)
    return sorted((event for own in moved.values() for event in own), key=lambda event: event.recorded_at)


def _related_events(project: Project, tx: ReadTransaction, checks: Sequence[str]) -> list[Event]:
    """Return the events of other checks on tables up- and downstream, of which incidents mute one another."""
    if not project.config.alerts.mute_downstream:
        return []
    lineage = Lineage.of(project.config)
    tables = {table.name for table in project.config.tables if any(table.check(check) for check in checks)}
    related = tables.union(*(lineage.ancestors(table) | lineage.descendants(table) for table in tables)) - tables
    if not related:
        return []
    incidents = tx.incidents.matching(IncidentFilter(tables=tuple(sorted(related))))
    others = [incident.id for incident in incidents if incident.check_id not in checks]
    # the ids of replayed incidents are positive
    return [
        Event(-event.incident_id, event.recorded_at, event.actor, event.change)
        for events in tx.incidents.histories(others).values()
        for event in events
    ]
