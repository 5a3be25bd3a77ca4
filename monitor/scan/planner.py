"""Merge what all checks of a table want into as few statements as possible, and compile them once.

All plain aggregates of a table become ONE statement, so one scan; equal GROUP BYs are run once. Compiling costs
milliseconds and running a small table costs microseconds, so the SQL text is kept. What changes from run to run (the
time) and what a person wrote as SQL (a check's `where`) stands in the compiled text as a hole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from checks import Check, ClassQuestion, Context, Measurement, Misconfigured, Outcome, Wants, as_of
from checks.classes.tables import ClassTables
from checks.sql_text.statement import select_sql
from checks.sql_text.where import predicate_sql
from monitor.scan.results import Subject, explained, misconfigured, run_explained
from monitor.scan.segment_query import SegmentPlanner
from monitor.scan.sql_template import Placeholders, SqlTemplate
from monitor.scan.table_plan import FIGURE, PlannedQuery, Relatives, TablePlan, UnionPart
from sources import Source, TableNotFound, TimedOut, Unreachable
from sources.expressions import ibis, ir

if TYPE_CHECKING:
    from monitor.scan.incremental.part_planner import PartPlanner

T = TypeVar("T")
_TYPES = {"i": "int64", "x": "float64", "t": "string"}


@dataclass(frozen=True, slots=True)
class UnionQuery:
    """Questions that one statement answers, as an expression."""

    statement: ir.Table
    parts: tuple[UnionPart, ...]


@dataclass(frozen=True, slots=True)
class ClassRequest:
    """A question, and who asks it."""

    check_id: str
    name: str
    question: ClassQuestion
    context: Context


def union_queries(class_requests: Iterable[ClassRequest]) -> list[UnionQuery]:
    """Merge questions: one family for each set of quasi-identifiers of the same rows."""
    groups: dict[tuple[object, ...], list[ClassRequest]] = {}
    for class_request in class_requests:
        rows = class_request.context.filtered.op()
        question = class_request.question
        groups.setdefault((rows, frozenset(question.quasi_identifiers), question.person), []).append(class_request)
    return [_union_query(group) for group in groups.values()]


def _union_query(group: Sequence[ClassRequest]) -> UnionQuery:
    sensitive = dict.fromkeys(column for class_request in group for column in class_request.question.sensitive)
    first = group[0]
    names = first.question.quasi_identifiers
    tables = ClassTables(first.context.filtered, names, tuple(sensitive), first.question.person)
    answers: dict[object, tuple[ir.Table, list[tuple[str, str]]]] = {}
    for class_request in group:
        answer = class_request.question.answer(tables)
        answers.setdefault(answer.op(), (answer, []))[1].append((class_request.check_id, class_request.name))
    slots = [_slots(answer) for answer, _ in answers.values()]
    width = {
        letter: max(sum(slot[0] == letter for slot in class_request) for class_request in slots) for letter in _TYPES
    }
    parts, branches = [], []
    for number, (columns, (answer, wanted_by)) in enumerate(zip(slots, answers.values(), strict=True)):
        parts.append(UnionPart(number, columns, tuple(wanted_by)))
        branches.append(_laid_out(answer, number, columns, width))
    return UnionQuery(branches[0] if len(branches) == 1 else ibis.union(*branches, distinct=False), tuple(parts))


def _slots(answer: ir.Table) -> dict[str, str]:
    """Return each column of an answer a slot, by its type.

    Raises:
        TypeError: a column is neither a number nor text.
    """
    results: dict[str, str] = {}
    for name, type_ in answer.schema().items():
        letter = "i" if type_.is_integer() else "x" if type_.is_floating() else "t" if type_.is_string() else None
        if letter is None:
            raise TypeError(f"an answer about classes has a column of type {type_}; expected numbers or text")
        results[f"{letter}{sum(slot[0] == letter for slot in results)}"] = name
    return results


def _laid_out(answer: ir.Table, number: int, columns: Mapping[str, str], width: Mapping[str, int]) -> ir.Table:
    """Select an answer's columns in the slots that all answers have; what it has no column for is NULL."""
    laid: dict[str, ir.Value] = {FIGURE: ibis.literal(number, type="int64")}
    for letter, type_ in _TYPES.items():
        for place in range(width[letter]):
            name = columns.get(f"{letter}{place}")
            laid[f"{letter}{place}"] = ibis.null(type_) if name is None else answer[name].cast(type_)
    return answer.select(**laid)


def plan(subject: Subject, source: Source, *, table: ir.Table | None = None) -> TablePlan:
    """Plan the checks of a table. Reads the catalogue only, and of a past time whether load times can be believed.

    `table` is planned for in place of the one that the source has.

    Raises:
        TableNotFound: the watched table is not there. (A missing referenced table refuses the checks that refer to it.)
        SourceError: the catalogue cannot be read.
    """
    builder, refused = _PlanBuilder(subject, source, table), {}
    if subject.is_past:
        problem = builder.see_the_past()
        if problem is not None:
            return builder.plan(dict.fromkeys((check_id for check_id, _ in subject.checks), problem))
    for check_id, check in subject.checks:
        problem = _unless_refused(partial(builder.add, check_id, check))
        if problem is not None:
            refused[check_id] = problem
    made = _unless_refused(partial(builder.plan, refused))
    return made if isinstance(made, TablePlan) else _plan_without_unfit(subject, source, table, refused)


def _unless_refused(job: Callable[[], T]) -> T | Outcome:
    """Do a part of planning; return its result, or why the checks that it is about cannot be evaluated."""
    return run_explained(job, _refusal, passes_on=(KeyboardInterrupt, Unreachable, TimedOut))


def _refusal(error: BaseException) -> Outcome:
    return (
        misconfigured(error) if type(error) is TableNotFound or isinstance(error, Misconfigured) else explained(error)
    )


def _plan_without_unfit(
    subject: Subject, source: Source, table: ir.Table | None, refused: Mapping[str, Outcome]
) -> TablePlan:
    """Plan the checks whose statements can be compiled; each that cannot is refused alone."""
    unfit = dict(refused)
    fitting = _PlanBuilder(subject, source, table)
    for check_id, check in subject.checks:
        alone = _PlanBuilder(replace(subject, checks=((check_id, check),)), source, table)
        problem = refused.get(check_id) or _unless_refused(partial(alone.add, check_id, check))
        made = _unless_refused(partial(alone.plan, {})) if problem is None else problem
        if isinstance(made, Outcome):
            unfit[check_id] = made
        else:
            fitting.add(check_id, check)
    return fitting.plan(unfit)


def _sampled(check: Check, context: Context) -> Wants:
    from checks.sampling import sampled_wants  # only where rows are sampled

    return sampled_wants(check, context)


def plan_again(subject: Subject, check_id: str, measurement: Measurement, source: Source) -> TablePlan | Measurement:
    """Plan a check's follow-up questions by its first numbers, or return what it is judged by.

    Raises:
        Misconfigured, SourceError: as `plan`.
    """
    check = dict(subject.checks)[check_id]
    builder = _PlanBuilder(replace(subject, checks=((check_id, check),)), source)
    context = builder.context(check)
    wanted = check.follow_up(context, measurement)
    if isinstance(wanted, Measurement):
        return wanted
    builder.take(check_id, wanted, context)
    return builder.plan({})


def counting_place(subject: Subject, check_id: str, source: Source) -> tuple[Context, Callable[[ir.Expr], SqlTemplate]]:
    """Return what a check that keeps counts may know of its table, and the way to compile what is asked on the way.

    Raises:
        Misconfigured, SourceError: as `plan`.
    """
    builder = _PlanBuilder(subject, source)
    return builder.context(dict(subject.checks)[check_id]), builder.compile


class _PlanBuilder:
    """Where a plan is made: the table, the holes, and what was wanted so far."""

    def __init__(self, subject: Subject, source: Source, table: ir.Table | None = None) -> None:
        self._subject, self._source = subject, source
        self._table = source.table(subject.relation) if table is None else table
        self._holes = Placeholders(source)
        self._wants: dict[str, Wants] = {}
        self._asked: list[ClassRequest] = []
        self._separate: set[str] = set()  # checks whose aggregates are not part of the fused statement
        self._segments: SegmentPlanner | None = None
        self._parts: PartPlanner | None = None
        if subject.reads_changes:
            from monitor.scan.incremental.part_planner import PartPlanner  # only where a table asks for it

            self._parts = PartPlanner(subject, source, self._table, self._holes)

    def add(self, check_id: str, check: Check) -> None:
        """Ask a check what it wants."""
        context = self.context(check)
        wants = check.wants(context) if check.sampling is None else _sampled(check, context)
        if self._subject.is_past:
            as_of.refuse(wants, check.refers_to)
        self.take(check_id, wants, context)

    def take(self, check_id: str, wants: Wants, context: Context) -> None:
        check = dict(self._subject.checks)[check_id]
        if check.segments is not None:
            self._segments = self._segments or SegmentPlanner()
            self._segments.take(check_id, check, wants, context)
            self._separate.add(check_id)
        self._wants[check_id] = wants
        if self._parts is not None and self._parts.take(check_id, check, wants, context):
            self._separate.add(check_id)
        self._asked += [ClassRequest(check_id, name, question, context) for name, question in wants.classes.items()]

    def plan(self, refused: Mapping[str, Outcome]) -> TablePlan:
        wants, holes = self._wants, self._holes
        parts = None if self._parts is None else self._parts.plan(_fuse)
        in_parts = () if parts is None else parts.columns.keys()
        aggregates, columns = _fuse({name: wanted for name, wanted in wants.items() if name not in self._separate})
        return TablePlan(
            subject=self._subject,
            wants={check_id: _after_compiling(wanted) for check_id, wanted in wants.items()},
            refused=refused,
            fused=holes.compile(self._table.aggregate(**aggregates)) if aggregates else None,
            columns=columns,
            queries=_queries({name: wanted for name, wanted in wants.items() if name not in in_parts}, holes),
            counts=_counts(wants, self._source.dialect),
            union_queries=tuple(
                Relatives(holes.compile(union_query.statement), union_query.parts)
                for union_query in union_queries(self._asked)
            ),
            parts=parts,
            segments=() if self._segments is None else self._segments.queries(self._table, holes, _fuse),
        )

    def compile(self, expression: ir.Expr) -> SqlTemplate:
        return self._holes.compile(expression)

    def see_the_past(self) -> Outcome | None:
        """Leave out of the table what was loaded after the time of the measurement; return why that cannot be done."""
        context = self._bare_context()
        try:
            counts = self._source.fetch(self._source.compile(self._table.aggregate(**as_of.evidence(context))))
            loaded = as_of.loaded_by(context, Measurement(datetime.min.replace(tzinfo=UTC), counts[0]))
        except Misconfigured as error:
            return misconfigured(error)
        if isinstance(loaded, Outcome):
            return loaded
        self._table = self._table.filter(loaded)
        return None

    def _bare_context(self) -> Context:
        subject, source = self._subject, self._source
        return Context(self._table, source.dialect, self._holes.now, zones=subject.zones, loaded_at=subject.loaded_at)

    def violations(self, check: Check, *, limit: int | None) -> SqlTemplate | None:
        found = check.violations(self.context(check))
        if found is None:
            return None
        if not isinstance(found, str):
            return self._holes.compile(found if limit is None else found.limit(limit))
        if limit is None:
            return SqlTemplate(found)
        select = select_sql(found, dialect=self._source.dialect)
        return SqlTemplate(f"SELECT * FROM (\n{select}\n) AS q LIMIT {limit}")  # noqa: S608 - written by sqlglot

    def context(self, check: Check) -> Context:
        subject, source = self._subject, self._source
        where = None
        if check.where is not None:
            where = self._holes.filter(predicate_sql(check.where, columns=self._table.columns, dialect=source.dialect))
        return Context(
            table=self._table,
            dialect=source.dialect,
            now=self._holes.now,
            where=where,
            zones=subject.zones,
            loaded_at=subject.loaded_at,
            frame_rows=subject.frame_rows,
            classified=subject.classified,
            people=subject.people,
            references={
                name: source.table(subject.relations.get(name, name))
                for name in check.refers_to
                if name not in subject.elsewhere
            },
            elsewhere=subject.elsewhere,
        )


def _after_compiling(wants: Wants) -> Wants:
    """Leave the expressions: they hold much memory, a plan is kept for long, and it crosses to other processes."""
    return replace(wants, aggregates={}, queries={}, classes={}, statements={})


def violations(subject: Subject, check: Check, source: Source, *, limit: int | None = None) -> SqlTemplate | None:
    """Return the SELECT of the rows or keys that break a check; None where no row does. `limit`: of so many.

    Raises:
        Misconfigured, TableNotFound: the check does not fit the table.
    """
    return _PlanBuilder(subject, source).violations(check, limit=limit)


def _fuse(wants: Mapping[str, Wants]) -> tuple[dict[str, ir.Value], dict[str, dict[str, str]]]:
    """Return each distinct aggregate one column, and each check its names for those columns."""
    labels: dict[object, str] = {}
    aggregates: dict[str, ir.Value] = {}
    columns: dict[str, dict[str, str]] = {}
    for check_id, current_wants in wants.items():
        columns[check_id] = {}
        for name, expression in current_wants.aggregates.items():
            operation = expression.op()
            if operation not in labels:
                labels[operation] = f"a{len(labels)}"
                aggregates[labels[operation]] = expression
            columns[check_id][name] = labels[operation]
    return aggregates, columns


def _queries(wants: Mapping[str, Wants], holes: Placeholders) -> tuple[PlannedQuery, ...]:
    distinct: dict[object, tuple[ir.Table, list[tuple[str, str]]]] = {}
    for check_id, current_wants in wants.items():
        for name, expression in current_wants.queries.items():
            distinct.setdefault(expression.op(), (expression, []))[1].append((check_id, name))
    return tuple(
        PlannedQuery(holes.compile(expression), tuple(wanted_by)) for expression, wanted_by in distinct.values()
    )


def _counts(wants: Mapping[str, Wants], dialect: str) -> tuple[PlannedQuery, ...]:
    results = []
    for check_id, current_wants in wants.items():
        for name, text in current_wants.statements.items():
            select = select_sql(text, dialect=dialect)  # parsed and written again by sqlglot: one SELECT, nothing else
            sql = f"SELECT count(*) AS n FROM (\n{select}\n) AS q"  # noqa: S608 - see above
            results.append(PlannedQuery(SqlTemplate(sql), ((check_id, name),)))
    return tuple(results)
