"""The domains over the periods of the trend: downtime and incidents of each, as cells that are darker with more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from checks import Message
from checks.classes.arrays import np
from incidents import Downtime, Window
from incidents.downtime import HOUR_US
from monitor.reporting.period import Period

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
        return {"key": row.name, "cells": cells}


def domain_grid(evidence: Evidence, periods: Sequence[Period], unknown: Sequence[Message | None]) -> DomainGrid:
    """Return the domains over periods, the newest first; nothing where no table has a domain.

    An incident counts for the domain of its table, so the cells of a period add up to its downtime.
    """
    domain_of = {table.name: table.domain for table in evidence.config.tables}
    if not any(domain_of.values()):
        return DomainGrid()
    domains = list(dict.fromkeys(domain_of.values()))
    by_name = {name: code for code, name in enumerate(domains)}
    other = by_name.setdefault(None, len(domains))  # of tables that are no longer configured, too
    names = evidence.spans.names
    codes = np.array([by_name[domain_of.get(name)] if name in domain_of else other for name in names], dtype=np.int64)
    group = codes[evidence.spans.table]
    measured = [evidence.measure_by(Window.of(period.start, period.end), group) for period in periods]
    largest = max((part.downtime for parts in measured for part in parts.values()), default=0)
    rows = [
        DomainRow(
            name,
            tuple(
                _cell(parts.get(code), largest)
                if code in parts and parts[code].n
                else (_cell(None, largest) if why is None and _watched(evidence, domain_of, name, period) else None)
                for period, parts, why in zip(reversed(periods), reversed(measured), reversed(unknown), strict=True)
            ),
            evidence.config.domains[name].title if name in evidence.config.domains else None,
        )
        for name, code in by_name.items()
        if name in domains or any(other in parts and parts[other].n for parts in measured)
    ]
    rows.sort(key=lambda row: (-row.downtime_us, not any(row.cells), row.name is None, row.name or ""))
    return DomainGrid(tuple(reversed(periods)), tuple(rows[:_SHOWN]), max(0, len(rows) - _SHOWN))


def _cell(part: Downtime | None, largest: int) -> DomainCell:
    if part is None:
        return DomainCell(0, 0, 0)
    return DomainCell(part.n, part.downtime, -(-_LEVELS * part.downtime // largest) if largest else 0)


def _watched(evidence: Evidence, domain_of: Mapping[str, str | None], name: str | None, period: Period) -> bool:
    """Check whether any table of a domain was watched before the end of a period."""
    end, since = min(period.end, evidence.as_of), evidence.watching.since
    return any(table in since and since[table] < end for table, domain in domain_of.items() if domain == name)
