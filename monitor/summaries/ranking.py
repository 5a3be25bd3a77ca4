"""Rank the incidents of a window by weight, and derive what would shorten downtime most.

The weight of an incident is its cost, or its downtime where nothing has a price. The recommendation (`advise`) names
the incident, or else the table, with the largest weight, and what its figures show: no check detects it, detection is
late, or resolution takes long. Where that depends on when exactly the data went bad, it names the place only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from checks.classes.arrays import np, npt
from incidents import IncidentCosts, MaintenanceSpans, Spans, Window
from incidents.known_episodes import CountedWindow, PerIncident, known_episodes, per_incident
from incidents.spans import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The incidents with downtime in a window, in the order of the list: open ones first, then by weight.

    `each` holds the sums by incident, `part` all their episodes, `places` their places in `each` in order. `weights`,
    by place, are rounded, for the order only.
    """

    part: Spans
    each: PerIncident
    places: Ints
    weights: npt.NDArray[np.float64]
    costs: IncidentCosts | None

    def __len__(self) -> int:
        """Return the number of incidents."""
        return int(self.places.size)

    @property
    def reported(self) -> int:
        """Return how many a person reported: no check detects them."""
        return int(self.by_person(self.places).sum())

    @property
    def tables(self) -> int:
        """Return the number of their tables."""
        return int(np.unique(self.table_of(self.places)).size)

    @property
    def by_cost(self) -> bool:
        """Check whether the weight is the cost: some incident has one."""
        return self.costs is not None and bool((self.weights[self.places] > 0).any())

    def table_of(self, places: Ints) -> Ints:
        """Return the codes of the tables of incidents."""
        return self.part.table[self.each.first[places]]

    def by_person(self, places: Ints) -> npt.NDArray[np.bool_]:
        """Return which incidents a person reported."""
        reported: npt.NDArray[np.bool_] = self.part.check[self.each.first[places]] == -1
        return reported

    def id_at(self, place: int) -> int:
        """Return the id of an incident."""
        return int(self.part.incident[self.each.first[place]])

    def cost_at(self, place: int) -> Fraction | None:
        """Return the cost of an incident, None where nothing has a price."""
        return None if self.costs is None else self.costs.of([self.id_at(place)])

    def weight(self, places: Ints) -> Fraction:
        """Return the exact sum of the weights of incidents."""
        if self.costs is not None and self.by_cost:
            return self.costs.of(self.part.incident[self.each.first[places]].tolist())
        return Fraction(sum((self.each.undetected + self.each.repair)[places].tolist()))


def rank(
    spans: Spans,
    window: Window,
    *,
    as_of_us: int,
    maintenance: MaintenanceSpans | None,
    costs: IncidentCosts | None,
) -> Ranking | None:
    """Return the incidents of a window in order; None without any. `costs` in the window, None without rates."""
    rows = known_episodes(spans, window, as_of_us)
    if not rows.size:
        return None
    part = spans.take(rows)
    incident = per_incident(part, CountedWindow(window, as_of_us, maintenance), disclosure=False)
    down = incident.undetected + incident.repair
    places = np.flatnonzero(incident.down & (down > 0))
    if not places.size:
        return None
    weights = down.astype(np.float64)
    if costs is not None:
        ids = part.incident[incident.first]
        weights = np.array([costs.amounts.get(item, 0) / costs.unit for item in ids.tolist()])
    order = np.lexsort((places, -down[places], -weights[places], ~incident.lasts[places]))
    return Ranking(part, incident, places[order], weights, costs)


class AdviceStep(StrEnum):
    """What would shorten downtime."""

    ADD_CHECK = "add-check"
    NOTICE_SOONER = "notice-sooner"
    REPAIR_FASTER = "repair-faster"
    LOOK_HERE_FIRST = "look-here-first"
    """Whether detection or resolution took longer depends on when exactly the data went bad."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What would shorten downtime most, and the figures from which that follows.

    It is about one `incident`, or (None) about the `n` incidents of a table, of which people reported `by_person`; they
    have `share` of the whole weight. `check_id` is the check that found the one incident. `unnoticed` is the share of
    their downtime that passed before detection; `low` and `high` are that share if the data went bad as late, or as
    early, as possible.
    """

    step: AdviceStep
    table: str
    incident: int | None
    check_id: str | None
    n: int
    by_person: int
    share: Fraction
    by_cost: bool
    unnoticed: Fraction
    low: Fraction
    high: Fraction


def advise(ranking: Ranking) -> Advice:
    """Return what would shorten downtime most, from the figures of a window.

    The subject is the incident with more than half of the weight, else the table with the largest.
    """
    weights, total = _weights(ranking), ranking.weight(ranking.places)
    largest = ranking.places[[int(np.argmax(weights))]]
    subject = largest
    if 2 * ranking.weight(largest) <= total:
        tables = ranking.table_of(ranking.places)
        of_table = np.bincount(tables, weights=weights)
        subject = ranking.places[tables == int(np.argmax(of_table))]
    undetected, low, high, repair = (
        sum(column[subject].tolist())
        for column in (
            ranking.each.undetected,
            ranking.each.undetected_low,
            ranking.each.undetected_high,
            ranking.each.repair,
        )
    )
    reported = subject[ranking.by_person(subject)]
    first = ranking.each.first[int(subject[0])]
    check = int(ranking.part.check[first])
    unsure = (_part(low, repair) >= Fraction(1, 2)) != (_part(high, repair) >= Fraction(1, 2))
    step = AdviceStep.NOTICE_SOONER if undetected >= repair else AdviceStep.REPAIR_FASTER
    if unsure:
        step = AdviceStep.LOOK_HERE_FIRST
    elif step is AdviceStep.NOTICE_SOONER and 2 * ranking.weight(reported) > ranking.weight(subject):
        step = AdviceStep.ADD_CHECK  # there is no check that could run more often
    alone = subject.size == 1
    return Advice(
        step=step,
        table=ranking.part.names[int(ranking.part.table[first])],
        incident=ranking.id_at(int(subject[0])) if alone else None,
        check_id=ranking.part.names[check] if alone and check >= 0 else None,
        n=int(subject.size),
        by_person=int(reported.size),
        share=ranking.weight(subject) / total,
        by_cost=ranking.by_cost,
        unnoticed=_part(undetected, repair),
        low=_part(low, repair),
        high=_part(high, repair),
    )


def _weights(ranking: Ranking) -> npt.NDArray[np.float64]:
    """Return the weight of each incident, rounded, in the order of the places."""
    if ranking.by_cost:
        return ranking.weights[ranking.places]
    weights: npt.NDArray[np.float64] = (ranking.each.undetected + ranking.each.repair)[ranking.places].astype(float)
    return weights


def _part(undetected: int, repair: int) -> Fraction:
    whole = undetected + repair
    return Fraction(undetected, whole) if whole else Fraction(0)
