"""Rank a week's incidents and load those that are shown."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from checks import Message
from incidents import Cost, Incident, Spans, Window, from_us
from incidents._known import Ruler, known
from incidents._per_incident import PerIncident, per_incident
from incidents._spans import Ints
from monitor.reports.breakdown import Scale
from monitor.reports.evidence import Evidence
from monitor.reports.value import IncidentList, Row, Standout

SHOWN: Final = 25
"""How many incidents a report lists."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The incidents with downtime in a window, in the order of the list: open ones first, then the heaviest.

    `each` holds the sums by incident, `part` all their episodes, `places` their places in `each` in order. An incident
    weighs what it costs, or its downtime where nothing has a price; `weights`, by place, are rounded, for the order
    only. `costs` is by id.
    """

    part: Spans
    each: PerIncident
    places: Ints
    weights: npt.NDArray[np.float64]
    costs: dict[int, Cost] | None

    def __len__(self) -> int:
        """Count them."""
        return int(self.places.size)

    @property
    def unwatched(self) -> int:
        """Count those that no check looks at: a person reported them."""
        return int((self.part.check[self.each.first[self.places]] == -1).sum())

    @property
    def tables(self) -> int:
        """Count their tables."""
        return int(np.unique(self.part.table[self.each.first[self.places]]).size)

    def id_at(self, place: int) -> int:
        """Give the id of an incident."""
        return int(self.part.incident[self.each.first[place]])

    def cost_at(self, place: int) -> Fraction | None:
        """Give what an incident cost, None where nothing has a price."""
        return None if self.costs is None else self.costs.get(self.id_at(place), Cost()).amount

    def down_at(self, place: int) -> int:
        """Give the downtime of an incident in the window, microseconds."""
        return int(self.each.undetected[place] + self.each.repair[place])


def rank(evidence: Evidence, window: Window) -> Ranking | None:
    """Put the incidents of a window in order; None when there are none."""
    rows = known(evidence.spans, window, evidence.as_of_us)
    if not rows.size:
        return None
    part = evidence.spans.take(rows)
    each = per_incident(part, Ruler(window, evidence.as_of_us, evidence.maintenance), disclosure=False)
    down = each.undetected + each.repair
    places = np.flatnonzero(each.down & (down > 0))
    if not places.size:
        return None
    costs = evidence.price_by(window, evidence.spans.incident)
    weights = down.astype(np.float64)
    if costs is not None:
        ids = part.incident[each.first]
        weights = np.array([float(costs[one].amount) if one in costs else 0.0 for one in ids.tolist()])
    order = np.lexsort((places, -down[places], -weights[places], ~each.lasts[places]))
    return Ranking(part, each, places[order], weights, costs)


def listed(ranking: Ranking | None, evidence: Evidence, window: Window) -> IncidentList:
    """Load the incidents that are shown and count the rest."""
    if ranking is None:
        return IncidentList((), 0)
    shown = ranking.places[:SHOWN].tolist()
    incidents = {one.id: one for one in evidence.look_up([ranking.id_at(place) for place in shown])}
    rows = tuple(
        _row(incidents[ranking.id_at(place)], place, ranking=ranking, evidence=evidence, window=window)
        for place in shown
        if ranking.id_at(place) in incidents
    )
    return IncidentList(rows, len(ranking) - len(rows))


def standout(ranking: Ranking, scale: Scale) -> Standout | None:
    """Give the incident that alone makes more than half of what the week weighs, if there are several."""
    if len(ranking) < 2:
        return None
    heaviest = int(ranking.places[np.argmax(ranking.weights[ranking.places])])
    weight = scale.weight(ranking.cost_at(heaviest), ranking.down_at(heaviest))
    if 2 * weight <= scale.total:
        return None
    table = ranking.part.table[ranking.each.first[heaviest]]
    return Standout(ranking.id_at(heaviest), ranking.part.names[table])


def _row(incident: Incident, place: int, *, ranking: Ranking, evidence: Evidence, window: Window) -> Row:
    each, part = ranking.each, ranking.part
    occurred, resolved = int(part.occurred[each.first[place]]), int(part.resolved[each.last[place]])
    return Row(
        id=incident.id,
        table=incident.table,
        title=Message(incident.title, incident.title_values),
        severity=incident.severity,
        state=incident.state,
        resolution=incident.resolution,
        occurred_at=from_us(occurred),
        earliest=from_us(int(part.earliest[each.first[place]])),
        latest=from_us(int(part.latest[each.first[place]])),
        ttd_us=int(each.ttd[place]),
        ttr_us=None if each.lasts[place] else int(each.ttr[place]),
        undetected_us=int(each.undetected[place]),
        repair_us=int(each.repair[place]),
        cost=ranking.cost_at(place),
        owner=evidence.owners.get(incident.table),
        cause=incident.cause,
        found_by=incident.found_by,
        regressed=incident.regressed,
        began_before=occurred < window.start_us,
        goes_on=resolved > min(window.end_us, evidence.as_of_us),
    )
