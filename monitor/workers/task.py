"""The course of a job: what is sent to a worker at a time, what came back, and what a lost worker means for it.

A job goes to one worker as a whole. One that goes check by check is sent in steps of a single check; the answers are
put together when a table is complete.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from checks import Message, Outcome, UnknownReason, unknown
from monitor.scan.results import CheckMeasurement, TableResult, Target, timed_out, unscanned
from monitor.workers.job import Began, Died, Ended, Event, Job, Overdue, TableScanned
from monitor.workers.messages import TableProgress

_MOST_TRIES: Final = 3
"""How often a job is given to a worker when the worker ends for a reason that is not the job's."""


@dataclass
class Task:
    """A job under way."""

    job: Job
    tries: int = 1
    table: int = 0
    """The table in hand, or the next one: its place in the job."""
    _check: int = 0
    _parts: list[TableResult] = field(default_factory=list)
    _started: int = 0
    """Where in the job the worker's step begins."""

    def step(self) -> tuple[Target, ...]:
        """Return what the next worker is to look at."""
        self._started = self.table
        if not self.job.alone:
            return self.job.targets[self.table :]
        target = self.job.targets[self.table]
        if not target.subject.checks:
            return (target,)
        return (replace(target, subject=replace(target.subject, checks=(target.subject.checks[self._check],))),)

    @property
    def is_over(self) -> bool:
        """Check whether every table was found."""
        return self.table == len(self.job.targets)

    @property
    def keeps_plans(self) -> bool:
        """Check whether the plans are those of whole tables."""
        return not self.job.alone

    @property
    def goes_on(self) -> bool:
        """Check whether it goes on after a check that was given up."""
        return self.job.alone and not self.is_over and bool(self.job.targets[self.table].subject.checks)

    @property
    def asks_great_expectations(self) -> bool:
        """Check whether a process of Great Expectations is needed."""
        return any(check.type == "expectation" for target in self.job.targets for _, check in target.subject.checks)

    @property
    def in_hand(self) -> tuple[str, str | None]:
        """Name the table that is looked at or comes next, and the check where that is known."""
        subject = self.job.targets[self.table].subject
        return subject.name, subject.checks[self._check][0] if self.job.alone and subject.checks else None

    def began(self) -> Event:
        """Return what was begun."""
        return Began(self.job.id, *self.in_hand)

    def found(self, table_progress: TableProgress) -> Sequence[Event]:
        """Take what a worker found for the table, or check, in hand.

        Raises:
            ValueError: that is not what was in hand.
        """
        if self.is_over or table_progress.place + self._started != self.table:
            raise ValueError("a worker answered another request")
        target = self.job.targets[self.table]
        checks = target.subject.checks[self._check :][:1] if self.job.alone else target.subject.checks
        measured = [
            CheckMeasurement(check_id, check, answer.answer, answer.duration_s, answer.earlier)
            for (check_id, check), answer in zip(checks, table_progress.answers, strict=True)
        ]
        return self._take(
            TableResult(target, table_progress.started_at, table_progress.ended_at, measured, table_progress.told)
        )

    def died(self, cause: str, now: datetime) -> Sequence[Event]:
        """Return that the worker ended, and blame the check if it is known."""
        table, check_id = self.in_hand
        event = Died(self.job.id, table, check_id, cause)
        text = "the worker process ended while running the check ({cause})"
        outcome = unknown(UnknownReason.BUG, Message(text, {"cause": cause}))
        return [event] if check_id is None else [event, *self._give_up(outcome, now)]

    def overdue(self, now: datetime, query_timeout: timedelta | None = None) -> Sequence[Event]:
        """Return what a deadline that passed leads to: the job's, or that of a statement that cannot be stopped."""
        table, check_id = self.in_hand
        if query_timeout is None:
            text = (
                "no answer within {deadline:duration}, so its worker process was terminated; see run_timeout of "
                "the source"
            )
            outcome = unknown(UnknownReason.TIMEOUT, Message(text, {"deadline": self.job.deadline.total_seconds()}))
        else:
            outcome = timed_out(query_timeout)
        if check_id is None:
            looked = unscanned(self.job.targets[self.table], outcome, now)
            return [Overdue(self.job.id, table, None, looked)]
        return [Overdue(self.job.id, table, check_id), *self._give_up(outcome, now)]

    def again(self) -> bool:
        """Count another try; say whether there may be one."""
        self.tries += 1
        return self.tries <= _MOST_TRIES

    def _give_up(self, outcome: Outcome, now: datetime) -> Sequence[Event]:
        target = self.job.targets[self.table]
        check_id, check = target.subject.checks[self._check]
        return self._take(TableResult(target, now, now, [CheckMeasurement(check_id, check, outcome)]))

    def _take(self, looked: TableResult) -> Sequence[Event]:
        self._parts.append(looked)
        self._check += 1
        if self.job.alone and self._check < len(looked.target.subject.checks):
            return []
        whole = replace(
            looked,
            started_at=self._parts[0].started_at,
            measured=[check_measurement for part in self._parts for check_measurement in part.measured],
        )
        self._parts, self._check = [], 0
        self.table += 1
        over = [Ended(self.job.id)] if self.is_over else []
        return [TableScanned(self.job.id, whole), *over]
