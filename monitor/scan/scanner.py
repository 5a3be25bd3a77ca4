"""Look at tables of one source: open it once, plan or take the kept plan, measure. Never raises."""

from collections import deque
from collections.abc import Callable, Generator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack
from datetime import datetime

from checks import Json, Outcome, UnknownReason
from checks.gx.caller import Caller
from monitor.clock import Clock
from monitor.scan.measure import measure
from monitor.scan.planner import TablePlan, plan
from monitor.scan.private_question import PrivateQuestion
from monitor.scan.results import (
    CheckMeasurement,
    Subject,
    TableResult,
    Target,
    misconfigured,
    run_guarded,
    unanswered,
    unscanned,
)
from monitor.scan.sql_template import TimeLiterals
from remedies import Misfit
from sources import Source, open_source

Plans = MutableMapping[str, tuple[Subject, TablePlan]]
"""The plans that were made, by table, with what they were made for."""


def scan_source(
    targets: Sequence[Target],
    *,
    clock: Clock,
    plans: Plans,
    caller: Caller | None = None,
    on_begin: Callable[[Target], None] = lambda _: None,
) -> Generator[TableResult, None, None]:
    """Look at tables that all live in one source, in their order; what could not be evaluated is `unknown`.

    `caller` calls Great Expectations. `on_begin` hears of each table before it is looked at, of the first before its
    source is opened. When the whole source cannot be reached, what remains is unknown without being begun. Close the
    iterator to stop early: the source is closed with it.
    """
    remaining = deque(targets)
    if not remaining:
        return
    on_begin(remaining[0])
    with ExitStack() as closing:
        source = run_guarded(lambda: _open(targets[0], closing))
        ended = source if isinstance(source, Outcome) else None
        if not isinstance(source, Outcome):
            looker = _SourceScanner(source, clock, plans, caller)
            while remaining:
                looked = looker.look_at(remaining[0])
                if isinstance(looked, Outcome):
                    ended = looked
                    break
                remaining.popleft()
                yield looked
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
    def __init__(self, source: Source, clock: Clock, plans: Plans, caller: Caller | None) -> None:
        self._source, self._clock, self._plans, self._caller = source, clock, plans, caller
        self._literals = TimeLiterals(source)

    def look_at(self, target: Target) -> TableResult | Outcome:
        """Look at one table; give an outcome only where it holds for the whole source."""
        if target.question is not None:
            return self._ask(target, target.question)
        started_at = target.as_of or self._clock.now()
        measured = run_guarded(lambda: self._measure(target, started_at))
        ended_at = target.as_of or self._clock.now()
        if not isinstance(measured, Outcome):
            return TableResult(target, started_at, ended_at, measured)
        if measured.reason is UnknownReason.UNREACHABLE:
            return measured
        self._plans.pop(target.subject.name, None)
        return unscanned(target, measured, ended_at)

    def _ask(self, target: Target, question: PrivateQuestion) -> TableResult:
        started_at = self._clock.now()
        told = run_guarded(lambda: _put(question, self._source))
        outcome = unanswered(target, told) if isinstance(told, Outcome) else told
        return TableResult(target, started_at, self._clock.now(), (), outcome)

    def _measure(self, target: Target, now: datetime) -> Sequence[CheckMeasurement]:
        subject, keeper = target.subject, target.keeper
        known = self._plans.get(subject.name)
        if known is not None and known[0] == subject:
            measured = measure(known[1], self._source, now, self._literals, keeper=keeper, caller=self._caller)
            if not any(_is_misconfigured(item) for item in measured):
                return measured
        fresh = plan(subject, self._source)  # also when the table no longer fits the plan that was kept
        self._plans[subject.name] = (subject, fresh)
        return measure(fresh, self._source, now, self._literals, keeper=keeper, caller=self._caller)


def _put(question: PrivateQuestion, source: Source) -> Mapping[str, Json] | Outcome:
    try:
        return question.put_to(source)
    except Misfit as error:
        return misconfigured(error)


def _is_misconfigured(measured: CheckMeasurement) -> bool:
    return isinstance(measured.answer, Outcome) and measured.answer.reason is UnknownReason.MISCONFIGURED
