"""Everything there is to tell of one incident, as one look into the store finds it."""

from collections.abc import Sequence
from dataclasses import dataclass

from incidents import Event, Incident
from store import IncidentFilter, View


@dataclass(frozen=True, slots=True)
class IncidentDetail:
    """An incident, what happened to it in the order of recording, and the incidents that were merged into it."""

    incident: Incident
    events: Sequence[Event]
    duplicates: Sequence[int]


def read_incident_detail(view: View, incident_id: int) -> IncidentDetail:
    """Read the sheet of an incident.

    Raises:
        NotRecorded: there is no such incident.
    """
    merged = view.incidents(IncidentFilter(merged_into=incident_id))
    duplicates = sorted(one.id for one in merged)
    return IncidentDetail(view.incident(incident_id), view.events(incident_id), duplicates)
