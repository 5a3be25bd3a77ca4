"""Propose functional dependencies: a column that decides another, though it is no key.

1. prefilter   one aggregate over a sample: distinct values of columns and of pairs of them. Where A decides B, the
               pairs are about as many as the values of A.
2. evidence    one statement for the few pairs that are left: the rows that contradict the rest of their group

That no row contradicts says something only where rows could: rows beyond the first of their group. Each of them would
contradict with the chance that two rows differ in B, were the columns independent; the sum is what chance would show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from monitor.suggest.profile import (
    EXACT_ROWS,
    ColumnFamily,
    ColumnStatistics,
    TableStatistics,
    distinct_sets,
    sampled_share,
)
from monitor.suggest.proposal import ENOUGH_ROWS, ENOUGH_WITH_NAME, Confidence, Proposal, breaks_at_most, is_identifier
from monitor.suggest.statements import TableStatements
from sources.expressions import ir

_MOST_COLUMNS: Final = 16
"""Columns of which pairs are made: 120 pairs."""
_MOST_ROWS: Final = 20_000
"""Rows of the sample in which distinct pairs are counted."""
_LONGEST: Final = 100
_MOST_CONTRADICTIONS: Final = 0.05
"""Share of rows up to which those that contradict may be faults."""
_OF_CHANCE: Final = 0.1
"""The same, of the contradictions that independent columns would show."""
_FIGURES: Final = ("rows", "groups", "repeated", "violations")
_TRIED_FOR_EACH: Final = 3
"""Columns of which each is tried to decide a column; one is proposed."""


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Counts of a pair of columns: rows without NULL, their groups, groups of several rows, contradicting rows."""

    rows: int
    groups: int
    repeated: int
    violations: int

    @property
    def repeats(self) -> int:
        """Count the rows that could contradict another: those beyond the first of their group."""
        return self.rows - self.groups

    def is_support(self, chance: float) -> bool:
        """Check whether so few contradict that it is no accident; `chance`: that two rows differ if independent."""
        expected = self.repeats * chance
        few = self.violations <= min(_MOST_CONTRADICTIONS * self.rows, _OF_CHANCE * expected)
        return expected >= ENOUGH_WITH_NAME and few


def functional_dependencies(table: TableStatistics, statements: TableStatements) -> Iterator[Proposal]:
    """Yield for each column that another one decides, in all rows of a sample or nearly all, the best such column.

    Raises:
        SourceError: the table cannot be read.
    """
    columns = [column for column in table.columns if _may_take_part(column)]
    columns = sorted(columns, key=lambda column: not _may_decide(column))[:_MOST_COLUMNS]
    tried = list(_candidates(table, columns, statements))
    evidence = _evidence(table, tried, statements) if tried else []
    supported = [
        (decides, decided, counts)
        for (decides, decided), counts in zip(tried, evidence, strict=True)
        if counts.is_support(_chance(decided))
    ]
    for decided in columns:
        others = [(decides, counts) for decides, other, counts in supported if other is decided]
        if others:
            decides, counts = min(others, key=lambda other: other[1].violations / other[1].repeats)
            yield _proposal(decides, decided, counts)


def _may_take_part(column: ColumnStatistics) -> bool:
    kinds = {ColumnFamily.WHOLE, ColumnFamily.TEXT}
    return column.family in kinds and column.distinct >= 2 and column.longest <= _LONGEST


def _may_decide(column: ColumnStatistics) -> bool:
    """Check whether enough rows share their value with another row."""
    return column.filled - column.distinct >= ENOUGH_WITH_NAME and 2 * column.distinct <= column.filled


def _candidates(
    table: TableStatistics, columns: Sequence[ColumnStatistics], statements: TableStatements
) -> Iterator[tuple[ColumnStatistics, ColumnStatistics]]:
    """Yield the pairs that distinct values leave, by the column that is decided, the best of each first."""
    pairs = [
        (decides, decided)
        for decides, decided in permutations(columns, 2)
        if _may_decide(decides) and _chance(decided) and decided.distinct <= 2 * decides.distinct
    ]
    if not pairs:
        return
    sets = {tuple(sorted((first.name, second.name))) for first, second in pairs}
    if table.rows > _MOST_ROWS:  # else the distinct values of single columns are those of the table
        sets |= {(decides.name,) for decides, _ in pairs}
    by_name, ordered = {column.name: column for column in columns}, sorted(sets)
    counts = distinct_sets(statements, table, [[by_name[name] for name in own] for own in ordered], most=_MOST_ROWS)
    distinct = dict(zip(ordered, counts, strict=True))
    for decided in columns:
        possible = [
            decides for decides, other in pairs if other is decided and _is_possible(distinct, decides, decided)
        ]
        possible.sort(key=lambda column: (not is_identifier(column.name), column.distinct))
        yield from ((decides, decided) for decides in possible[:_TRIED_FOR_EACH])


def _chance(column: ColumnStatistics) -> float:
    """Return the chance that two rows differ in a column, by the values of its sample."""
    pairs = column.counted * (column.counted - 1)
    return 1 - column.alike / pairs if pairs else 0.0


def _is_possible(
    distinct: Mapping[tuple[str, ...], tuple[int, int]], decides: ColumnStatistics, decided: ColumnStatistics
) -> bool:
    first, second = sorted((decides.name, decided.name))
    rows, pairs = distinct[first, second]
    _, groups = distinct.get((decides.name,), (decides.filled, decides.distinct))
    return pairs - groups <= _MOST_CONTRADICTIONS * rows


def _evidence(
    table: TableStatistics, pairs: Sequence[tuple[ColumnStatistics, ColumnStatistics]], statements: TableStatements
) -> Sequence[_Evidence]:
    parts = [statements.part("dependency", (decides.name, decided.name), _counts) for decides, decided in pairs]
    answer = statements.answers(parts, sampled_share(table.rows, EXACT_ROWS))
    by_place = {int(row["place"]): row for row in answer}
    return [_Evidence(*(int(by_place[at][name] or 0) for name in _FIGURES)) for at in range(len(pairs))]


def _counts(rows: ir.Table, decides: str, decided: str) -> ir.Table:
    """Return one row about a pair of columns: groups by the values of one, and how the values of the other agree."""
    narrow = rows.select(decides=rows[decides], decided=rows[decided])
    narrow = narrow.filter(narrow["decides"].notnull(), narrow["decided"].notnull())
    pairs = narrow.group_by(["decides", "decided"]).aggregate(n=narrow.count())
    n = pairs["n"]
    groups = pairs.group_by("decides").aggregate(size=n.sum().cast("int64"), most=n.max().cast("int64"))
    figures = (
        groups["size"].sum(),
        groups.count(),
        (groups["size"] > 1).sum(),
        (groups["size"] - groups["most"]).sum(),
    )
    return groups.aggregate(**{name: figure.cast("int64") for name, figure in zip(_FIGURES, figures, strict=True)})


def _proposal(decides: ColumnStatistics, decided: ColumnStatistics, counts: _Evidence) -> Proposal:
    expected = counts.repeats * _chance(decided)
    why = f"{counts.repeated:,} values of {decides.name} stand in several rows, each with one {decided.name}"
    if counts.violations:
        why += f" but for {counts.violations:,} of {counts.rows:,} rows"
    why += f"; about {expected:,.0f} rows would differ if the columns were independent"
    sure = not counts.violations and expected >= ENOUGH_ROWS
    return Proposal(
        "functional_dependency",
        (decides.name, decided.name),
        why,
        Confidence.HIGH if sure else Confidence.LOW,
        {"type": "functional_dependency", "determinant": [decides.name], "dependent": decided.name},
        breaks_at_most=breaks_at_most(counts.repeats, counts.violations),
    )
