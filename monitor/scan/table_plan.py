"""What is run for a table: statements as text, and which check waits for which of their columns.

Making a plan (`planner`) needs the engine's expressions; running one (`measure`) does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checks import Outcome, Wants
from monitor.scan.results import Subject
from monitor.scan.sql_template import SqlTemplate

if TYPE_CHECKING:
    from monitor.scan.incremental.parts import PartPlan
    from monitor.scan.segment_query import SegmentQuery

FIGURE = "figure"


@dataclass(frozen=True, slots=True)
class UnionPart:
    """One answer in a family's statement: its number, its columns by slot, and the (check id, name) that wanted it."""

    figure: int
    columns: Mapping[str, str]
    wanted_by: tuple[tuple[str, str], ...]

    def of(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return its rows among those of the statement, under the names that the answer gave them."""
        mine = (row for row in rows if row[FIGURE] == self.figure)
        return [{name: row[slot] for slot, name in self.columns.items()} for row in mine]


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A statement of its own and every (check id, name) that wanted it."""

    template: SqlTemplate
    wanted_by: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Relatives:
    """A statement that answers several questions about the same classes, and how to take its rows apart."""

    template: SqlTemplate
    parts: tuple[UnionPart, ...]

    @property
    def wanted_by(self) -> set[str]:
        """Return the ids of the checks that wait for it."""
        return {check_id for part in self.parts for check_id, _ in part.wanted_by}


@dataclass(frozen=True, slots=True)
class TablePlan:
    """Everything to run for one table.

    `wants` is without the expressions that became statements. `fused` computes `columns`: per check id, the wanted name
    to the column of the fused row. `refused` are the checks that do not fit the table.
    """

    subject: Subject
    wants: Mapping[str, Wants]
    refused: Mapping[str, Outcome]
    fused: SqlTemplate | None
    columns: Mapping[str, Mapping[str, str]]
    queries: tuple[PlannedQuery, ...]
    counts: tuple[PlannedQuery, ...]
    union_queries: tuple[Relatives, ...] = ()
    parts: PartPlan | None = None
    segments: tuple[SegmentQuery, ...] = ()
