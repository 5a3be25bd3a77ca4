"""Compare two tables for a person, whatever the configuration checks of them; nothing is stored."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from checks.diff import Diff
from monitor.clock import Clock
from monitor.scan.beside import opened, side_of
from monitor.scan.results import OtherTable, PassResult, Target
from monitor.scan.run import Engine
from sources import open_source
from sources.table_diff import DifferingKeys, side_by_side


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
    other = _with_other(left, right, check).others[check.against]
    noted = DifferingKeys(limit)
    with open_source(left.source) as source:
        one = side_of(source, left.subject.relation, name=left.subject.name, zones=left.subject.zones, now=now)
        with side_by_side(
            one, opened(other, check.against, now), key=check.key_columns, columns=check.columns, where=check.where
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
