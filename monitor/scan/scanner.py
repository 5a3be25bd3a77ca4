"""Measure tables of several sources side by side: each opened once, with its kept plans, in a thread of its own.

What was measured goes to the caller's thread in batches, many tables at once, but none waits long for the others. A
thread whose statement cannot be stopped is left alone with it, and another measures the tables after it. A pass that
is given up (Ctrl-C, a store that fails) does not wait for the sources: their results are not needed.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeAlias

from checks import Json, Outcome, UnknownReason, timed_out
from checks.gx.caller import Caller
from monitor.clock import Clock
from monitor.scan.measure import measure
from monitor.scan.plan_file import PlanFile
from monitor.scan.private_question import PrivateQuestion
from monitor.scan.results import (
    CheckMeasurement,
    ScanCost,
    Subject,
    TableResult,
    Target,
    misconfigured,
    run_guarded,
    unanswered,
    unscanned,
    wait_for,
)
from monitor.scan.sql_template import TimeLiterals
from monitor.scan.table_plan import TablePlan
from remedies import Misfit
from sources import Source, open_source, reporting_stuck

Plans = MutableMapping[str, tuple[Subject, TablePlan]]
"""The plans that were made, by table, with what they were made for."""

if TYPE_CHECKING:
    from monitor.scan.unchanged import Known


def scan_source(  # noqa: PLR0913 - what a process keeps of tables, each by its own name
    targets: Sequence[Target],
    *,
    clock: Clock,
    plans: Plans,
    caller: Caller | None = None,
    plan_file: PlanFile | None = None,
    on_begin: Callable[[Target], None] = lambda _: None,
    known: "Known | None" = None,
) -> Generator[TableResult, None, None]:
    """Look at tables that all live in one source, in their order; what could not be evaluated is `unknown`.

    `caller` calls Great Expectations. `plan_file`: plans of earlier processes. `on_begin` hears of each table before it
    is looked at, of the first before its source is opened. When the whole source cannot be reached, what remains is
    unknown without being begun. `known`: the numbers of tables that are left alone while they do not change; without it
    all are read. Close the iterator to stop early: the source is closed with it.
    """
    remaining = deque(targets)
    if not remaining:
        return
    on_begin(remaining[0])
    with ExitStack() as closing:
        source = run_guarded(lambda: _open(targets[0], closing))
        ended = source if isinstance(source, Outcome) else None
        if not isinstance(source, Outcome):
            looker = _SourceScanner(source, clock, plans, caller, plan_file, shares_plans=len(targets) > 1)
            looker.known = known
            while remaining:
                result = looker.look_at(remaining[0])
                if isinstance(result, Outcome):
                    ended = result
                    break
                remaining.popleft()
                yield result
                if remaining:
                    on_begin(remaining[0])
    for target in remaining:
        if ended is not None:
            plans.pop(target.subject.name, None)
            yield unscanned(target, ended, target.as_of or clock.now())


def _open(target: Target, closing: ExitStack) -> Source:
    connection = open_source(target.source)
    source = connection.__enter__()
    closing.callback(lambda: run_guarded(lambda: connection.__exit__(None, None, None)))  # what it found stays found
    return source


class _SourceScanner:
    def __init__(
        self,
        source: Source,
        clock: Clock,
        plans: Plans,
        caller: Caller | None,
        plan_file: PlanFile | None,
        *,
        shares_plans: bool,
    ) -> None:
        self._source, self._clock, self._plans, self._caller = source, clock, plans, caller
        self._plan_file = plan_file
        self._shares_plans = shares_plans
        self._literals = TimeLiterals(source)
        self.known: Known | None = None

    def look_at(self, target: Target) -> TableResult | Outcome:
        """Look at one table; give an outcome only where it holds for the whole source."""
        if target.question is not None:
            return self._ask(target, target.question)
        started_at = target.as_of or self._clock.now()
        self._source.take_read_volume()  # what the table before it left
        measured = run_guarded(lambda: self._measure_changes(target, started_at))
        ended_at = target.as_of or self._clock.now()
        if not isinstance(measured, Outcome):
            items, was_read = measured
            cost = ScanCost(sum(item.duration_s for item in items), self._source.take_read_volume())
            return TableResult(target, started_at, ended_at, items, cost=cost if was_read else None)
        if measured.reason is UnknownReason.UNREACHABLE:
            return measured
        self._plans.pop(target.subject.name, None)
        return unscanned(target, measured, ended_at)

    def _ask(self, target: Target, question: PrivateQuestion) -> TableResult:
        started_at = self._clock.now()
        answer = run_guarded(lambda: _put(question, self._source))
        outcome = unanswered(target, answer) if isinstance(answer, Outcome) else answer
        return TableResult(target, started_at, self._clock.now(), (), outcome)

    def _measure_changes(self, target: Target, now: datetime) -> tuple[Sequence[CheckMeasurement], bool]:
        """Return what was measured, and whether the table was read."""
        if self.known is None or target.full_every is None or target.as_of is not None:
            return self._measure(target, now, self._source), True
        from monitor.scan.unchanged import measure_changes  # few tables are read only when they change

        return measure_changes(self._source, target, self.known, now, lambda source: self._measure(target, now, source))

    def _measure(self, target: Target, now: datetime, source: Source) -> Sequence[CheckMeasurement]:
        subject = target.subject
        known = self._known_plan(subject)
        if known is not None:
            measured = self._run(known, target, now, source)
            if not any(_is_misconfigured(item) for item in measured):
                return measured
        fresh = self._plan(target)  # also when the table no longer fits the plan that was kept
        self._plans[subject.name] = (subject, fresh)
        if self._plan_file is not None:
            self._plan_file.keep(fresh, self._source)
        return self._run(fresh, target, now, source)

    def _run(self, plan: TablePlan, target: Target, now: datetime, source: Source) -> Sequence[CheckMeasurement]:
        return measure(plan, source, now, self._literals, target=target, caller=self._caller)

    def _known_plan(self, subject: Subject) -> TablePlan | None:
        known = self._plans.get(subject.name)
        if known is not None and known[0] == subject and not any(w.every_column for w in known[1].wants.values()):
            return known[1]
        return None if self._plan_file is None else self._plan_file.find(subject, self._source)

    def _plan(self, target: Target) -> TablePlan:
        """Plan the checks of a table; the modules that plan import what they need of Ibis."""
        if not self._shares_plans:
            from monitor.scan.planner import plan

            return plan(target.subject, self._source)
        from monitor.scan.plan_shapes import plan_by_shape  # of use to many tables only

        return plan_by_shape(target.subject, self._source, target.source)


def _put(question: PrivateQuestion, source: Source) -> Mapping[str, Json] | Outcome:
    try:
        return question.put_to(source)
    except Misfit as error:
        return misconfigured(error)


def _is_misconfigured(measured: CheckMeasurement) -> bool:
    return isinstance(measured.answer, Outcome) and measured.answer.reason is UnknownReason.MISCONFIGURED


_Scan: TypeAlias = Callable[..., Generator[TableResult, None, None]]
_MOST_TABLES = 50
_SHORTEST_WAIT_S = 0.5
_MOST_STUCK = 3
"""Threads of a source that are left alone with a statement; each takes a core until the process ends."""


def scan_sources(
    targets: Sequence[Target],
    *,
    clock: Clock,
    plans: Plans,
    caller: Caller | None = None,
    plan_file: PlanFile | None = None,
) -> Iterator[Sequence[TableResult]]:
    """Yield batches of tables that were measured; close the iterator to give the rest up.

    `caller`, which the threads share, calls Great Expectations for expectations.
    """
    scan = partial(scan_source, clock=clock, plans=plans, caller=caller, plan_file=plan_file)
    by_source: dict[str, list[Target]] = {}
    for target in targets:
        by_source.setdefault(target.source.name, []).append(target)
    inbox = _Results(len(by_source), clock)
    for group in by_source.values():
        _SourceRun(group, inbox, scan, clock).start()
    try:
        yield from inbox.batches()
    finally:
        inbox.give_up()


class _SourceRun:
    """A thread that looks at tables of one source, until one of its statements cannot be stopped."""

    def __init__(
        self, targets: Sequence[Target], inbox: "_Results", scan: _Scan, clock: Clock, *, stuck_before: int = 0
    ) -> None:
        self._targets, self._inbox, self._scan, self._clock = targets, inbox, scan, clock
        self._stuck_before = stuck_before
        self._begun = 0
        self._abandoned = False

    def start(self) -> None:
        """Begin; no pool: its threads are waited for at the end of the process, however long a query takes."""
        Thread(target=self._run, name=f"source {self._targets[0].source.name}", daemon=True).start()

    def _run(self) -> None:
        results = self._scan(self._targets, on_begin=self._begin)
        try:
            with reporting_stuck(self._abandon), closing(results):
                for table_result in results:
                    if self._abandoned:  # the statement came to an end after all, too late
                        break
                    self._inbox.put(table_result)
                    if self._inbox.given_up:
                        break
        finally:
            if not self._abandoned:
                self._inbox.close()

    def _begin(self, _: Target) -> None:
        self._begun += 1

    def _abandon(self, limit: timedelta) -> None:
        """Answer for the table in hand and let another thread go on. Called while the statement is under way."""
        self._abandoned = True
        stuck_now = self._stuck_before + 1
        answered = self._begun if stuck_now < _MOST_STUCK else len(self._targets)
        for target in self._targets[self._begun - 1 : answered]:
            cost = ScanCost(limit.total_seconds()) if target is self._targets[self._begun - 1] else None
            self._inbox.put(replace(unscanned(target, timed_out(limit), self._clock.now()), cost=cost))
        if answered < len(self._targets):
            rest = self._targets[answered:]
            _SourceRun(rest, self._inbox, self._scan, self._clock, stuck_before=stuck_now).start()
        else:
            self._inbox.close()


class _Results:
    """What the threads of the sources found, until it is taken.

    Python runs one thread at a time, and changing between them costs more than a small table: the reader wakes when
    there is a batch, when a source is done, and after a while, and no thread begins a table while it is at work. Each
    batch has a price whatever is in it, which a busy machine makes dear: the reader waits so long that recording takes
    a tenth of the time, half a second at least and ten at most.
    """

    def __init__(self, sources: int, clock: Clock) -> None:
        self.given_up = False
        self._clock = clock
        self._results: deque[TableResult] = deque()
        self._closed: list[None] = []
        self._sources = sources
        self._wake, self._idle = Event(), Event()
        self._idle.set()

    def put(self, table_result: TableResult) -> None:
        self._results.append(table_result)
        if len(self._results) >= _MOST_TABLES:
            self._wake.set()
        self._idle.wait()

    def close(self) -> None:
        """Report that one source is done."""
        self._closed.append(None)
        self._wake.set()

    def batches(self) -> Iterator[Sequence[TableResult]]:
        """Yield what arrives, until all sources are done."""
        over, cost_s = not self._sources, 0.0
        while not over:
            self._wake.wait(wait_for(cost_s, shortest_s=_SHORTEST_WAIT_S))
            self._wake.clear()
            over = len(self._closed) == self._sources  # before taking: a source that is done has put in all results
            self._idle.clear()
            least = _MOST_TABLES if not over and len(self._results) >= _MOST_TABLES else 1  # few are a batch as dear
            while len(self._results) >= least:
                began = self._clock.monotonic()
                yield [self._results.popleft() for _ in range(min(_MOST_TABLES, len(self._results)))]
                cost_s = self._clock.monotonic() - began
            self._idle.set()

    def give_up(self) -> None:
        """Let every thread end after its table."""
        self.given_up = True
        self._idle.set()
