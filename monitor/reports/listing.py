"""Rank a week's incidents and load those that are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from checks import Message
from incidents import Cost, Incident, Window, from_us
from incidents._known import Ruler, known
from incidents._per_incident import per_incident
from monitor.reports.evidence import Evidence
from monitor.reports.value import IncidentList, Row, Standout

SHOWN: Final = 25
"""How many incidents a report lists."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """An incident with downtime in a window; times in microseconds.

    `undetected`, `repair` and `cost` are what falls into the window, `ttd` and `ttr` are whole. `unwatched`: no check
    looks there, a person reported it.
    """

    id: int
    table: str
    lasts: bool
    unwatched: bool
    occurred: int
    resolved: int
    undetected: int
    repair: int
    ttd: int
    ttr: int
    cost: Fraction | None

    @property
    def weight(self) -> Fraction:
        """Give its cost, or its downtime where nothing has a price."""
        return Fraction(self.undetected + self.repair) if self.cost is None else self.cost


def rank(evidence: Evidence, window: Window) -> list[Ranked]:
    """Give the incidents with downtime in a window: open ones first, then by cost, then by downtime."""
    rows = known(evidence.spans, window, evidence.as_of_us)
    if not rows.size:
        return []
    part = evidence.spans.take(rows)
    each = per_incident(part, Ruler(window, evidence.as_of_us, evidence.maintenance), disclosure=False)
    costs = evidence.price_by(window, evidence.spans.incident)
    down = np.flatnonzero(each.down & (each.undetected + each.repair > 0))
    first, last = each.first[down], each.last[down]
    ids = part.incident[first].tolist()
    columns = (
        ids,
        [part.names[code] for code in part.table[first].tolist()],
        each.lasts[down].tolist(),
        (part.check[first] == -1).tolist(),
        part.occurred[first].tolist(),
        part.resolved[last].tolist(),
        *(column[down].tolist() for column in (each.undetected, each.repair, each.ttd, each.ttr)),
        [None if costs is None else costs.get(incident, Cost()).amount for incident in ids],
    )
    ranked = [Ranked(*values) for values in zip(*columns, strict=True)]
    return sorted(ranked, key=lambda one: (not one.lasts, -one.weight, -one.undetected - one.repair, one.id))


def listed(ranked: Sequence[Ranked], evidence: Evidence, window: Window) -> IncidentList:
    """Load the incidents that are shown and count the rest."""
    incidents = {one.id: one for one in evidence.look_up([one.id for one in ranked[:SHOWN]])}
    rows = tuple(_row(incidents[one.id], one, evidence, window) for one in ranked[:SHOWN] if one.id in incidents)
    return IncidentList(rows, len(ranked) - len(rows))


def standout(ranked: Sequence[Ranked]) -> Standout | None:
    """Give the incident that alone makes more than half of the cost, or of the downtime where nothing has a price."""
    if len(ranked) < 2:
        return None
    heaviest = max(ranked, key=lambda one: one.weight)
    over_half = 2 * heaviest.weight > sum(one.weight for one in ranked)
    return Standout(heaviest.id, heaviest.table) if over_half else None


def _row(incident: Incident, one: Ranked, evidence: Evidence, window: Window) -> Row:
    return Row(
        id=incident.id,
        table=incident.table,
        title=Message(incident.title, incident.title_values),
        severity=incident.severity,
        state=incident.state,
        resolution=incident.resolution,
        occurred_at=from_us(one.occurred),
        ttd_us=one.ttd,
        ttr_us=None if one.lasts else one.ttr,
        undetected_us=one.undetected,
        repair_us=one.repair,
        cost=one.cost,
        owner=evidence.owners.get(incident.table),
        cause=incident.cause,
        found_by=incident.found_by,
        regressed=incident.regressed,
        began_before=one.occurred < window.start_us,
        goes_on=one.resolved > window.end_us,
    )
