"""Run a plan inside the engine that holds the table; only aggregates come back.

What plans further statements is imported where they are needed: running a plan that is kept needs no expressions.

One bad check must not blind the others: when the engine refuses the fused statement, each check's part of it is run
alone, and only those that are refused again could not be evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from checks import BESIDE, Check, Frame, Measurement, Misconfigured, Outcome, SegmentedMeasurement, UnknownReason
from checks.classes.counts import ClosedPart, CountRequest
from checks.gx.caller import Caller
from checks.gx.worker_door import GxRequest, evaluate
from monitor.scan.results import CheckMeasurement, CountState, OtherTable, Target, misconfigured, not_evaluated
from monitor.scan.sql_template import SqlTemplate, TimeLiterals
from monitor.scan.table_plan import PlannedQuery, Relatives, TablePlan
from sources import Source, SourceError

if TYPE_CHECKING:
    from monitor.scan.incremental.counter import IncrementalCounter
    from monitor.scan.incremental.parts import PartPlan
    from monitor.scan.segment_query import SegmentQuery

T = TypeVar("T")

_MOST_LOOKS = 8
"""The most follow-up queries of a check on one measurement."""


def measure(
    plan: TablePlan,
    source: Source,
    now: datetime,
    literals: TimeLiterals,
    *,
    target: Target | None = None,
    caller: Caller | None = None,
) -> Sequence[CheckMeasurement]:
    """Measure every check of a table at a time. Errors of the source become `unknown` outcomes, never exceptions.

    `target`: what is known of counts that are kept, and of tables of other sources. `caller`: calls Great Expectations.
    """
    known = () if target is None else (target.keeper, caller, target.others)
    return _Run(plan, source, now, literals, *known).measure()


@dataclass
class _Run:
    plan: TablePlan
    source: Source
    now: datetime
    literals: TimeLiterals
    keeper: CountState | None = None
    caller: Caller | None = None
    others: Mapping[str, OtherTable] = field(default_factory=dict)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, dict[str, Sequence[Mapping[str, Any]]]] = field(default_factory=dict)
    frames: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    closed: dict[str, ClosedPart] = field(default_factory=dict)
    segments: dict[str, tuple[SegmentQuery, Sequence[Mapping[str, Any]]]] = field(default_factory=dict)
    failed: dict[str, Outcome] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def measure(self) -> Sequence[CheckMeasurement]:
        self._run()
        return [self._answer(check_id, check) for check_id, check in self.plan.subject.checks]

    def measure_plainly(self) -> Sequence[Measurement | Outcome]:
        """Run the plan and give what came back, without looking again."""
        self._run()
        return [self._found(check_id) for check_id, _ in self.plan.subject.checks]

    def _run(self) -> None:
        self._read_columns()
        self._read_estimate()
        self._read_times()
        self._run_fused()
        self._run_parts()
        for query in self.plan.queries:
            self._run_query(query, self._keep_rows)
        for query in self.plan.counts:
            self._run_query(query, self._keep_count)
        for family in self.plan.union_queries:
            self._run_family(family)
        for segments in self.plan.segments:
            self._run_segments(segments)
        for check_id, wants in self.plan.wants.items():
            if wants.frame is not None:
                self._run_frame(check_id, wants.frame)
            if wants.beside is not None and check_id not in self.failed:
                self._run_beside(check_id, wants.beside)

    def _answer(self, check_id: str, check: Check) -> CheckMeasurement:
        result: Measurement | SegmentedMeasurement | Outcome = self._found(check_id)
        if check_id in self.segments and isinstance(result, Measurement):
            result = self._in_segments(check_id, check, result)
        kept = self.plan.wants[check_id].kept if check_id in self.plan.wants else None
        if kept is not None and isinstance(result, Measurement):
            result = self._count(check_id, kept, result)
        if check.looks_again and isinstance(result, Measurement):
            result = self._look_again(check_id, result)
        wants = self.plan.wants.get(check_id)
        return CheckMeasurement(
            check_id, check, result, self.seconds.get(check_id, 0.0), wants.earlier if wants else None
        )

    def _found(self, check_id: str) -> Measurement | Outcome:
        return (
            self.plan.refused.get(check_id)
            or self.failed.get(check_id)
            or Measurement(
                measured_at=self.now,
                values=self.values.get(check_id, {}),
                tables=self.tables.get(check_id, {}),
                columns=self.columns,
                frame_result=self.frames.get(check_id, {}),
                kept=self.closed.get(check_id),
                zones=self.plan.subject.zones,
                loaded_at=self.plan.subject.loaded_at,
                family=self.plan.subject.family,
                k=self._least_people(check_id),
            )
        )

    def _least_people(self, check_id: str) -> int:
        people = self.plan.subject.people
        column = dict(self.plan.subject.checks)[check_id].value_column
        return people.k if people is not None and people.protects(column) else 0

    def _in_segments(self, check_id: str, check: Check, whole: Measurement) -> SegmentedMeasurement | Outcome:
        from monitor.scan.segment_query import names_of

        query, rows = self.segments[check_id]
        try:
            names = names_of(self.plan.subject, check, query, self.keeper)
        except Misconfigured as error:
            return misconfigured(error)
        return query.measured(check, check_id, rows=rows, whole=whole, names=names)

    def _count(self, check_id: str, count_request: CountRequest, measurement: Measurement) -> Measurement | Outcome:
        """Count into what the store keeps."""
        counted = self._attempt([check_id], partial(self._counting(check_id).count, count_request, measurement))
        return self.failed[check_id] if counted is None else counted

    def _counting(self, check_id: str) -> IncrementalCounter:
        from monitor.scan.incremental.counter import IncrementalCounter

        return IncrementalCounter(self.plan.subject, check_id, self.source, self.keeper, self._fill)

    def _fill(self, template: SqlTemplate) -> str:
        return template.fill(self.now, self.literals)

    def _look_again(self, check_id: str, measurement: Measurement) -> Measurement | Outcome:
        """Measure a check's follow-up questions until there are none."""
        from monitor.scan.planner import plan_again

        subject = self.plan.subject
        for _ in range(_MOST_LOOKS):
            again = self._attempt([check_id], partial(plan_again, subject, check_id, measurement, self.source))
            if again is None:
                return self.failed[check_id]
            if isinstance(again, Measurement):
                return again
            more = _Run(again, self.source, self.now, self.literals)
            (answer,) = more.measure_plainly()
            self.seconds[check_id] = self.seconds.get(check_id, 0.0) + more.seconds.get(check_id, 0.0)
            if isinstance(answer, Outcome):
                return answer
            measurement = replace(
                measurement,
                values={**measurement.values, **answer.values},
                tables={**measurement.tables, **answer.tables},
            )
        raise RuntimeError(f"a check repeats indefinitely: {type(dict(subject.checks)[check_id]).__name__}")

    def _read_columns(self) -> None:
        wanted = [check_id for check_id, wants in self.plan.wants.items() if wants.schema]
        if wanted:
            result = self._attempt(wanted, lambda: self.source.table(self.plan.subject.relation).schema())
            if result is not None:
                self.columns = {name: str(type_) for name, type_ in result.items()}

    def _read_estimate(self) -> None:
        wanted = [check_id for check_id, wants in self.plan.wants.items() if wants.estimate]
        if wanted:
            found = self._attempt(wanted, self._estimate)
            self.values |= {} if found is None else dict.fromkeys(wanted, found)

    def _read_times(self) -> None:
        relation = self.plan.subject.relation
        for check_id, wants in self.plan.wants.items():
            if wants.newest is not None:
                newest = self._attempt([check_id], partial(self._newest, relation, wants.newest))
                self.values |= {} if newest is None else {check_id: newest}
            elif wants.last_write:
                written = self._attempt([check_id], partial(self._written, relation))
                self.values |= {} if written is None else {check_id: written}

    def _newest(self, relation: str, column: str) -> dict[str, Any]:
        return {"newest": self.source.newest(relation, column)}

    def _written(self, relation: str) -> dict[str, Any]:
        return {"written": self.source.last_write(relation), "writes": self.source.write_count(relation)}

    def _estimate(self) -> dict[str, Any]:
        estimate = self.source.row_estimate(self.plan.subject.relation)
        if estimate is None:
            raise Misconfigured(
                f"the catalogue of {self.source.dialect} says no number of rows of this table; remove 'count', or let "
                "the engine analyze the table"
            )
        return {"rows": estimate.rows, "error": estimate.error, "counted_at": estimate.counted_at}

    def _run_fused(self) -> None:
        if self.plan.fused is None:
            return
        asking = [check_id for check_id, columns in self.plan.columns.items() if columns]
        row = self._attempt(asking, partial(self._fetch_row, self.plan.fused))
        if row is not None:
            self._keep_values(self.plan, row)
        else:
            self._run_apart(asking, self._run_fused_alone)

    def _run_fused_alone(self, part: TablePlan, check_id: str) -> None:
        if part.fused is not None:
            row = self._attempt([check_id], partial(self._fetch_row, part.fused))
            if row is not None:
                self._keep_values(part, row)

    def _run_parts(self) -> None:
        """Read new rows only for the checks that add up; where the engine refuses that, each check reads all rows."""
        parts = self.plan.parts
        if parts is None:
            return
        known = None if self.keeper is None else self.keeper.closed
        asking, name, most_rows = list(parts.columns), self.plan.subject.name, partial(self._most_rows, parts)
        part_look = self._attempt(
            asking, lambda: parts.look(self._fetch, known, table=name, now=self.now, most_rows=most_rows)
        )
        if part_look is None:
            self._run_apart(asking, self._run_alone)
            return
        self.closed = {asking[0]: part_look.closed}
        self.values |= part_look.values
        self.tables |= part_look.tables

    def _most_rows(self, parts: PartPlan) -> int | None:
        """Return how many rows the table has at most, by what the engine keeps of it; None where that says nothing."""
        if parts.count is not None:
            return int(next(iter(self._fetch(parts.count)[0].values())))
        estimate = self.source.row_estimate(self.plan.subject.relation)
        return None if estimate is None else estimate.rows + estimate.error

    def _run_alone(self, part: TablePlan, check_id: str) -> None:
        self._run_fused_alone(part, check_id)
        for query in part.queries:
            self._run_query(query, self._keep_rows)

    def _run_family(self, family: Relatives) -> None:
        asking = sorted(family.wanted_by - self.failed.keys())
        rows = self._attempt(asking, lambda: self._fetch(family.template)) if asking else None
        if rows is not None:
            for part in family.parts:
                answer = part.of(rows)
                for check_id, name in part.wanted_by:
                    self._keep_rows(check_id, name, answer)
        elif asking:
            self._run_apart(asking, self._run_families_alone)

    def _run_families_alone(self, part: TablePlan, check_id: str) -> None:
        for family in part.union_queries:
            if check_id not in self.failed:
                self._run_family(family)

    def _run_segments(self, query: SegmentQuery) -> None:
        asking = [check_id for check_id in query.columns if check_id not in self.failed]
        rows = self._attempt(asking, lambda: self._fetch(query.template)) if asking else None
        if rows is not None:
            self.segments |= dict.fromkeys(asking, (query, rows))
        elif asking:
            self._run_apart(asking, self._run_segments_alone)

    def _run_segments_alone(self, part: TablePlan, check_id: str) -> None:
        for query in part.segments:
            if check_id not in self.failed:
                self._run_segments(query)

    def _run_apart(self, asking: Sequence[str], run: Callable[[TablePlan, str], None]) -> None:
        """Where the engine refused a statement of several checks, run each check's part of it, planned again."""
        if len(asking) < 2 or not all(self._may_be_guiltless(check_id) for check_id in asking):
            return
        from monitor.scan.planner import plan

        for check_id in asking:
            del self.failed[check_id]
            subject = self.plan.subject
            alone = replace(subject, checks=((check_id, dict(subject.checks)[check_id]),))
            part = self._attempt([check_id], partial(plan, alone, self.source))
            if part is not None:
                self.failed.update(part.refused)
                run(part, check_id)

    def _may_be_guiltless(self, check_id: str) -> bool:
        return self.failed[check_id].reason in {UnknownReason.MISCONFIGURED, UnknownReason.PERMISSION}

    def _run_query(self, query: PlannedQuery, keep: Callable[[str, str, Sequence[Mapping[str, Any]]], None]) -> None:
        asking = [check_id for check_id, _ in query.wanted_by if check_id not in self.failed]
        rows = self._attempt(asking, lambda: self._fetch(query.template)) if asking else None
        for check_id, name in query.wanted_by:
            if rows is not None:
                keep(check_id, name, rows)

    def _run_frame(self, check_id: str, frame: Frame) -> None:
        if check_id in self.failed:
            return
        check = dict(self.plan.subject.checks)[check_id]
        if self.caller is None:
            raise RuntimeError("checks of Great Expectations need a caller")
        request = GxRequest.of(check, self.source, relation=self.plan.subject.relation, frame=frame, check_id=check_id)
        ask = partial(evaluate, request, self.caller, deadline=self.source.query_timeout)
        result = self._attempt([check_id], ask)
        if result is not None:
            self.frames[check_id] = result

    def _run_beside(self, check_id: str, other: str) -> None:
        from monitor.scan.beside import compare_beside  # only where a check compares with another source

        subject, place = self.plan.subject, self.others[other]
        check = dict(subject.checks)[check_id]
        ask = partial(compare_beside, check, subject, self.source, other=place, now=self.now)
        rows = self._attempt([check_id], ask)
        if rows is not None:
            self._keep_rows(check_id, BESIDE, rows)
        elif f"source '{place.source.name}'" in str(self.failed[check_id].message):  # neither this table nor its source
            self.failed[check_id] = replace(self.failed[check_id], observed={"source": place.source.name})

    def _keep_values(self, plan: TablePlan, row: Mapping[str, Any]) -> None:
        for check_id, columns in plan.columns.items():
            if columns:
                self.values[check_id] = {name: row[label] for name, label in columns.items()}

    def _keep_rows(self, check_id: str, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        self.tables.setdefault(check_id, {})[name] = rows

    def _keep_count(self, check_id: str, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        (count,) = rows[0].values()  # by its place: some engines write names that are not quoted in capitals
        self.values.setdefault(check_id, {})[name] = count

    def _fetch_row(self, template: SqlTemplate) -> Mapping[str, Any]:
        return self._fetch(template)[0]

    def _fetch(self, template: SqlTemplate, **bounds: datetime) -> Sequence[Mapping[str, Any]]:
        return self.source.fetch(template.fill(self.now, self.literals, bounds))

    def _attempt(self, asking: Sequence[str], action: Callable[[], T]) -> T | None:
        started = perf_counter()
        try:
            return action()
        except SourceError as error:
            self.failed.update(dict.fromkeys(asking, not_evaluated(error)))
            return None
        except Misconfigured as error:
            self.failed.update(dict.fromkeys(asking, misconfigured(error)))
            return None
        finally:
            share = (perf_counter() - started) / max(1, len(asking))
            for check_id in asking:
                self.seconds[check_id] = self.seconds.get(check_id, 0.0) + share
