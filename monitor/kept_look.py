"""Look for a check whose counts are kept, or whose releases are remembered: ask, hash, and say what was found."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import ibis.expr.types as ir

from checks import Context, Measurement, Misconfigured
from checks._counts import CountRequest, ClassCountRequest, PersonRequest
from checks._incremental import SIZES
from monitor.counting import SqlRunner, CountResult, count_classes, pair_persons, sizes_at_once, usable
from monitor.holes import SqlTemplate
from monitor.planner import counting_place
from monitor.target import CountState, Subject
from sources import Source


@dataclass(frozen=True, slots=True)
class IncrementalCounter:
    """One check of one table in an open source. `fill` gives the text of a statement as it is run now."""

    subject: Subject
    check_id: str
    source: Source
    keeper: CountState | None
    fill: Callable[[SqlTemplate], str]

    def count(self, wanted: CountRequest, measured: Measurement) -> Measurement:
        """Give the measurement with what was found for the store, or with the sizes where nothing is kept.

        Raises:
            Misconfigured: the check does not fit the table, or there is no key. SourceError: as the source.
        """
        context, compile_ = counting_place(self.subject, self.check_id, self.source)

        def say(expression: ir.Table) -> str:
            return self.fill(compile_(expression))

        asking = SqlRunner(self.source, say)
        if isinstance(wanted, PersonRequest):
            return self._pair(wanted, context, asking, measured)
        found = self._count(wanted, context, asking)
        values = {**measured.values, "rows": found.rows, "counted": found.how}
        values["recount"] = None if found.why is None else found.why.value
        tables = measured.tables if found.sizes is None else {**measured.tables, SIZES: found.sizes}
        return replace(measured, values=values, tables=tables, kept=found.kept)

    def _count(self, wanted: ClassCountRequest, context: Context, asking: SqlRunner) -> CountResult:
        if self.keeper is None:
            return sizes_at_once(wanted, context, asking)
        where = dict(self.subject.checks)[self.check_id].where or ""
        return count_classes(
            wanted,
            context,
            asking,
            key=self._key(self.keeper),
            known=self.keeper.known.get(self.check_id),
            about=(self.subject.relation, where),
        )

    def _pair(self, wanted: PersonRequest, context: Context, asking: SqlRunner, measured: Measurement) -> Measurement:
        if self.keeper is None:  # what nobody remembers cannot be compared with
            return replace(measured, values={**measured.values, "rows": context_rows(context, asking), "unnamed": 0})
        found = pair_persons(wanted, context, asking, key=self._key(self.keeper))
        values = {**measured.values, "rows": found.rows + found.unnamed, "unnamed": found.unnamed}
        return replace(measured, values=values, kept=found)

    def _key(self, keeper: CountState) -> bytes:
        if keeper.problem is not None or not usable(keeper.key):
            raise Misconfigured(keeper.problem or "there is no key for signatures")
        return keeper.key


def context_rows(context: Context, asking: SqlRunner) -> int:
    """Count the rows that a check looks at."""
    rows = context.filtered
    return int(asking.row(rows.aggregate(rows=rows.count()))["rows"])
