"""Propose keys: single columns by their distinct values, then sets of two and three, smallest first.

A set of columns that no two rows share may be unique by accident: two columns of a thousand values each have a million
combinations, which ten rows will not exhaust. `accidents` is the number of pairs of rows that would share a combination
if the columns were independent; where that is small, being unique says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Final

from monitor.suggest.profile import ColumnFamily, ColumnStatistics, TableStatistics, distinct_sets
from monitor.suggest.proposal import (
    ENOUGH_ROWS,
    ENOUGH_WITH_NAME,
    Confidence,
    Proposal,
    breaks_at_most,
    is_identifier,
    is_unique_by_name,
)
from monitor.suggest.statements import TableStatements

_NEARLY: Final = 0.99
"""Distinct values per row from which on a column that is called as identifiers are may be a key with a fault."""
_APPROXIMATE: Final = 0.8
"""The same where distinct values are approximate: what passes is counted exactly."""
_LONGEST: Final = 64
"""Letters above which a text is prose, and no key."""
_MOST_SINGLE: Final = 3
_MOST_TRIED: Final = 8
"""Columns of which sets are made: 28 pairs, 56 triples."""
_MOST_SETS: Final = 2
_FEWEST_ACCIDENTS: Final = 7.0
"""Pairs of alike rows to be expected by accident; that none occurs then has a chance of less than 1 in 1,000."""


def declared_key(table: TableStatistics, key: Sequence[str]) -> Proposal:
    """Return the proposal of a key that the catalogue declares."""
    return _key(tuple(key), "declared as the primary key by the source", Confidence.DECLARED, table.rows)


def single_keys(table: TableStatistics, declared: Sequence[str]) -> Iterator[Proposal]:
    """Yield the columns that no two rows share: the best as the key, if none is declared, the others as unique."""
    candidates = [
        column for column in table.columns if _may_be_unique(table, column) and (column.name,) != tuple(declared)
    ]
    candidates.sort(key=lambda column: _rank(table, column))
    has_key = bool(declared)
    for column in candidates[:_MOST_SINGLE]:
        if _is_key(table, column) and not has_key:
            has_key = True
            yield _key((column.name,), _why(table, column), _confidence(table, column), table.rows)
        elif is_unique_by_name(column.name) or column.filled >= ENOUGH_ROWS:
            check = {"type": "unique", "columns": [column.name]}
            at_most = breaks_at_most(column.filled)
            # a part of a declared key of several columns is meant to repeat
            sure = Confidence.LOW if column.name in declared else _confidence(table, column)
            yield Proposal("unique", (column.name,), _why(table, column), sure, check, breaks_at_most=at_most)


def composite_keys(table: TableStatistics, statements: TableStatements) -> Iterator[Proposal]:
    """Yield sets of two columns that no two rows share, else of three; counted in the sample.

    Raises:
        SourceError: the table cannot be read.
    """
    columns = [column for column in table.columns if _may_be_part(table, column)]
    columns = sorted(columns, key=lambda column: (not _is_part_by_name(column), table.columns.index(column)))
    columns = sorted(columns[:_MOST_TRIED], key=table.columns.index)
    for size in (2, 3):
        sets = [parts for parts in combinations(columns, size) if _accidents(table, parts) >= _FEWEST_ACCIDENTS]
        if not sets:
            continue
        counts = distinct_sets(statements, table, sets)
        unique = [at for at, (filled, distinct) in enumerate(counts) if filled == distinct > 0]
        best_first = sorted(unique, key=lambda at: _plain_first(sets[at]))
        for place, at in enumerate(best_first[:_MOST_SETS]):
            names = tuple(column.name for column in sets[at])
            proposal = _composite(table, names, _accidents(table, sets[at]))
            yield proposal if place == 0 else replace(proposal, confidence=Confidence.LOW)
        if unique:
            return


def _composite(table: TableStatistics, names: Sequence[str], accidents: float) -> Proposal:
    evidence = "no two rows" if table.exact else f"no two of {table.sampled:,} sampled rows"
    why = f"{evidence} share these values; about {accidents:,.0f} pairs would if the columns were independent"
    confidence = Confidence.HIGH if table.rows >= ENOUGH_ROWS else Confidence.LOW
    return _key(tuple(names), why, confidence, table.rows)


def _key(columns: tuple[str, ...], why: str, confidence: Confidence, rows: int) -> Proposal:
    check = {"type": "primary_key", "columns": list(columns), "severity": "critical"}
    return Proposal("key", columns, why, confidence, check, breaks_at_most=breaks_at_most(rows))


def _may_be_unique(table: TableStatistics, column: ColumnStatistics) -> bool:
    if column.family is ColumnFamily.TIME:  # of a series that begins with its times; events may share none by accident
        return _is_first(table, column) and 2 <= column.filled == column.distinct
    if column.family not in {ColumnFamily.WHOLE, ColumnFamily.TEXT} or column.filled < 2 or column.longest > _LONGEST:
        return False
    if not table.exact:
        return column.distinct >= _APPROXIMATE * column.filled
    if column.distinct == column.filled:
        return is_unique_by_name(column.name) or not _is_unique_by_accident(column)
    return is_identifier(column.name) and _is_first(table, column) and column.distinct >= _NEARLY * column.filled


def _is_unique_by_accident(column: ColumnStatistics) -> bool:
    """Check whether numbers are so far apart that no two of them need to be alike."""
    if column.low is None or column.high is None:
        return False
    return bool(column.filled * (column.filled - 1) / 2 / (column.high - column.low + 1) < _FEWEST_ACCIDENTS)


def _is_key(table: TableStatistics, column: ColumnStatistics) -> bool:
    """Check whether a unique column may be the key: named so, or the first; a few NULLs may be a fault."""
    nearly_filled = column.filled >= _NEARLY * table.rows
    return nearly_filled and (is_identifier(column.name) or _is_first(table, column) or column.filled == table.rows)


def _is_first(table: TableStatistics, column: ColumnStatistics) -> bool:
    return table.columns[0].name == column.name


def _rank(table: TableStatistics, column: ColumnStatistics) -> tuple[bool, bool, int]:
    return not is_identifier(column.name), column.filled < table.rows, table.columns.index(column)


def _confidence(table: TableStatistics, column: ColumnStatistics) -> Confidence:
    named = is_unique_by_name(column.name)
    if column.family is ColumnFamily.TIME:
        return Confidence.LOW
    if column.family is ColumnFamily.WHOLE and not named and not _is_first(table, column):
        return Confidence.LOW  # such as an amount in cents
    enough = column.filled >= (ENOUGH_WITH_NAME if named else ENOUGH_ROWS)
    return Confidence.HIGH if enough else Confidence.LOW


def _why(table: TableStatistics, column: ColumnStatistics) -> str:
    text = f"{column.distinct:,} distinct values in {column.filled:,} rows"
    if not table.exact:
        text = f"about as many distinct values as rows ({column.filled:,})"
    if column.filled < table.rows:
        text += f"; NULL in {table.rows - column.filled:,}"
    return text + ("; named as identifiers are" if is_unique_by_name(column.name) else "")


def _may_be_part(table: TableStatistics, column: ColumnStatistics) -> bool:
    kinds = {ColumnFamily.WHOLE, ColumnFamily.TEXT, ColumnFamily.TIME}
    return (
        column.family in kinds and column.filled == table.rows and column.distinct >= 2 and column.longest <= _LONGEST
    )


def _is_part_by_name(column: ColumnStatistics) -> bool:
    return is_identifier(column.name) or column.family is ColumnFamily.TIME


def _accidents(table: TableStatistics, columns: Sequence[ColumnStatistics]) -> float:
    combinations_possible = prod(column.distinct for column in columns)
    return table.sampled * (table.sampled - 1) / 2 / combinations_possible if combinations_possible >= table.rows else 0


def _plain_first(columns: Sequence[ColumnStatistics]) -> tuple[int, int]:
    """Sort sets of identifiers and times first, then those with fewest combinations."""
    return -sum(map(_is_part_by_name, columns)), prod(column.distinct for column in columns)
