"""The domains over the periods of the trend: downtime and incidents of each, as cells that are darker with more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from incidents import Downtime, Window
from incidents.downtime import HOUR_US
from monitor.reporting.period import Period
from monitor.summaries.coverage import Observed
from monitor.summaries.grouping import by_domain

if TYPE_CHECKING:
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
    """A domain, None for tables without one, and its cells, the oldest first; None where nobody knows."""

    name: str | None
    cells: tuple[DomainCell | None, ...]
    title: str | None = None
    """What readers know it by; None is its name."""

    @property
    def downtime_us(self) -> int:
        """Return the downtime of all periods together."""
        return sum(cell.downtime_us for cell in self.cells if cell is not None)


@dataclass(frozen=True, slots=True)
class DomainGrid:
    """The domains over periods, the oldest first; `more` counts those that are left out.

    Most downtime first, those of which nobody knows anything last.
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


def domain_grid(evidence: Evidence, periods: Sequence[Period], watched: Sequence[bool]) -> DomainGrid:
    """Return the domains over periods, the newest first; nothing where no table has a domain.

    An incident counts for the domain of its table, so the cells of a period add up to its downtime. A domain without
    any incident in a period is known to have been good only if some check of its tables saw something then.

    Args:
        evidence: what is known.
        periods: those of the trend.
        watched: of which periods without any incident it is known that there was none.
    """
    config = evidence.config
    domain_of = {table.name: table.domain for table in config.tables}
    if not any(domain_of.values()):
        return DomainGrid()
    windows = [Window.of(period.start, period.end) for period in periods]
    measured = [_with_downtime(evidence, window) for window in windows]
    largest = max((part.downtime for parts in measured for part in parts.values()), default=0)
    observed = Observed.by_group(evidence.watches, evidence.gaps, config, evidence.as_of, group_of=domain_of.get)

    def cells(name: str | None) -> Iterator[DomainCell | None]:
        saw = observed.get(name)
        for window, parts, known in zip(windows, measured, watched, strict=True):
            if name in parts:
                yield _cell(parts[name], largest)
            else:
                yield DomainCell(0, 0, 0) if known and saw is not None and saw.in_some_of(window) else None

    rows = [
        DomainRow(name, tuple(cells(name))[::-1], config.domains[name].title if name else None)
        for name in dict.fromkeys([*domain_of.values(), *(name for parts in measured for name in parts)])
    ]
    rows.sort(key=lambda row: (-row.downtime_us, not any(row.cells), row.name is None, row.name or ""))
    return DomainGrid(tuple(reversed(periods)), tuple(rows[:_SHOWN]), max(0, len(rows) - _SHOWN))


def _with_downtime(evidence: Evidence, window: Window) -> Mapping[str | None, Downtime]:
    """Return the domains that have any downtime in a window; None are tables without one, or no longer configured."""
    labels, group = by_domain(evidence.spans, evidence.config)
    return {labels[code]: part for code, part in evidence.measure_by(window, group).items() if part.n}


def _cell(part: Downtime, largest: int) -> DomainCell:
    return DomainCell(part.n, part.downtime, -(-_LEVELS * part.downtime // largest))
