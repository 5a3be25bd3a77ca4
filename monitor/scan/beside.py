"""Compare a table with one of another source: both are open at once, and the check asks each in its own engine.

`diff_tables` compares two tables for a person, whatever the configuration checks of them; nothing is stored.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from checks import Check, Zones
from checks.diff import Diff
from checks.sql_text.where import predicate_sql
from monitor.clock import Clock
from monitor.scan.results import OtherTable, PassResult, Subject, Target
from monitor.scan.run import Engine
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
    return check.beside(left, opened(other, now))


@contextmanager
def opened(other: OtherTable, now: datetime) -> Iterator[DiffSide]:
    """Open the source of a table, and yield it as a side of a comparison.

    Raises:
        SourceError: the source cannot be opened, or has no such table.
    """
    with open_source(other.source) as source:
        name = f"{other.source.name}.{other.relation}"
        yield side_of(source, other.relation, name=name, zones=other.zones, now=now)


def diff_tables(left: Target, right: Target, check: Diff, clock: Clock) -> PassResult:
    """Compare two tables by checksums, also where both are of one source; `check.against` is the name of the right one.

    What could not be compared is `unknown`, never an exception.
    """
    started_at, started = clock.now(), clock.monotonic()
    target = _with_other(left, right, check)
    results = Engine(clock).run([target])
    run_id, duration_s = secrets.token_hex(12), clock.monotonic() - started
    return PassResult(left.subject.name, run_id, started_at, duration_s, results, targets=[target])


def differing_rows(
    left: Target, right: Target, check: Diff, now: datetime, *, limit: int
) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Read up to `limit` rows that only one table has, of each, and pairs of changed ones, with the side of each.

    They are data: never store them.

    Raises:
        Misconfigured, SourceError: they cannot be compared.
    """
    from sources.table_diff import DifferingKeys, side_by_side

    other = _with_other(left, right, check).others[check.against]
    noted = DifferingKeys(limit)
    with open_source(left.source) as source:
        one = side_of(source, left.subject.relation, name=left.subject.name, zones=left.subject.zones, now=now)
        with side_by_side(
            one, opened(other, now), key=check.key_columns, columns=check.columns, where=check.where
        ) as comparison:
            comparison.run(noted)
            places = [place for kind in noted.places.values() for place in kind]
            lefts, rights = comparison.rows_of(places)
    order = {place: at for at, place in enumerate(places)}
    rows = [(left.subject.name, row) for row in lefts] + [(check.against, row) for row in rights]
    return sorted(rows, key=lambda item: order[item[1]["place"]])


def _with_other(left: Target, right: Target, check: Diff) -> Target:
    name = left.subject.name
    subject = replace(left.subject, checks=((f"{name}.{check.name}", check),), elsewhere=frozenset({check.against}))
    other = OtherTable(right.source, right.subject.relation, right.subject.zones)
    return replace(left, subject=subject, others={check.against: other})


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
