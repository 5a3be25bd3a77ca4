"""Break a week's downtime down: by day, by owner of the root cause, by table."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from incidents import Cost, Downtime, Window
from incidents._spans import Ints
from monitor.reports.evidence import Evidence
from monitor.reports.value import DayBar, Share
from monitor.reports.week import Day


def day_bar(evidence: Evidence, day: Day) -> DayBar:
    """Give the downtime of a day; none of a day that is still to come, nothing on one that the zone left out."""
    if day.start >= evidence.as_of:
        return DayBar(day.date, None, None)
    if day.start >= day.end:
        return DayBar(day.date, 0, 0)
    found = evidence.measure(Window.of(day.start, day.end))
    return DayBar(day.date, found.undetected, found.repair)


def by_table(evidence: Evidence, window: Window) -> tuple[Share, ...]:
    """Give what falls to each table, the most costly first."""
    names = dict(enumerate(evidence.spans.names))
    return _shares(evidence, window, group=evidence.spans.table, names=names, owners=evidence.owners)


def by_owner(evidence: Evidence, window: Window) -> tuple[Share, ...]:
    """Give what falls to the owner of each root cause: who must repair. Tables without an owner come under None."""
    spans = evidence.spans
    codes: dict[str | None, int] = {}
    code_of = np.zeros(len(spans.names), dtype=np.int64)
    for table in np.unique(spans.root_table).tolist():
        code_of[table] = codes.setdefault(evidence.owners.get(spans.names[table]), len(codes))
    names = {code: owner for owner, code in codes.items()}
    return _shares(evidence, window, group=code_of[spans.root_table], names=names, owners={})


def _shares(
    evidence: Evidence,
    window: Window,
    *,
    group: Ints,
    names: Mapping[int, str | None],
    owners: Mapping[str, str | None],
) -> tuple[Share, ...]:
    found = {key: one for key, one in evidence.measure_by(window, group).items() if one.n}
    costs = evidence.price_by(window, group)
    weights = {key: _weight(one, None if costs is None else costs.get(key, Cost())) for key, one in found.items()}
    total = sum(weights.values())
    if not total:  # priced, but at nothing
        weights = {key: Fraction(one.downtime) for key, one in found.items()}
        total = sum(weights.values())
    heaviest_first = sorted(found, key=lambda key: (-weights[key], -found[key].downtime, names[key] or ""))
    return tuple(
        Share(
            name=names[key],
            owner=owners.get(names[key] or ""),
            n=found[key].n,
            undetected_us=found[key].undetected,
            repair_us=found[key].repair,
            table_us=found[key].table_time,
            cost=None if costs is None else costs.get(key, Cost()).amount,
            part=weights[key] / total,
        )
        for key in heaviest_first
    )


def _weight(downtime: Downtime, cost: Cost | None) -> Fraction:
    return Fraction(downtime.downtime) if cost is None else cost.amount
