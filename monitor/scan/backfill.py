"""Evaluate checks as of past times, oldest first, so that baselines exist on the first day. Nothing is notified."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from checks import Outcome, Status
from incidents import AGENT, Incident, Opened, State, Watch
from monitor.config.project import Project
from monitor.config.selector import Selection
from monitor.scan.recorder import facts_of, judge_table, new_id, step_of, wanted_history
from monitor.scan.results import CheckResult, PolicyOf, TableResult, Target, run_of, targets_of
from monitor.scan.scanner import Plans, scan_sources
from monitor.scan.segment_results import SegmentMemory, watch_of_segment
from store import BACKFILL, History, Store, WriteTransaction


@dataclass(frozen=True, slots=True)
class Backfilled:
    """The outcome of a backfill: results by status, and how many were there before."""

    results: Mapping[Status, int]
    there_before: int
    incidents: int
    problems: Mapping[str, str]
    """Why checks could not be evaluated as of the last of the times, by check id."""


def past_times(since: datetime, until: datetime, every: timedelta) -> list[datetime]:
    """Return the times from `since`, rounded down to a minute, in steps, before `until`."""
    start = since.replace(second=0, microsecond=0)
    count = max(0, -((start - until) // every))
    return [start + number * every for number in range(count)]


def backfill(
    project: Project,
    selection: Selection,
    times: Sequence[datetime],
    *,
    store: Store,
    opens_incidents: bool = False,
    on_table: Callable[[str], None] = lambda _: None,
) -> Backfilled:
    """Evaluate the selected checks at each of the times and record what was found as backfilled.

    A check is not evaluated where it was measured already, less than half of a step away. So a second backfill changes
    nothing, also where its times were typed as ages and lie some minutes later.
    """
    every = times[1] - times[0] if len(times) > 1 else timedelta(minutes=1)
    targets = targets_of(project, selection.tables)
    missing = list(_missing(targets, times, store=store, every=every))
    wanted = len(times) * sum(len(target.subject.checks) for target in targets)
    todo = sum(len(target.subject.checks) for target in missing)
    counts = dict.fromkeys(Status, 0)
    problems: dict[str, str] = {}
    past = PastIncidents(project.policy_of, project.clock.now()) if opens_incidents else None
    plans: Plans = {}
    for batch in scan_sources(missing, clock=project.clock, plans=plans):
        for result in record_past(batch, store=store, past=past, now=project.clock.now()):
            counts[result.outcome.status] += 1
            problems.pop(result.check_id, None)
            if result.outcome.status is Status.UNKNOWN:
                problems[result.check_id] = str(result.outcome.message)
        for table_result in batch:
            on_table(table_result.target.subject.name)
    return Backfilled(counts, wanted - todo, 0 if past is None else past.opened, problems)


def record_past(
    batch: Sequence[TableResult], *, store: Store, past: "PastIncidents | None", now: datetime
) -> Sequence[CheckResult]:
    """Judge tables as they were at past times, one after the other, and record what was found as backfilled.

    What is known of checks between two runs stays as it is. Incidents are opened only for `past`. What the runs cost
    counts for the day of `now`.

    Raises:
        StoreError: nothing of the batch was remembered.
    """
    results: list[CheckResult] = []
    with store.writing() as tx:
        for table_result in batch:
            memory = SegmentMemory() if past is None else past.memory
            history = tx.results.earlier_many(wanted_history([table_result], memory))
            judged = list(judge_table(table_result, history, memory))
            run = run_of(f"{BACKFILL}{new_id()}", table_result, now)
            tx.results.add_runs([run], [fact for result in judged for fact in facts_of(run, result)])
            if past is not None:
                for result in judged:
                    past.decide(tx, table_result, result)
            results += judged
    return results


@dataclass
class PastIncidents:
    """The incidents of a backfill: decided from one past time to the next, and not announced.

    A check that has run before has its incidents already: none are opened for it.
    """

    policy_of: PolicyOf
    now: datetime
    opened: int = 0
    _watches: dict[str, Watch] = field(default_factory=dict)
    _incidents: dict[str, Incident] = field(default_factory=dict)

    @property
    def memory(self) -> SegmentMemory:
        """Return which segments were followed at earlier past times, and which of their incidents are open."""
        lasting: dict[str, dict[str, Incident]] = {}
        for series, incident in self._incidents.items():
            if incident.state is not State.RESOLVED and incident.check_id not in {None, series}:
                lasting.setdefault(str(incident.check_id), {})[series] = incident
        return SegmentMemory(self._watches, lasting)

    def decide(self, tx: WriteTransaction, table_result: TableResult, result: CheckResult) -> None:
        """Open, go on with or resolve the incident of a check, or those of its segments."""
        key = result.check_id
        if key not in self._watches and (tx.results.watches([key]) or tx.incidents.latest([key])):
            return
        before = self._watches.get(key)
        self._decide(tx, table_result, result, result.rest or result.outcome)
        for segment in result.segments:
            if segment.remembered_as not in self._watches and before is not None:
                self._watches[segment.remembered_as] = watch_of_segment(before, segment.remembered_as)
            self._decide(tx, table_result, segment, segment.outcome)

    def _decide(self, tx: WriteTransaction, table_result: TableResult, result: CheckResult, outcome: Outcome) -> None:
        key = result.remembered_as
        step = step_of(self._watches.get(key), self._incidents.get(key), result, outcome, self.policy_of, table_result)
        self._watches[key] = step.watch
        for change in step.changes:
            if isinstance(change, Opened):
                history = History([change], self.now, AGENT)
                self._incidents[key] = tx.incidents.add_histories([history])[0]
                self.opened += 1
            else:
                incident = self._incidents[key]
                self._incidents[key] = tx.incidents.append(
                    incident, [change], recorded_at=self.now, actor=AGENT, announce=False
                )


def _missing(
    targets: Sequence[Target], times: Sequence[datetime], *, store: Store, every: timedelta
) -> Iterator[Target]:
    """Yield the targets at each time, in order, with the checks that have no measurement there."""
    if not times:
        return
    ids = [check_id for target in targets for check_id, _ in target.subject.checks]
    with store.reading() as tx:
        measured = tx.results.moments(ids, times[0] - every, times[-1] + every)
    for at in times:
        for target in targets:
            checks = tuple(
                (check_id, check)
                for check_id, check in target.subject.checks
                if not any(abs(moment - at) < every / 2 for moment, _ in measured.get(check_id, ()))
            )
            if checks:
                yield replace(target, subject=replace(target.subject, checks=checks)).at(at)
