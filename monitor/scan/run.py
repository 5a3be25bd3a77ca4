"""One pass: plan, measure, judge, decide, remember.

    config ──> plan ──> measure ──> judge ──> decide ──> remember
    monitor    monitor  sources     checks    incidents  store

Sources are measured side by side, each in one thread with one connection that lives for the pass only. What was
measured is judged and remembered in the caller's thread (`monitor.scan.recorder`): many tables to a transaction, but
none waits long for the others. A thread whose statement cannot be stopped is left alone with it, and another
looks at the tables after it.

A pass that is given up (Ctrl-C, a store that fails) does not wait for the sources: nobody wants what they still find.
"""

import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event, Thread

from checks import Severity
from incidents import Policy
from monitor.clock import Clock
from monitor.config.project import Project
from monitor.config.selector import Selection
from monitor.scan.incremental import KeyProvider, with_count_states
from monitor.scan.pass_result import PassResult
from monitor.scan.planner import TablePlan
from monitor.scan.recorder import CheckResult, judge_only, record_results, retire
from monitor.scan.results import Subject, TableResult, Target, timed_out, unscanned
from monitor.scan.scanner import scan_source
from monitor.scan.targets import targets_of
from sources import reporting_stuck
from store import Store, StoreError

_MOST_TABLES = 50
_LONGEST_WAIT_S = 0.5
_MOST_STUCK = 3
"""Threads of a source that are left alone with a statement; each takes a core until the process ends."""


class ResultsNotStored(StoreError):
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
    plans: dict[str, tuple[Subject, TablePlan]] = field(default_factory=dict)
    key: KeyProvider | None = None
    """Gives the key of signatures; without one, or without a store, no counts are kept."""

    def run(self, targets: Sequence[Target], on_table: Callable[[str], None] = lambda _: None) -> Sequence[CheckResult]:
        """Make one pass over tables and give what every check found, in the order of the targets.

        `on_table` hears the name of each table that is done. Nothing a source does raises here: what could not be
        evaluated is `unknown`.

        Raises:
            NotRemembered: the store failed meanwhile; the results are in the error.
        """
        check_results: dict[str, CheckResult] = {}
        failure: StoreError | None = None
        for batch in self._look(self._with_keepers(targets)):
            results = None
            if self.store is not None and failure is None:
                try:
                    results = record_results(batch, store=self.store, policy=self.policy)
                except StoreError as error:
                    failure = error
            if results is None:  # what was found is told all the same
                results = judge_only(batch, store=self.store)
            check_results |= {result.check_id: result for result in results}
            for one in batch:
                on_table(one.target.subject.name)
        every = [check_results[check_id] for target in targets for check_id, _ in target.subject.checks]
        if failure is not None:
            raise ResultsNotStored(every, failure)
        return every

    def _with_keepers(self, targets: Sequence[Target]) -> Sequence[Target]:
        if self.store is None or self.key is None:
            return targets
        return with_count_states(targets, store=self.store, key=self.key)

    def _look(self, targets: Sequence[Target]) -> Iterator[Sequence[TableResult]]:
        by_source: dict[str, list[Target]] = {}
        for target in targets:
            by_source.setdefault(target.source.name, []).append(target)
        inbox = _Inbox(len(by_source))
        for group in by_source.values():
            _SourceRun(self, group, inbox).start()
        try:
            yield from inbox.batches()
        finally:
            inbox.give_up()


class _SourceRun:
    """A thread that looks at tables of one source, until one of its statements cannot be stopped."""

    def __init__(self, engine: Engine, targets: Sequence[Target], inbox: "_Inbox", stuck_before: int = 0) -> None:
        self._engine, self._targets, self._inbox = engine, targets, inbox
        self._stuck_before = stuck_before
        self._begun = 0
        self._abandoned = False

    def start(self) -> None:
        """Begin; no pool: its threads are waited for at the end of the process, however long a query takes."""
        Thread(target=self._run, name=f"source {self._targets[0].source.name}", daemon=True).start()

    def _run(self) -> None:
        plans = self._engine.plans
        looking = scan_source(self._targets, clock=self._engine.clock, plans=plans, on_begin=self._begin)
        try:
            with reporting_stuck(self._abandon), closing(looking) as found:
                for looked in found:
                    if self._abandoned:  # the statement came to an end after all, too late
                        break
                    self._inbox.put(looked)
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
            self._inbox.put(unscanned(target, timed_out(limit), self._engine.clock.now()))
        if answered < len(self._targets):
            _SourceRun(self._engine, self._targets[answered:], self._inbox, stuck_now).start()
        else:
            self._inbox.close()


class _Inbox:
    """What the threads of the sources found, until it is taken.

    Python runs one thread at a time, and changing between them costs more than a small table: the reader wakes when
    there is a batch, when a source is done, and every half second, and no thread begins a table while it is at work.
    """

    def __init__(self, sources: int) -> None:
        self.given_up = False
        self._found: deque[TableResult] = deque()
        self._closed: list[None] = []
        self._sources = sources
        self._wake, self._idle = Event(), Event()
        self._idle.set()

    def put(self, looked: TableResult) -> None:
        self._found.append(looked)
        if len(self._found) >= _MOST_TABLES:
            self._wake.set()
        self._idle.wait()

    def close(self) -> None:
        """Report that one source is done."""
        self._closed.append(None)
        self._wake.set()

    def batches(self) -> Iterator[Sequence[TableResult]]:
        """Yield what arrives, until all sources are done."""
        over = not self._sources
        while not over:
            self._wake.wait(_LONGEST_WAIT_S)
            self._wake.clear()
            over = len(self._closed) == self._sources  # before taking: whoever is done has put in all it has
            self._idle.clear()
            while self._found:
                yield [self._found.popleft() for _ in range(min(_MOST_TABLES, len(self._found)))]
            self._idle.set()

    def give_up(self) -> None:
        """Let every thread end after its table."""
        self.given_up = True
        self._idle.set()


def run_checks(
    project: Project,
    selection: Selection,
    *,
    store: Store | None,
    fail_on: Severity = Severity.INFO,
    on_table: Callable[[str], None] = lambda _: None,
) -> PassResult:
    """Run the selected checks once; without a store nothing is remembered."""
    clock = project.clock
    started_at, started = clock.now(), clock.monotonic()
    if store is not None:
        retire(project, store)
    problem: str | None
    try:
        results = Engine(clock, store, project.policy, key=project.signature_key).run(
            targets_of(project, selection.tables), on_table
        )
    except ResultsNotStored as error:
        results, problem = error.results, f"not all of this was remembered: {error}"
    else:
        problem = _prune(project, store) if store is not None else None
    return PassResult(
        project=project.config.project,
        run_id=secrets.token_hex(12),
        started_at=started_at,
        duration_s=clock.monotonic() - started,
        results=results,
        fail_on=fail_on,
        problem=problem,
    )


def _prune(project: Project, store: Store) -> str | None:
    """Forget what is older than it has to be kept; say so where that failed."""
    storage = project.config.storage
    try:
        store.prune(
            keep_measurements=storage.keep_measurements, keep_incidents=storage.keep_incidents, now=project.clock.now()
        )
    except StoreError as error:
        return f"all of this was remembered, but nothing old was forgotten: {error}"
    return None
