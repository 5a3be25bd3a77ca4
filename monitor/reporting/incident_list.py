"""Load the incidents of a period that a report lists."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from checks import Message
from incidents import Incident, Window, from_us
from monitor.reporting.evidence import Evidence
from monitor.reporting.model import DominantIncident, IncidentLine, IncidentList
from monitor.summaries.ranking import Advice, Ranking

_ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
SHOWN: Final = 25
"""How many incidents a report lists."""


def listed(ranking: Ranking | None, evidence: Evidence, window: Window) -> IncidentList:
    """Load the incidents that are shown and count the rest."""
    if ranking is None:
        return IncidentList((), 0)
    shown = ranking.places[:SHOWN].tolist()
    incidents = {incident.id: incident for incident in evidence.look_up([ranking.id_at(place) for place in shown])}
    rows = tuple(
        _row(incidents[ranking.id_at(place)], place, ranking=ranking, evidence=evidence, window=window)
        for place in shown
        if ranking.id_at(place) in incidents
    )
    return IncidentList(rows, len(ranking) - len(rows))


def standout(ranking: Ranking, advice: Advice) -> DominantIncident | None:
    """Return the incident that alone makes more than half of what the period weighs, if there are several."""
    if len(ranking) < 2 or advice.incident is None or 2 * advice.share <= 1:
        return None
    return DominantIncident(advice.incident, advice.table)


@dataclass(frozen=True, slots=True)
class IncidentGroup:
    """Incidents that differ in nothing that the list shows but number and time: the first, and the others' numbers."""

    row: IncidentLine
    others: tuple[int, ...]
    last: datetime


def collapsed(rows: Sequence[IncidentLine]) -> Sequence[IncidentGroup]:
    """Return rows that are shown alike as one, in the place of the first."""
    groups: dict[object, list[IncidentLine]] = {}
    for row in rows:
        untimed = replace(row, id=0, occurred_at=_ANY_TIME, earliest=_ANY_TIME, latest=_ANY_TIME)
        uncertain = (row.earliest < row.occurred_at, row.occurred_at < row.latest)
        groups.setdefault((uncertain, repr(untimed)), []).append(row)
    return [
        IncidentGroup(first, tuple(row.id for row in others), max(row.occurred_at for row in (first, *others)))
        for first, *others in groups.values()
    ]


def _row(incident: Incident, place: int, *, ranking: Ranking, evidence: Evidence, window: Window) -> IncidentLine:
    per_incident, part = ranking.each, ranking.part
    occurred, resolved = int(part.occurred[per_incident.first[place]]), int(part.resolved[per_incident.last[place]])
    return IncidentLine(
        id=incident.id,
        table=incident.table,
        title=Message(incident.title, incident.title_values),
        severity=incident.severity,
        state=incident.state,
        resolution=incident.resolution,
        occurred_at=from_us(occurred),
        earliest=from_us(int(part.earliest[per_incident.first[place]])),
        latest=from_us(int(part.latest[per_incident.first[place]])),
        ttd_us=int(per_incident.ttd[place]),
        ttr_us=None if per_incident.lasts[place] else int(per_incident.ttr[place]),
        undetected_us=int(per_incident.undetected[place]),
        repair_us=int(per_incident.repair[place]),
        cost=ranking.cost_at(place),
        owner=evidence.owners.get(incident.table),
        cause=incident.cause,
        found_by=incident.found_by,
        regressed=incident.regressed,
        began_before=occurred < window.start_us,
        goes_on=resolved > min(window.end_us, evidence.as_of_us),
    )
