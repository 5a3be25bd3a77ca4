"""One pass: plan, measure, judge, decide, remember.

    config ──> plan ──> measure ──> judge ──> decide ──> remember
    monitor    monitor  sources     checks    incidents  store

Sources are measured side by side, each in one thread with one connection that lives for the pass only. What was
measured is judged and remembered in the caller's thread (`monitor.conclude`): many tables to a transaction, but none
waits long for the others.

A pass that is given up (Ctrl-C, a store that fails) does not wait for the sources: nobody wants what they still find.
"""

import queue
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from threading import Event, Thread
from time import monotonic
from typing import TypeVar

from checks import Message, Outcome, UnknownReason, unknown
from incidents import Policy
from monitor.clock import Clock
from monitor.conclude import CheckResult, conclude
from monitor.measure import Looked, Measured, measure, not_evaluated
from monitor.planner import Literals, Plan, Subject, Target, plan
from sources import Source, SourceError, open_source
from store import Store, StoreError

T = TypeVar("T")

_MOST_TABLES = 50
_LONGEST_WAIT_S = 0.5


class NotRemembered(StoreError):
    """The store failed in the middle of a pass: `results` are all that was found, in part not kept."""

    def __init__(self, results: Sequence[CheckResult], failure: StoreError) -> None:
        super().__init__(str(failure))
        self.results = results


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

        Raises:
            NotRemembered: the store failed meanwhile; the results are in the error.
        """
        found: dict[str, CheckResult] = {}
        store, failure = self.store, None
        for batch in self._look(targets):
            try:
                results = conclude(batch, store=store, policy=self.policy)
            except StoreError as error:  # what was found is told all the same
                store, failure = None, failure or error
                results = conclude(batch, store=None, policy=self.policy)
            found |= {result.check_id: result for result in results}
            for one in batch:
                on_table(one.target.subject.name)
        results = [found[check_id] for target in targets for check_id, _ in target.subject.checks]
        if failure is not None:
            raise NotRemembered(results, failure)
        return results

    def _look(self, targets: Sequence[Target]) -> Iterator[Sequence[Looked]]:
        by_source: dict[str, list[Target]] = {}
        for target in targets:
            by_source.setdefault(target.source.name, []).append(target)
        inbox: queue.SimpleQueue[Looked | None] = queue.SimpleQueue()
        given_up = Event()
        for name, group in by_source.items():
            # no pool: its threads are waited for at the end of the process, however long a query takes
            look = partial(self._look_in_source, group, inbox, given_up)
            Thread(target=look, name=f"source {name}", daemon=True).start()
        try:
            yield from _batches(inbox, len(by_source))
        finally:
            given_up.set()

    def _look_in_source(
        self, targets: Sequence[Target], inbox: "queue.SimpleQueue[Looked | None]", given_up: Event
    ) -> None:
        remaining = list(targets)

        def look_at_each() -> Outcome | None:
            with open_source(targets[0].source) as source:
                literals = Literals(source)
                while remaining and not given_up.is_set():
                    looked = self._look_at(remaining[0], source, literals)
                    if isinstance(looked, Outcome):
                        return looked
                    inbox.put(looked)
                    remaining.pop(0)
            return None

        ended = _attempt(look_at_each)
        if ended is not None:
            for target in remaining:
                inbox.put(self._not_looked(target, ended))
        inbox.put(None)

    def _look_at(self, target: Target, source: Source, literals: Literals) -> Looked | Outcome:
        """Look at one table; give an outcome only where it holds for the whole source."""
        started_at = self.clock.now()
        measured = _attempt(partial(self._measure, target.subject, source, started_at, literals))
        if not isinstance(measured, Outcome):
            return Looked(target, started_at, self.clock.now(), measured)
        return measured if measured.reason is UnknownReason.UNREACHABLE else self._not_looked(target, measured)

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


def _batches(inbox: "queue.SimpleQueue[Looked | None]", sources: int) -> Iterator[Sequence[Looked]]:
    """Give what arrives, so many tables or so much time to a batch; every None is a source that is done."""
    while sources:
        batch: list[Looked] = []
        due = monotonic() + _LONGEST_WAIT_S
        while sources and len(batch) < _MOST_TABLES:
            try:
                one = inbox.get(timeout=max(0.0, due - monotonic()) if batch else None)
            except queue.Empty:
                break
            if one is None:
                sources -= 1
            else:
                batch.append(one)
        if batch:
            yield batch


def _attempt(job: Callable[[], T]) -> T | Outcome:
    """Do a job; give its result, or the outcome that says why there is none."""
    try:
        return job()
    except SourceError as error:
        return not_evaluated(error)
    except Exception as error:  # noqa: BLE001 - the job boundary: a bug in one check must not stop the others
        return _bug(error)


def _is_misconfigured(measured: Measured) -> bool:
    return isinstance(measured.answer, Outcome) and measured.answer.reason is UnknownReason.MISCONFIGURED


def _bug(error: Exception) -> Outcome:
    return unknown(
        UnknownReason.BUG, Message("tablewatch stumbled ({error}); please report it", {"error": type(error).__name__})
    )
