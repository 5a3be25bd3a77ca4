"""Break a period's downtime down: by day or week, by owner of the root cause, by table."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from checks.classes.arrays import np
from incidents import Downtime, DowntimeCost, Window
from incidents.spans import Ints
from monitor.reporting.evidence import Evidence
from monitor.reporting.model import PartBar, Share
from monitor.reporting.period import Period, PeriodPart
from monitor.summaries.grouping import group_tables


@dataclass(frozen=True, slots=True)
class BarScale:
    """What things weigh: their cost, or their downtime where nothing costs anything; the period weighs `total`."""

    by_cost: bool
    total: Fraction

    @classmethod
    def of(cls, downtime: Downtime, cost: DowntimeCost | None) -> "BarScale":
        """Return the scale of a period."""
        if cost is not None and cost.amount:
            return cls(by_cost=True, total=cost.amount)
        return cls(by_cost=False, total=Fraction(downtime.downtime))

    def weight(self, cost: Fraction | None, downtime: int) -> Fraction:
        """Return what something weighs."""
        return cost if self.by_cost and cost is not None else Fraction(downtime)


def part_bar(evidence: Evidence, period: Period, part: PeriodPart, *, reports_only: bool) -> PartBar:
    """Return the downtime of a part; none of one to come or of which nobody knows, nothing on a day the zone left out.

    `reports_only` says that no check ever ran and that the period's figures are what people reported: so are its parts.
    """
    if part.start >= evidence.as_of:
        return PartBar(part.date, None, None)
    if part.start >= part.end:
        return PartBar(part.date, 0, 0)
    window = Window.of(part.start, part.end)
    result = evidence.measure(window)
    if not result.n and not reports_only:
        seen = evidence.observed.in_some_of(window) and period.first not in evidence.blind_periods
        if not seen or part.end <= evidence.kept_since:
            return PartBar(part.date, None, None)
    return PartBar(part.date, result.undetected, result.repair)


def by_table(evidence: Evidence, window: Window, scale: BarScale, *, most: int) -> tuple[Share, ...]:
    """Return what falls to the heaviest tables, at most so many."""
    costs = evidence.price_by(window, evidence.spans.table)
    if scale.by_cost and costs is not None and len(costs) > most:  # many groups: measure the few that are shown
        dearest = sorted(costs, key=lambda table: -float(costs[table].amount))[:most]
        if costs[dearest[-1]].amount:
            rows = np.flatnonzero(np.isin(evidence.spans.table, dearest))
            evidence = replace(evidence, spans=evidence.spans.take(rows))
    names = dict(enumerate(evidence.spans.names))
    return _shares(evidence, window, scale, group=evidence.spans.table, costs=costs, names=names)[:most]


def by_owner(evidence: Evidence, window: Window, scale: BarScale) -> tuple[Share, ...]:
    """Return what falls to the owner of each root cause: who must repair. Tables without an owner come under None."""
    names, group = group_tables(evidence.spans, evidence.spans.root_table, evidence.owners.get)
    return _shares(evidence, window, scale, group=group, costs=evidence.price_by(window, group), names=names)


def _shares(
    evidence: Evidence,
    window: Window,
    scale: BarScale,
    *,
    group: Ints,
    costs: Mapping[int, DowntimeCost] | None,
    names: Mapping[int, str | None],
) -> tuple[Share, ...]:
    shares = []
    for key, downtime in evidence.measure_by(window, group).items():
        if not downtime.n:
            continue
        cost = None if costs is None else costs.get(key, DowntimeCost()).amount
        share = Share(
            name=names[key],
            owner=evidence.owners.get(names[key] or ""),
            n=downtime.n,
            undetected_us=downtime.undetected,
            repair_us=downtime.repair,
            table_us=downtime.table_time,
            cost=cost,
            part=scale.weight(cost, downtime.downtime) / scale.total,
        )
        shares.append(share)
    return tuple(sorted(shares, key=lambda share: (-share.part, -share.downtime_us, share.name or "")))
