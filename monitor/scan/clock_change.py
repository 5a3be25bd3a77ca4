"""Bring what is known of checks back from the future, where it lies when the clock was set back."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from incidents import AGENT, Watch, set_back, set_incident_back
from store import IncidentFilter, WriteTransaction


def bring_back(tx: WriteTransaction, watches: Iterable[Watch], *, to: datetime, now: datetime) -> Mapping[str, Watch]:
    """Put the times of checks and their incidents that lie after a moment at that moment.

    Incidents of others are put there only if they lie in the future. Return what is known of the checks now.
    """
    present = {watch.check_id: set_back(watch, to=to) for watch in watches}
    for incident in tx.incidents.matching(IncidentFilter(since=to)):
        if incident.series in present or set_incident_back(incident, to=now):
            tx.incidents.append(incident, set_incident_back(incident, to=to), recorded_at=to, actor=AGENT)
    tx.results.save_watches([*present.values()])
    return present
