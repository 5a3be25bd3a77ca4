"""The domains of a project: each in the period of a report, and all of them over the periods of its trend."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from incidents import Downtime, DowntimeCost, LevelVerdict, MaintenanceSpans, Repeats, Spans, Window, measure_by
from incidents.downtime import HOUR_US
from monitor.reporting.figures import Figures, figures_of
from monitor.reporting.period import Period
from monitor.summaries.coverage import Observed
from monitor.summaries.grouping import Labels, by_domain
from monitor.summaries.service_levels import JudgedContract

if TYPE_CHECKING:
    from incidents.spans import Ints
    from monitor.config import Config
    from monitor.reporting.evidence import Evidence

_SHOWN: Final = 12
_LEVELS: Final = 4


@dataclass(frozen=True, slots=True)
class DomainCell:
    """The downtime and the incidents of a domain in a period; `level` is 0 for none, else 1 to 4 (the most of all)."""

    n: int
    downtime_us: int
    level: int


@dataclass(frozen=True, slots=True)
class DomainRow:
    """A domain, None for tables without one, and its cells, the oldest first; None where unknown."""

    name: str | None
    cells: tuple[DomainCell | None, ...]
    title: str | None = None
    """The name to show; None is its key."""

    @property
    def downtime_us(self) -> int:
        """Return the downtime of all periods together."""
        return sum(cell.downtime_us for cell in self.cells if cell is not None)


@dataclass(frozen=True, slots=True)
class DomainGrid:
    """The domains over periods, the oldest first; `more` counts those that are left out.

    Most downtime first, unknown last.
    """

    periods: tuple[Period, ...] = ()
    rows: tuple[DomainRow, ...] = ()
    more: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON value."""
        return {"shown": [self._row(row) for row in self.rows], "more": self.more}

    def _row(self, row: DomainRow) -> dict[str, Any]:
        cells = [
            {
                period.unit: str(period),
                "n": None if cell is None else cell.n,
                "downtime_h": None if cell is None else cell.downtime_us / HOUR_US,
            }
            for period, cell in zip(self.periods, row.cells, strict=True)
        ]
        return {"key": row.name, "title": row.title, "cells": cells}


@dataclass(frozen=True)
class DomainSection:
    """A domain in the period of a report; `name` is None for tables without one, and those no longer configured.

    `figures` are None where unknown. `open`: its incidents that last, by number. `repeats`: its tables with
    several incidents, or with one that came back. `contracts`: the service levels of its tables alone.
    """

    name: str | None
    title: str | None
    owner: str | None
    tables: int
    figures: Figures | None
    open: tuple[int, ...] = ()
    repeats: Mapping[str, Repeats] = field(default_factory=dict)
    contracts: tuple[JudgedContract, ...] = ()
    without_owner: tuple[str, ...] = ()

    @cached_property
    def verdict(self) -> LevelVerdict | None:
        """Return the worst verdict of its service levels, None without any."""
        verdicts = [contract.verdict for contract in self.contracts]
        return max(verdicts, key=tuple(LevelVerdict).index, default=None)

    @property
    def worst_contracts(self) -> Sequence[str]:
        """Return the names of those with that verdict."""
        return [contract.name for contract in self.contracts if contract.verdict is self.verdict]

    @property
    def has_details(self) -> bool:
        """Check whether it has details beside its row: several incidents, or something that needs action."""
        several = self.figures is not None and self.figures.n > 1
        return bool(several or self.open or self.repeats or self.without_owner or self.verdict is LevelVerdict.BROKEN)


DomainAndPeriod: TypeAlias = tuple[str | None, Period]
DowntimeByDomain: TypeAlias = Mapping[str | None, Sequence[Downtime | None]]
"""The downtime of domains in the periods of a trend, the newest first; None where unknown."""


def measure_domains(
    spans: Spans,
    periods: Iterable[Period],
    *,
    as_of_us: int,
    grouped: tuple[Labels, Ints],
    maintenance: MaintenanceSpans | None,
) -> list[Mapping[str | None, Downtime]]:
    """Return of each period the downtime of the domains with any incident; that of a table counts for its domain.

    `grouped` is `by_domain` of the spans; None are tables without a domain, or no longer configured. The domains of a
    period add up to its downtime.
    """
    labels, group = grouped
    measured = (
        measure_by(spans, Window.of(period.start, period.end), as_of_us=as_of_us, group=group, maintenance=maintenance)
        for period in periods
    )
    return [{labels[code]: part for code, part in parts.items()} for parts in measured]


def domains_seen(observed: Mapping[str | None, Observed], periods: Iterable[Period]) -> set[DomainAndPeriod]:
    """Return which domains were seen in which of some periods. `observed`: when anything was seen of each domain."""
    return {
        (name, period)
        for period in periods
        for name, times in observed.items()
        if times.in_some_of(Window.of(period.start, period.end))
    }


def downtime_by_domain(
    measured: Sequence[Mapping[str | None, Downtime]],
    periods: Sequence[Period],
    *,
    config: Config,
    as_of_us: int,
    seen: Container[DomainAndPeriod],
) -> DowntimeByDomain:
    """Return the downtime of each domain over periods, the newest first; nothing where no table has a domain.

    Args:
        measured: `measure_domains` of the periods.
        periods: the newest first.
        config: knows the domains.
        as_of_us: the moment of knowing.
        seen: a domain without any incident in a period is known to have been good only if some check of its tables saw
            something then; see `domains_seen`.
    """
    domains = {table.domain for table in config.tables}
    if not any(domains):
        return {}
    results: dict[str | None, list[Downtime | None]] = {name: [] for name in (*config.domains, None)}
    for period, parts in zip(periods, measured, strict=True):
        nothing = Downtime(Window.of(period.start, period.end), as_of_us)
        for name, downtimes in results.items():
            part = parts.get(name, nothing)
            downtimes.append(part if has_incident(part) or (name, period) in seen else None)
    if None not in domains and not any(map(has_incident, results[None])):
        del results[None]
    return results


def has_incident(downtime: Downtime | None) -> bool:
    """Check whether there was, or may have been, an incident in a period."""
    return downtime is not None and bool(downtime.high or downtime.open or downtime.n_occurred)


def domain_grid(config: Config, periods: Sequence[Period], downtimes: DowntimeByDomain) -> DomainGrid:
    """Return the domains over periods, the newest first."""
    if not downtimes:
        return DomainGrid()
    results = [part for parts in downtimes.values() for part in parts if part is not None]
    largest = max((part.downtime for part in results), default=0)
    rows = [
        DomainRow(name, tuple(_cell(part, largest) for part in reversed(parts)), _title(config, name))
        for name, parts in downtimes.items()
    ]
    rows.sort(key=lambda row: (-row.downtime_us, not any(row.cells), row.name is None, row.name or ""))
    return DomainGrid(tuple(reversed(periods)), tuple(rows[:_SHOWN]), max(0, len(rows) - _SHOWN))


def domain_sections(
    evidence: Evidence, window: Window, downtimes: DowntimeByDomain, repeats: Mapping[str, Repeats]
) -> tuple[DomainSection, ...]:
    """Return the domains in a window, most downtime first, unknown last.

    Args:
        evidence: what is known.
        window: the newest of the periods of `downtimes`.
        downtimes: of the domains.
        repeats: of tables, in the window.
    """
    if not downtimes:
        return ()
    config = evidence.config
    labels, group = by_domain(evidence.spans, config)
    costs = evidence.price_by(window, group)
    cost_of = None if costs is None else {labels[code]: cost for code, cost in costs.items()}
    by_name: dict[str | None, list[str]] = {name: [] for name in downtimes}
    for table in config.tables:
        by_name[table.domain].append(table.name)
    domain_of = {table.name: table.domain for table in config.tables}
    sections = []
    for name, (downtime, *_) in downtimes.items():
        tables = frozenset(by_name[name])
        section = DomainSection(
            name=name,
            title=_title(config, name),
            owner=None if name is None else config.owner_name(config.domains[name].owner),
            tables=len(tables),
            figures=None
            if downtime is None
            else _figures(downtime, None if cost_of is None else cost_of.get(name, DowntimeCost())),
            open=() if downtime is None else tuple(incident.id for incident in downtime.open),
            repeats={table: item for table, item in repeats.items() if domain_of.get(table) == name},
            contracts=tuple(contract for contract in evidence.contracts if tables.issuperset(contract.tables)),
            without_owner=tuple(table for table in by_name[name] if evidence.owners[table] is None),
        )
        sections.append(section)
    return tuple(sorted(sections, key=_least_known_last))


def _title(config: Config, name: str | None) -> str | None:
    return None if name is None else config.domains[name].title


def _cell(downtime: Downtime | None, largest: int) -> DomainCell | None:
    if downtime is None:
        return None
    return DomainCell(downtime.n, downtime.downtime, -(-_LEVELS * downtime.downtime // largest) if largest else 0)


def _figures(downtime: Downtime, cost: DowntimeCost | None) -> Figures:
    return replace(figures_of(downtime, cost), cost_by_table_hours=None)  # measured for the whole period only


def _least_known_last(section: DomainSection) -> tuple[bool, Fraction, bool, str]:
    downtime = None if section.figures is None else section.figures.downtime_us
    return downtime is None, -(downtime or Fraction()), section.name is None, section.name or ""
