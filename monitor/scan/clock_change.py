"""Bring stored times back from the future, where they lie when the clock was set back."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from incidents import AGENT, Watch, set_back, set_incident_back
from store import IncidentFilter, WriteTransaction


def bring_back(tx: WriteTransaction, watches: Iterable[Watch], *, to: datetime, now: datetime) -> Mapping[str, Watch]:
    """Put the times of checks and their incidents that lie after a moment at that moment.

    Incidents of other checks, and everything about notifications, are put there only if they lie in the future. Return
    the watches as they are now.
    """
    present = {watch.check_id: set_back(watch, to=to) for watch in watches}
    for incident in tx.incidents.matching(IncidentFilter(since=to)):
        if incident.series in present or set_incident_back(incident, to=now):
            tx.incidents.append(incident, set_incident_back(incident, to=to), recorded_at=to, actor=AGENT)
    tx.results.save_watches([*present.values()])
    clock = tx.schedule.clock(now)
    for part in (tx.outbox, tx.deliveries, tx.external_items, tx.silences, tx.warnings):
        part.set_back(clock)
    return present
