"""The course of a job: what is sent to a worker at a time, what came back, and what a lost worker means for it.

A job goes to one worker as a whole. One that goes check by check is sent in steps of a single check; the answers are
put together when a table is complete. A check that ended its worker, and is known, is left out when the table is sent
again.

Plans are kept by the daemon as the workers made them, and sent along with the next job: so any worker takes any table
without planning it again, a recycled one too, and a plan is in memory once. The daemon never opens them.
"""

import pickle
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import reduce
from math import inf
from operator import add
from typing import ClassVar, Final

from checks import Check, Message, Outcome, UnknownReason, timed_out, unknown
from checks.gx.caller import no_answer
from monitor.scan.results import CheckMeasurement, ScanCost, Subject, TableResult, Target, unscanned
from monitor.workers.job import (
    CallFailed,
    Ended,
    Event,
    FunctionCall,
    Job,
    Overdue,
    Returned,
    TableBegan,
    TableScanned,
    WorkerDied,
)
from monitor.workers.messages import CallBegun, CallRequest, TableProgress, packed_job
from sources import ReadVolume

_MOST_BYTES: Final = 64 * 1024 * 1024


class KeptPlans:
    """The plans of the tables that were looked at last, within a bound of memory."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._held = 0
        self._plans: OrderedDict[str, tuple[Subject, bytes]] = OrderedDict()

    def get(self, subject: Subject) -> bytes | None:
        """Return the plan that was made for exactly this."""
        known = self._plans.get(subject.name)
        if known is None or known[0] != subject:
            return None
        self._plans.move_to_end(subject.name)
        return known[1]

    def keep(self, subject: Subject, plan: bytes) -> None:
        """Keep a plan in place of the table's last one; an empty one only forgets that."""
        known = self._plans.pop(subject.name, None)
        self._held -= len(known[1]) if known is not None else 0
        if plan:
            self._plans[subject.name] = (subject, plan)
            self._held += len(plan)
        while self._held > self._most:
            _, (_, oldest) = self._plans.popitem(last=False)
            self._held -= len(oldest)


_MOST_TRIES: Final = 3
"""The most attempts of a job whose worker ends for a reason that is not the job's."""


@dataclass
class Task:
    """A job under way. Times are seconds of the pool's own clock."""

    job: Job
    tries: int = 1
    table: int = 0
    """The table in hand, or the next one: its place in the job."""
    step_began: float = 0.0
    """The time at which a worker was given or began its present table or check."""
    call: CallBegun | None = None
    """The call of Great Expectations that the worker is at."""
    call_ends: float = inf
    goes_on: bool = False
    """The last check that was given up is not the last of the job."""
    may_be_silent: ClassVar = False
    _parts: list[TableResult] = field(default_factory=list)
    _left: tuple[tuple[str, Check], ...] = ()
    """The checks of the table in hand that have no result yet."""
    _started: int = 0
    """Where in the job the worker's step begins."""

    def __post_init__(self) -> None:
        self._left = self.job.targets[0].subject.checks

    @property
    def resumes(self) -> bool:
        """Check whether a table is sent again without a check that was given up: its deadline goes on."""
        return bool(self._parts) and not self.job.alone

    @property
    def is_over(self) -> bool:
        """Check whether every table was found."""
        return self.table == len(self.job.targets)

    @property
    def keeps_plans(self) -> bool:
        """Check whether the plans are those of whole tables."""
        return not self.job.alone and not self._parts

    @property
    def in_hand(self) -> tuple[str, str | None]:
        """Return the table that is scanned or comes next, and the check where that is known."""
        check_id = self._left[0][0] if self.job.alone and self._left else None
        return self.job.targets[self.table].subject.name, check_id

    def step(self) -> tuple[Target, ...]:
        """Return what the next worker is to look at."""
        self._started = self.table
        self.call, self.call_ends = None, inf
        target, *after = self.job.targets[self.table :]
        sent = self._sent
        if len(sent) < len(target.subject.checks):
            target = replace(target, subject=replace(target.subject, checks=sent))
        return (target,) if self.job.alone else (target, *after)

    def request(self, plans: KeptPlans) -> bytes:
        """Return the next step as a worker takes it, with the plans that were made for its tables."""
        targets = self.step()
        return packed_job(targets, tuple(plans.get(item.subject) if self.keeps_plans else None for item in targets))

    def began(self) -> Event:
        """Return what was begun."""
        return TableBegan(self.job.id, *self.in_hand)

    def found(self, table_progress: TableProgress) -> Sequence[Event]:
        """Take what a worker found for the table, or check, in hand.

        Raises:
            ValueError: that is not what was in hand.
        """
        if self.is_over or table_progress.place + self._started != self.table:
            raise ValueError("a worker answered another request")
        measured = [
            CheckMeasurement(check_id, check, answer.answer, answer.duration_s, answer.earlier)
            for (check_id, check), answer in zip(self._sent, table_progress.answers, strict=True)
        ]
        target = self.job.targets[self.table]
        return self._take(
            TableResult(
                target,
                table_progress.started_at,
                table_progress.ended_at,
                measured,
                table_progress.answer,
                _cost_of(table_progress),
            )
        )

    def died(self, cause: str, now: datetime) -> Sequence[Event]:
        """Return that the worker ended, and blame the check if it is known."""
        table, check_id = self.in_hand
        if self.call is not None:
            check_id = self.call.check_id
        event = WorkerDied(self.job.id, table, check_id, cause)
        text = "the worker process ended while running the check ({cause})"
        outcome = unknown(UnknownReason.BUG, Message(text, {"cause": cause}))
        return [event, *self._give_up(check_id, outcome, now)]

    def overdue(self, now: datetime, statement: timedelta | None = None, *, in_call: bool = False) -> Sequence[Event]:
        """Return what a deadline that passed leads to: that of the table, a statement, or a call."""
        table, check_id = self.in_hand
        if in_call and self.call is not None:
            check_id = self.call.check_id
            limit, outcome = self.call.limit, unknown(UnknownReason.TIMEOUT, no_answer(self.call.limit))
        elif statement is not None:
            limit, outcome = statement, timed_out(statement)
        else:
            text = (
                "no answer within {deadline:duration}, so its worker process was terminated; see run_timeout of "
                "the source"
            )
            limit = self.job.deadline
            outcome = unknown(UnknownReason.TIMEOUT, Message(text, {"deadline": limit.total_seconds()}))
        cost = ScanCost(limit.total_seconds())
        if check_id is None:
            table_result = replace(unscanned(self.job.targets[self.table], outcome, now), cost=cost)
            return [Overdue(self.job.id, table, None, table_result), *self._give_up(None, outcome, now)]
        return [Overdue(self.job.id, table, check_id), *self._give_up(check_id, outcome, now, cost)]

    def again(self) -> bool:
        """Count another try; say whether there may be one."""
        self.tries += 1
        return self.tries <= _MOST_TRIES

    @property
    def _sent(self) -> tuple[tuple[str, Check], ...]:
        return self._left[:1] if self.job.alone else self._left

    def _give_up(
        self, check_id: str | None, outcome: Outcome, now: datetime, cost: ScanCost | None = None
    ) -> Sequence[Event]:
        """Take an outcome for a check; without one, the job is over and its tables are the caller's again."""
        self.goes_on = False
        if check_id is None:
            return []
        target = self.job.targets[self.table]
        check = dict(self._left)[check_id]
        events = self._take(TableResult(target, now, now, [CheckMeasurement(check_id, check, outcome)], cost=cost))
        self.goes_on = not self.is_over
        return events

    def _take(self, table_result: TableResult) -> Sequence[Event]:
        self._parts.append(table_result)
        results = {item.check_id: item for part in self._parts for item in part.measured}
        self._left = tuple(pair for pair in self._left if pair[0] not in results)
        if self._left:
            return []
        started_at = min(part.started_at for part in self._parts)
        measured = [results[check_id] for check_id, _ in table_result.target.subject.checks]
        costs = [part.cost for part in self._parts if part.cost is not None]
        table_result = replace(table_result, cost=reduce(add, costs) if costs else None)
        self._parts = []
        self.table += 1
        if not self.is_over:
            self._left = self.job.targets[self.table].subject.checks
        over = [Ended(self.job.id)] if self.is_over else []
        return [TableScanned(self.job.id, replace(table_result, started_at=started_at, measured=measured)), *over]


def _cost_of(table_progress: TableProgress) -> ScanCost | None:
    if table_progress.read is None:
        return None
    return ScanCost(sum(answer.duration_s for answer in table_progress.answers), ReadVolume(*table_progress.read))


@dataclass
class CallTask:
    """A call under way."""

    job: FunctionCall
    is_over: bool = False
    step_began: float = 0.0
    call_ends: ClassVar = inf
    goes_on: ClassVar = False
    resumes: ClassVar = False
    may_be_silent: ClassVar = True

    def request(self, plans: KeptPlans) -> bytes:
        """Return the call as a worker takes it."""
        del plans
        return pickle.dumps(CallRequest(self.job.function, self.job.arguments), protocol=5)

    def returned(self, answer: bytes) -> Sequence[Event]:
        """Take the answer."""
        self.is_over = True
        return [Returned(self.job.id, answer)]

    def died(self, cause: str, now: datetime) -> Sequence[Event]:
        """Return that the worker ended."""
        del now
        self.is_over = True
        return [CallFailed(self.job.id, cause)]

    def overdue(self, now: datetime, statement: timedelta | None = None, *, in_call: bool = False) -> Sequence[Event]:
        """Return that the deadline passed."""
        del now, statement, in_call
        self.is_over = True
        return [CallFailed(self.job.id, "it was terminated at its deadline", overdue=True)]

    def again(self) -> bool:
        """Return that it is called once, whatever ended its worker."""
        return False
