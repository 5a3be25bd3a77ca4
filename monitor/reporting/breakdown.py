"""Break a period's downtime down: by day or week, by owner of the root cause, by table, by incident."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

from checks import Message
from checks.classes.arrays import np
from incidents import Downtime, DowntimeCost, Incident, Window, from_us
from incidents.spans import Ints
from monitor.reporting.evidence import Evidence
from monitor.reporting.model import DominantIncident, IncidentLine, IncidentList, PartBar, Share
from monitor.reporting.period import Period, PeriodPart
from monitor.summaries.grouping import by_root_owner
from monitor.summaries.incident import texts_of
from monitor.summaries.ranking import Advice, Ranking


@dataclass(frozen=True, slots=True)
class BarScale:
    """By what shares are computed: cost, or downtime where nothing has a cost; `total` is that of the period."""

    by_cost: bool
    total: Fraction

    @classmethod
    def of(cls, downtime: Downtime, cost: DowntimeCost | None) -> "BarScale":
        """Return the scale of a period."""
        if cost is not None and cost.amount:
            return cls(by_cost=True, total=cost.amount)
        return cls(by_cost=False, total=Fraction(downtime.downtime))

    def weight(self, cost: Fraction | None, downtime: int) -> Fraction:
        """Return the cost or the downtime, whichever shares are computed by."""
        return cost if self.by_cost and cost is not None else Fraction(downtime)


def part_bar(evidence: Evidence, period: Period, part: PeriodPart, *, reports_only: bool) -> PartBar:
    """Return the downtime of a part; None where it is in the future or unknown, 0 on a day that the zone skipped.

    `reports_only`: no check ever ran, and the figures of the period and its parts are what people reported.
    """
    if part.start >= evidence.as_of:
        return PartBar(part.date, None, None)
    if part.start >= part.end:
        return PartBar(part.date, 0, 0)
    window = Window.of(part.start, part.end)
    result = evidence.measure(window)
    if not result.n and not reports_only:
        is_observed = evidence.observed.in_some_of(window) and period.first not in evidence.unevaluated_periods
        if not is_observed or part.end <= evidence.kept_since:
            return PartBar(part.date, None, None)
    return PartBar(part.date, result.undetected, result.repair)


def by_table(evidence: Evidence, window: Window, scale: BarScale, *, most: int) -> tuple[Share, ...]:
    """Return the shares of the tables with the largest, at most `most`."""
    costs = evidence.price_by(window, evidence.spans.table)
    if scale.by_cost and costs is not None and len(costs) > most:  # many groups: measure the few that are shown
        costliest = sorted(costs, key=lambda table: -float(costs[table].amount))[:most]
        if costs[costliest[-1]].amount:
            rows = np.flatnonzero(np.isin(evidence.spans.table, costliest))
            evidence = replace(evidence, spans=evidence.spans.take(rows))
    names = {number: (name, evidence.owners.get(name)) for number, name in enumerate(evidence.spans.names)}
    return _shares(evidence, window, scale, group=evidence.spans.table, costs=costs, names=names)[:most]


def by_owner(evidence: Evidence, window: Window, scale: BarScale) -> tuple[Share, ...]:
    """Return the shares of the owners of root-cause tables. Tables without an owner come under None."""
    owners, group = by_root_owner(evidence.spans, evidence.config)
    names = {number: (evidence.config.owner_name(owner), owner) for number, owner in owners.items()}
    return _shares(evidence, window, scale, group=group, costs=evidence.price_by(window, group), names=names)


def _shares(
    evidence: Evidence,
    window: Window,
    scale: BarScale,
    *,
    group: Ints,
    costs: Mapping[int, DowntimeCost] | None,
    names: Mapping[int, tuple[str | None, str | None]],
) -> tuple[Share, ...]:
    shares = []
    for key, downtime in evidence.measure_by(window, group).items():
        if not downtime.n:
            continue
        cost = None if costs is None else costs.get(key, DowntimeCost()).amount
        name, owner = names[key]
        share = Share(
            name=name,
            owner=owner,
            n=downtime.n,
            undetected_us=downtime.undetected,
            repair_us=downtime.repair,
            table_us=downtime.table_time,
            cost=cost,
            part=scale.weight(cost, downtime.downtime) / scale.total,
        )
        shares.append(share)
    return tuple(sorted(shares, key=lambda share: (-share.part, -share.downtime_us, share.name or "")))


_ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
SHOWN: Final = 25
"""Incidents that a report lists at most."""


def listed(ranking: Ranking | None, evidence: Evidence, window: Window) -> IncidentList:
    """Return the first incidents in the order of the ranking, and the number of the others."""
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
    """Return the incident with more than half of the period's cost or downtime, if there are several incidents."""
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
        texts=texts_of(incident),
        found_by=incident.found_by,
        regressed=incident.regressed,
        began_before=occurred < window.start_us,
        continues=resolved > min(window.end_us, evidence.as_of_us),
    )
