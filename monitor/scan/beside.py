"""Compare a table with one of another source: both are open at once, and the check asks each in its own engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from checks import Check, Zones
from checks.sql_text.where import predicate_sql
from monitor.scan.results import OtherTable, Subject
from monitor.scan.sql_template import Placeholders, TimeLiterals
from sources import Source, open_source
from sources.expressions import ir
from sources.table_diff import DiffSide


def compare_beside(
    check: Check, subject: Subject, source: Source, *, other: OtherTable, now: datetime
) -> Sequence[Mapping[str, Any]]:
    """Return what a check finds beside a table of another source.

    Raises:
        Misconfigured, SourceError: they cannot be compared.
    """
    left = side_of(source, subject.relation, name=subject.name, zones=subject.zones, now=now)
    [name] = check.refers_to
    return check.beside(left, opened(other, name, now))


@contextmanager
def opened(other: OtherTable, name: str, now: datetime) -> Iterator[DiffSide]:
    """Open the source of a table, and yield it as a side of a comparison, called by a name.

    Raises:
        SourceError: the source cannot be opened, or has no such table.
    """
    with open_source(other.source) as source:
        yield side_of(source, other.relation, name=name, zones=other.zones, now=now)


def side_of(source: Source, relation: str, *, name: str, zones: Zones, now: datetime) -> DiffSide:
    """Return a table of an open source as a side of a comparison.

    Raises:
        SourceError: the source has no such table.
    """
    table, holes, literals = source.table(relation), Placeholders(source), TimeLiterals(source)

    def compiled(expression: ir.Expr) -> str:
        return holes.compile(expression).fill(now, literals)

    def predicate(where: str) -> ir.BooleanValue:
        return holes.filter(predicate_sql(where, columns=table.columns, dialect=source.dialect))

    return DiffSide(
        name=name,
        table=table,
        dialect=source.dialect,
        is_utc=lambda column: zones.of(column) == "UTC",
        source=source,
        compile=compiled,
        predicate=predicate,
        now=holes.now,
    )
