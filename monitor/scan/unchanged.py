"""Leave a table alone that did not change: its checks are judged again by the numbers of the look before.

    sign of the last change ─> as before? ─> the numbers of the last look, at the time of this one
                                         └─> look, and keep the numbers with the sign, if all of them stand still

The sign is asked for before anything is read, so that a change during a look is seen by the next one. See
docs/adr/0080-unchanged-tables-are-not-read.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from checks import Measurement, Outcome
from monitor.scan.results import CheckMeasurement, run_guarded
from sources import Source

if TYPE_CHECKING:
    from monitor.scan.results import Target


_TIMES: Final = frozenset({"now", "today", "tomorrow", "yesterday", "allballs"})
"""Texts that SQLite and PostgreSQL read as the present time."""
_OURS: Final = ("tablewatch_", "_ibis_")
_PURE: Final = frozenset({"make_timestamptz", "make_timestamp", "make_date", "epoch_us", "isnan", "isinf"})
"""Functions that sqlglot does not know and that have neither a clock nor chance."""


@dataclass(frozen=True, slots=True)
class KnownNumbers:
    """What a look measured, when, and the sign that the table had before."""

    sign: str
    read_at: datetime
    measured: Sequence[CheckMeasurement]


Known: TypeAlias = MutableMapping[str, KnownNumbers]
"""What is known of tables, by name."""


def measure_changes(
    source: Source, target: Target, known: Known, now: datetime, measure: Callable[[Source], Sequence[CheckMeasurement]]
) -> tuple[Sequence[CheckMeasurement], bool]:
    """Return what a look measures, and whether it read the table.

    It is read where its source has no sign of changes, where a check keeps counts, reads more than the table or depends
    on the clock, and once in the time of its schedule.
    """
    subject, longest = target.subject, target.full_every or timedelta(0)
    sign = run_guarded(lambda: source.change_sign(subject.relation, now))
    before = known.pop(subject.name, None)
    if sign is None or isinstance(sign, Outcome) or subject.keeps or target.others:
        return measure(source), True
    sign = f"{target.place} {sign}"
    checks = [check for _, check in subject.checks]
    if before is not None and before.sign == sign and timedelta(0) <= now - before.read_at < longest:
        known[subject.name] = before
        if [item.check for item in before.measured] == checks:
            return [_at(item, now) for item in before.measured], False
    watched = _WatchedSource(source)
    measured = measure(cast("Source", watched))
    if watched.is_alone(subject.relation) and all(map(_stands_still, measured)):
        known[subject.name] = KnownNumbers(sign, now, measured)
    return measured, True


def _at(item: CheckMeasurement, now: datetime) -> CheckMeasurement:
    """Return numbers as they are measured at another time, for nothing."""
    answer = replace(cast("Measurement", item.answer), measured_at=now)
    return replace(item, answer=answer, duration_s=0.0)


def _stands_still(item: CheckMeasurement) -> bool:
    check: Any = item.check
    return isinstance(item.answer, Measurement) and check.type != "expectation" and check.stands_still(item.answer)


class _WatchedSource:
    """A source that keeps the statements which were run, and whether rows were read in another way."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._statements: set[str] = set()
        self._reads_rows = False

    def fetch(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows of a SELECT."""
        self._statements.add(sql)
        return self._source.fetch(sql)

    def __getattr__(self, name: str) -> Any:
        """Return anything else of the source."""
        self._reads_rows = self._reads_rows or name in {"pieces", "columns", "frame"}
        return getattr(self._source, name)

    def is_alone(self, relation: str) -> bool:
        """Check whether all that was read follows from one table."""
        return not self._reads_rows and all(
            depends_only_on(sql, self._source.dialect, relation) for sql in self._statements
        )


def depends_only_on(sql: str, dialect: str, relation: str) -> bool:
    """Check whether the answer of a statement follows from one table alone: no other table, no clock, no chance.

    A function that sqlglot does not know may be any of these.
    """
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    try:
        tree = parse_one(sql, dialect=dialect)
    except SqlglotError:
        return False
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    name = relation.rpartition(".")[2]
    tables = [table.name for table in tree.find_all(exp.Table) if table.name not in own]
    if not tables or any(table != name for table in tables) or tree.find(exp.Rand, exp.Command, *_clocks()) is not None:
        return False
    if any(literal.name.lower() in _TIMES for literal in tree.find_all(exp.Literal)):
        return False
    functions = (function.name.lower() for function in tree.find_all(exp.Anonymous))
    return all(name.startswith(_OURS) or name in _PURE for name in functions)


def _clocks() -> tuple[type[Any], ...]:
    from sqlglot import exp

    return exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentDatetime
