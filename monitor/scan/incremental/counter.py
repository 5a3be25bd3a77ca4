"""Count the classes of one check of one table, from what is kept of them where something is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from checks import Context, Measurement, Misconfigured
from checks.classes.counts import ClassCountRequest, CountRequest, PersonRequest
from checks.classes.incremental import SIZES
from monitor.scan.incremental.counting import (
    CountResult,
    SqlRunner,
    count_classes,
    sign_persons,
    sizes_at_once,
    usable,
)
from monitor.scan.planner import counting_place
from monitor.scan.results import CountState, Subject
from monitor.scan.sql_template import SqlTemplate
from sources import Source
from sources.expressions import ir


@dataclass(frozen=True, slots=True)
class IncrementalCounter:
    """One check of one table in an open source. `fill` gives the text of a statement as it is run now."""

    subject: Subject
    check_id: str
    source: Source
    keeper: CountState | None
    fill: Callable[[SqlTemplate], str]

    def count(self, count_request: CountRequest, measured: Measurement) -> Measurement:
        """Return the measurement with what was found for the store, or with the sizes where nothing is kept.

        Raises:
            Misconfigured: the check does not fit the table, or there is no key. SourceError: as the source.
        """
        context, compile_ = counting_place(self.subject, self.check_id, self.source)

        def say(expression: ir.Table) -> str:
            return self.fill(compile_(expression))

        asking = SqlRunner(self.source, say)
        if isinstance(count_request, PersonRequest):
            return self._pair(count_request, context, asking, measured)
        result = self._count(count_request, context, asking)
        values = {**measured.values, "rows": result.rows, "counted": result.how}
        values["recount"] = None if result.why is None else result.why.value
        tables = measured.tables if result.sizes is None else {**measured.tables, SIZES: result.sizes}
        return replace(measured, values=values, tables=tables, kept=result.kept)

    def _count(self, class_count_request: ClassCountRequest, context: Context, asking: SqlRunner) -> CountResult:
        if self.keeper is None:
            return sizes_at_once(class_count_request, context, asking)
        where = dict(self.subject.checks)[self.check_id].where or ""
        return count_classes(
            class_count_request,
            context,
            asking,
            key=self._key(self.keeper),
            known=self.keeper.known.get(self.check_id),
            about=(self.subject.relation, where),
        )

    def _pair(
        self, person_request: PersonRequest, context: Context, asking: SqlRunner, measured: Measurement
    ) -> Measurement:
        if self.keeper is None:  # without a store there is no earlier release
            return replace(measured, values={**measured.values, "rows": context_rows(context, asking), "unnamed": 0})
        person_rows = sign_persons(person_request, context, asking, key=self._key(self.keeper))
        pairs = person_rows.persons
        values = {**measured.values, "rows": pairs.rows + pairs.unnamed, "unnamed": pairs.unnamed}
        return replace(measured, values=values, kept=person_rows)

    def _key(self, keeper: CountState) -> bytes:
        if keeper.problem is not None or not usable(keeper.key):
            raise Misconfigured(keeper.problem or "there is no key for signatures")
        return keeper.key


def context_rows(context: Context, asking: SqlRunner) -> int:
    """Count the rows that a check looks at."""
    rows = context.filtered
    return int(asking.row(rows.aggregate(rows=rows.count()))["rows"])
