"""Close the incidents of checks that went away. Importing this is cheap, since a daemon does it on every reload."""

from incidents import Resolution, Resolved, State
from monitor.conclude import AGENT
from monitor.wiring import Project
from store import IncidentFilter, Store

LASTING = (State.OPEN, State.ACKNOWLEDGED)


def retire(project: Project, store: Store) -> int:
    """Close the incidents of checks that are no longer configured, as `no-action`; give how many.

    The class counts that were kept for them are given up; releases stay remembered.
    """
    configured = {table.check_id(check) for table in project.config.tables for check in table.checks}
    with store.reading() as view:
        lasting = view.incidents(IncidentFilter(states=LASTING))
        forgotten = view.counted_subjects() - configured
    if forgotten:
        with store.writing() as book:
            book.keep_counts_of(configured)
    gone = [incident for incident in lasting if incident.check_id is not None and incident.check_id not in configured]
    if not gone:
        return 0
    now, closed = project.clock.now(), 0
    with store.writing() as book:
        for known in gone:
            incident = book.incident(known.id)  # another process may have closed it meanwhile
            if incident.state in LASTING:
                at = max(now, incident.last.detected_at)
                change = Resolved(at, Resolution.NO_ACTION, "the check is no longer configured")
                book.append(incident, [change], recorded_at=now, actor=AGENT)
                closed += 1
    return closed
