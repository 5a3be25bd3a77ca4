"""One pass: plan, measure, judge, decide, remember.

    config ──> plan ──> measure ──> judge ──> decide ──> remember
    monitor    monitor  sources     checks    incidents  store

Sources are measured side by side, each in one thread with one connection that lives for the pass only. What was
measured is judged and remembered in the caller's thread (`monitor.conclude`), many tables to a transaction.

A pass that is given up (Ctrl-C, a store that fails) does not wait for the sources: nobody wants what they still find.
"""

import queue
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from threading import Event, Thread

from checks import Message, Outcome, UnknownReason, unknown
from incidents import Policy
from monitor.clock import Clock
from monitor.conclude import CheckResult, conclude
from monitor.measure import Looked, Measured, measure, not_evaluated
from monitor.planner import Literals, Plan, Subject, Target, plan
from sources import Source, SourceError, Unreachable, open_source
from store import Store

_TABLES_PER_TRANSACTION = 50


@dataclass
class Engine:
    """Looks at tables. Keeps the plans it made, so that a later pass only runs SQL."""

    clock: Clock
    store: Store | None = None
    policy: Policy = field(default_factory=Policy)
    plans: dict[str, tuple[Subject, Plan]] = field(default_factory=dict)

    def run(self, targets: Sequence[Target], on_table: Callable[[str], None] = lambda _: None) -> Sequence[CheckResult]:
        """Make one pass over tables and give what every check found, in the order of the targets.

        `on_table` hears the name of each table that is done. Nothing a source does raises here: what could not be
        evaluated is `unknown`.
        """
        found: dict[str, CheckResult] = {}
        with closing(self._look(targets)) as looked:
            while batch := list(islice(looked, _TABLES_PER_TRANSACTION)):
                for result in conclude(batch, store=self.store, policy=self.policy):
                    found[result.check_id] = result
                for one in batch:
                    on_table(one.target.subject.name)
        return [found[check_id] for target in targets for check_id, _ in target.subject.checks]

    def _look(self, targets: Sequence[Target]) -> Generator[Looked, None, None]:
        by_source: dict[str, list[Target]] = {}
        for target in targets:
            by_source.setdefault(target.source.name, []).append(target)
        if len(by_source) == 1:
            yield from self._look_in_source(targets)
            return
        done: queue.SimpleQueue[Looked | BaseException | None] = queue.SimpleQueue()
        given_up = Event()
        for name, group in by_source.items():
            # no pool: its threads are waited for at the end of the process, however long a query takes
            Thread(target=self._send_looked, args=(group, done, given_up), name=f"source {name}", daemon=True).start()
        running = len(by_source)
        try:
            while running:
                one = done.get()
                if isinstance(one, BaseException):
                    raise one
                if one is None:
                    running -= 1
                else:
                    yield one
        finally:
            given_up.set()

    def _send_looked(
        self, targets: Sequence[Target], done: "queue.SimpleQueue[Looked | BaseException | None]", given_up: Event
    ) -> None:
        try:
            for looked in self._look_in_source(targets):
                done.put(looked)
                if given_up.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            done.put(error)
        else:
            done.put(None)

    def _look_in_source(self, targets: Sequence[Target]) -> Iterator[Looked]:
        remaining = list(targets)
        try:
            with open_source(targets[0].source) as source:
                literals = Literals(source)
                while remaining:
                    looked = self._look_at(remaining[0], source, literals)
                    remaining.pop(0)
                    yield looked
        except SourceError as error:
            for target in remaining:
                yield self._not_looked(target, not_evaluated(error))

    def _look_at(self, target: Target, source: Source, literals: Literals) -> Looked:
        started_at = self.clock.now()
        try:
            measured = self._measure(target.subject, source, started_at, literals)
        except Unreachable:
            raise
        except SourceError as error:
            return self._not_looked(target, not_evaluated(error))
        except Exception as error:  # noqa: BLE001 - the job boundary: a bug in one check must not stop the others
            return self._not_looked(target, _bug(error))
        return Looked(target, started_at, self.clock.now(), measured)

    def _measure(self, subject: Subject, source: Source, now: datetime, literals: Literals) -> Sequence[Measured]:
        known = self.plans.get(subject.name)
        if known is not None and known[0] == subject:
            measured = measure(known[1], source, now, literals)
            if not any(_is_misconfigured(one) for one in measured):
                return measured
        fresh = plan(subject, source)  # also when the table no longer fits the plan that was kept
        self.plans[subject.name] = (subject, fresh)
        return measure(fresh, source, now, literals)

    def _not_looked(self, target: Target, outcome: Outcome) -> Looked:
        now = self.clock.now()
        self.plans.pop(target.subject.name, None)
        return Looked(
            target, now, now, [Measured(check_id, check, outcome) for check_id, check in target.subject.checks]
        )


def _is_misconfigured(measured: Measured) -> bool:
    return isinstance(measured.answer, Outcome) and measured.answer.reason is UnknownReason.MISCONFIGURED


def _bug(error: Exception) -> Outcome:
    return unknown(
        UnknownReason.BUG, Message("tablewatch stumbled ({error}); please report it", {"error": type(error).__name__})
    )
