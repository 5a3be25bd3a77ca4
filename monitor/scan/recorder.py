"""Judge what was measured, decide what it means for incidents, and remember all of it in one transaction."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from checks import (
    Check,
    Earlier,
    Measurement,
    Message,
    Outcome,
    PastMeasurement,
    SegmentedMeasurement,
    Status,
    UnknownReason,
    judge,
    unknown,
)
from incidents import (
    AGENT,
    NOT_CONFIGURED,
    Change,
    Gap,
    Identity,
    Incident,
    LifecycleStep,
    Opened,
    Reason,
    Resolution,
    Resolved,
    RunTimes,
    State,
    Watch,
    advance,
    ended_without_rows,
    gaps_after,
    status_text,
)
from monitor.config.project import Project, follows_warnings
from monitor.scan.results import CheckResult, PolicyOf, TableResult, run_guarded, run_of, with_absence
from monitor.scan.segment_results import SegmentMemory, is_of, judge_segments, remembered, watch_of_segment
from store import (
    IncidentFilter,
    Lease,
    ReadTransaction,
    Result,
    Run,
    Store,
    StoreError,
    WriteTransaction,
    current_name,
)

if TYPE_CHECKING:
    from checks.limits import DistancePool
    from monitor.clock import Clock
    from monitor.scan.confirmation import Retry
    from monitor.scan.incremental import StagedCounts
    from monitor.scan.warnings import WarningRecorder
    from store import Postponed, Pruned

_History: TypeAlias = "Mapping[str, Sequence[PastMeasurement] | None]"
_SKEW = timedelta(minutes=1)  # by so much the clocks of two machines may differ without one having been set back
_RENAMED = timedelta(days=7)
_WITHOUT_HISTORY = unknown(UnknownReason.NO_DATA, Message("earlier measurements cannot be read: the store is failing"))


def record_results(
    batch: Sequence[TableResult], *, store: Store, policy_of: PolicyOf, clock: "Clock"
) -> Sequence[CheckResult]:
    """Judge a batch of tables, decide and remember: everything of the batch in one transaction.

    Raises:
        StoreError: nothing of the batch was remembered.
    """
    batch, counts = _staged(batch, store)
    pool = _pool_for(batch, store)
    with store.writing() as tx:
        if counts is not None:
            counts.settle(tx, batch)
        return _Recorder(tx, policy_of, clock.now(), pool).make([(new_id(), table_result) for table_result in batch])


def _staged(batch: Sequence[TableResult], store: Store) -> "tuple[Sequence[TableResult], StagedCounts | None]":
    """Put what was found to the class counts that are kept from run to run, where any are.

    Raises:
        StoreError: they cannot be written or read.
    """
    if not any(table_result.has_counts for table_result in batch):
        return batch, None
    from monitor.scan.incremental import stage_counts  # few checks keep counts

    counts = stage_counts(batch, store)
    return counts.batch, counts


def _pool_for(batch: Sequence[TableResult], store: Store) -> "DistancePool | None":
    """Return what the checks of a batch that learn with others are judged by; None where there are none.

    Raises:
        StoreError: the store cannot be read.
    """
    if not any(check.is_pooled for table_result in batch for _, check in table_result.target.subject.checks):
        return None
    from monitor.scan.pooled import pool_at

    return pool_at(max(table_result.started_at for table_result in batch), store)


def record_slot_results(
    batch: Sequence[tuple[Lease, TableResult]], *, store: Store, policy_of: PolicyOf, clock: "Clock"
) -> Sequence[CheckResult]:
    """Conclude what was looked at under leases, and end their slots, in one transaction.

    Results of leases that another process took over are dropped: it checks those tables again.

    Raises:
        StoreError: nothing of the batch was remembered, and no slot ended.
    """
    ids = {lease.id: new_id() for lease, _ in batch}
    results, counts = _staged([table_result for _, table_result in batch], store)
    pool = _pool_for(results, store)
    with store.writing() as tx:
        held = tx.slots.finish([lease for lease, _ in batch], now=tx.schedule.clock(clock.now()), run_ids=ids)
        counting = [
            (ids[lease.id], table_result)
            for (lease, _), table_result in zip(batch, results, strict=True)
            if lease.id in held
        ]
        if counts is not None:
            counts.settle(tx, [table_result for _, table_result in counting])
        return _Recorder(tx, policy_of, clock.now(), pool).make(counting)


def record_external_results(
    batch: Sequence[tuple[str, TableResult]], *, store: Store, policy_of: PolicyOf
) -> tuple[Sequence[CheckResult], int]:
    """Decide and remember results of another tool, each table with the id of its run, in one transaction.

    Runs that are known are left out. Return the results that were new, and how many runs were known.

    Raises:
        StoreError: nothing of the batch was remembered.
    """
    with store.writing() as tx:
        known = tx.results.known_runs(run_id for run_id, _ in batch)
        new = [(run_id, table_result) for run_id, table_result in batch if run_id not in known]
        return _Recorder(tx, policy_of, None).make(new), len(known)


def judge_only(batch: Sequence[TableResult], *, store: Store | None) -> Sequence[CheckResult]:
    """Judge a batch of tables and remember nothing.

    Without a store there is no history. With one that cannot be read, history is unknown: a check
    that asks for it could not be evaluated.
    """
    if any(table_result.has_counts for table_result in batch):
        from monitor.scan.incremental import judge_without_store

        batch = judge_without_store(batch)
    memory, history, pool = (SegmentMemory(), {}, None) if store is None else _read_history(store, batch)
    return [result for table_result in batch for result in judge_table(table_result, history, memory, pool)]


def _read_history(store: Store, batch: Sequence[TableResult]) -> "tuple[SegmentMemory, _History, DistancePool | None]":
    memory = SegmentMemory()
    try:
        pool = _pool_for(batch, store)
        with store.reading() as tx:
            memory = memory_of(tx, batch)
            return memory, tx.results.earlier_many(wanted_history(batch, memory)), pool
    except StoreError:
        return memory, dict.fromkeys(wanted_history(batch, memory)), None


def wanted_history(batch: Sequence[TableResult], memory: SegmentMemory) -> Mapping[str, tuple[datetime, Earlier]]:
    """Return which earlier measurements are to be read, by check, or by segment that is compared with its past."""
    wanted: dict[str, tuple[datetime, Earlier]] = {}
    for table_result in batch:
        for item in table_result.measured:
            if item.earlier is not None:
                earlier = replace(item.earlier, left_out=table_result.target.maintenance)
                series = [item.check_id] if item.check.segments is None else remembered(item, memory)
                wanted |= dict.fromkeys(series, (table_result.started_at, earlier))
    return wanted


def memory_of(tx: ReadTransaction, batch: Sequence[TableResult]) -> SegmentMemory:
    """Return what is known of the segments of a batch, where there are any."""
    is_cut = any(
        isinstance(item.answer, SegmentedMeasurement) for table_result in batch for item in table_result.measured
    )
    return SegmentMemory.read(tx, batch) if is_cut else SegmentMemory()


def judge_table(
    table_result: TableResult, history: _History, memory: SegmentMemory, pool: "DistancePool | None" = None
) -> Iterable[CheckResult]:
    """Yield what each check of a table came to. `pool`: of the checks that learn together."""
    for check_measurement in table_result.measured:
        answer = check_measurement.answer
        if pool is not None and isinstance(answer, Measurement) and check_measurement.check.is_pooled:
            answer = replace(answer, pool=pool)
        outcome = answer if isinstance(answer, Outcome) else _WITHOUT_HISTORY
        if isinstance(answer, Measurement):
            past = history.get(check_measurement.check_id, ())
            outcome = _judge(check_measurement.check, answer, past)
        result = CheckResult(
            check_id=check_measurement.check_id,
            table=table_result.target.subject.name,
            check=check_measurement.check,
            outcome=outcome,
            measured_at=table_result.started_at,
            duration_s=check_measurement.duration_s,
            source=table_result.target.source.name,
            owner=table_result.target.owner,
        )
        if isinstance(answer, SegmentedMeasurement):
            result = judge_segments(result, check_measurement, memory, history=history, judge=_judge)
        yield result


def _judge(check: Check, measurement: Measurement, past: Sequence[PastMeasurement] | None) -> Outcome:
    """Judge one check; a bug in it leaves the others of the batch. Ctrl-C is no bug: judging is for the main thread."""
    if past is None:
        return _WITHOUT_HISTORY
    return run_guarded(partial(judge, check, measurement, past), passes_on=(KeyboardInterrupt,))


def step_of(
    watch: Watch | None,
    incident: Incident | None,
    result: CheckResult,
    outcome: Outcome,
    policy_of: PolicyOf,
    table_result: TableResult,
) -> LifecycleStep:
    """Return what a result changes."""
    judged = replace(outcome, status=Status.PASS, reason=None) if result.is_gone else outcome
    times = RunTimes(table_result.started_at, table_result.ended_at)
    step = advance(watch, incident, judged, identity=identity_of(result), policy=policy_of(result.check), run=times)
    return ended_without_rows(step) if result.is_gone else step


class _Recorder:
    """Decides over one batch, inside one transaction; `now` is None for results of another clock."""

    def __init__(
        self, tx: WriteTransaction, policy_of: PolicyOf, now: datetime | None, pool: "DistancePool | None" = None
    ) -> None:
        self._tx, self._policy_of, self._now, self._pool = tx, policy_of, now, pool
        self._watches: dict[str, Watch] = {}
        self._incidents: dict[str, Incident] = {}
        self._retries: dict[str, Retry] = {}
        self._warnings: WarningRecorder | None = None

    def make(self, batch: Sequence[tuple[str, TableResult]]) -> Sequence[CheckResult]:
        """Decide over looks, each with the id of its run."""
        memory = memory_of(self._tx, [table_result for _, table_result in batch])
        history = self._tx.results.earlier_many(wanted_history([table_result for _, table_result in batch], memory))
        judged = [
            (run_id, table_result, list(judge_table(table_result, history, memory, self._pool)))
            for run_id, table_result in batch
        ]
        everything = [result for *_, results in judged for result in results]
        ids = [part.remembered_as for result in everything for part in (result, *result.segments)]
        self._watches = dict(self._tx.results.watches(ids))
        ahead = [watch for watch in self._watches.values() if self._now and watch.last_run_at > self._now + _SKEW]
        if self._now and ahead:  # the clock was set back: these runs still come after the stored ones
            from monitor.scan.clock_change import bring_run_back

            to = min(table_result.started_at for _, table_result in batch) - timedelta.resolution
            self._watches |= bring_run_back(self._tx, ahead, to=to, now=self._now)
        latest = self._tx.incidents.latest(ids)
        self._incidents = {fingerprint: self._unmerged(incident) for fingerprint, incident in latest.items()}
        if everything and self._policy_of(everything[0].check).warn_notifies:  # the same for all of a configuration
            from monitor.scan.warnings import WarningRecorder

            self._warnings = WarningRecorder(self._tx, everything, self._policy_of)
        runs: list[Run] = []
        facts: list[Result] = []
        gaps: list[Gap] = []
        decided: list[CheckResult] = []
        for run_id, table_result, results in judged:
            runs.append(run := run_of(run_id, table_result))
            for result in with_absence(table_result, results, self._watches):
                gaps += self._gaps(table_result, result)
                facts += facts_of(run, result)
                decided.append(self._decide(table_result, result))
                if self._warnings is not None:
                    self._warnings.end_gone(table_result, result)
        self._tx.results.add_runs(runs, facts)
        self._tx.results.save_watches([self._watches[series] for series in ids])
        self._tx.results.add_gaps(gaps)
        if self._retries:
            from monitor.scan.confirmation import plan_retries

            plan_retries(self._tx, self._retries)
        return decided

    def _decide(self, table_result: TableResult, result: CheckResult) -> CheckResult:
        """Decide on a check; where its segments are judged one by one, on each of them and on the others together."""
        if result.rest is None:
            return self._step(table_result, result, result.outcome)
        before = self._watches.get(result.check_id)
        rest = self._step(table_result, result, result.rest)
        watch = self._watches[result.check_id]
        if watch.last_run_at == table_result.started_at:  # else another run was faster
            self._watches[result.check_id] = replace(watch, last_status=status_text(result.outcome))
        segments = []
        for segment in result.segments:
            if segment.remembered_as not in self._watches and before is not None:
                self._watches[segment.remembered_as] = watch_of_segment(before, segment.remembered_as)
            segments.append(self._step(table_result, segment, segment.outcome))
        return replace(rest, segments=tuple(segments))

    def _step(self, table_result: TableResult, result: CheckResult, outcome: Outcome) -> CheckResult:
        series = result.remembered_as
        step = step_of(
            self._watches.get(series), self._incidents.get(series), result, outcome, self._policy_of, table_result
        )
        evaluated = outcome.reason is None and step.reason is not Reason.OUT_OF_ORDER
        self._watches[series] = replace(step.watch, place=table_result.target.place) if evaluated else step.watch
        for change in step.changes:
            self._write(series, change, table_result.ended_at)
        if step.reason is Reason.WAITING_TO_OPEN:
            self._ask_for_retry(table_result, result, step.watch)
        incident = self._incidents.get(series)
        lasts = incident is not None and incident.state is not State.RESOLVED
        if self._warnings is not None and step.reason is not Reason.OUT_OF_ORDER:
            self._warnings.follow(table_result, result, outcome, identity=identity_of(result), has_incident=lasts)
        return replace(result, incident=incident.id) if incident is not None and lasts else result

    def _ask_for_retry(self, table_result: TableResult, result: CheckResult, watch: Watch) -> None:
        policy = self._policy_of(result.check)
        if policy.confirm_after is None or result.check.results_every is not None:
            return
        from monitor.scan.confirmation import Retry, retry_at

        at = retry_at(watch, policy)
        if at is not None:
            retry = Retry(at, table_result.ended_at)
            self._retries[result.table] = min(retry, self._retries.get(result.table, retry))

    def _unmerged(self, incident: Incident) -> Incident:
        """Return the incident that a merged one duplicates while that lasts, else the merged one."""
        root = incident
        while root.merged_into is not None:
            root = self._tx.incidents.get(root.merged_into)
        return incident if root.state is State.RESOLVED else root

    def _write(self, fingerprint: str, change: Change, recorded_at: datetime) -> None:
        if isinstance(change, Opened):
            self._incidents[fingerprint] = self._tx.incidents.open(change, recorded_at=recorded_at, actor=AGENT)
        else:
            incident = self._incidents[fingerprint]
            self._incidents[fingerprint] = self._tx.incidents.append(
                incident, [change], recorded_at=recorded_at, actor=AGENT
            )

    def _gaps(self, table_result: TableResult, result: CheckResult) -> Sequence[Gap]:
        watch, period = self._watches.get(result.check_id), result.check.results_every or table_result.target.period
        return gaps_after(watch, table=result.table, until=table_result.started_at, period=period)


def identity_of(result: CheckResult) -> Identity:
    """Return what the failures of a check, or of a segment of it, belong to."""
    return Identity(
        check_id=result.check_id,
        table=result.table,
        fingerprint=result.remembered_as,
        kind=result.check.kind,
        severity=result.check.severity,
    )


def facts_of(run: Run, result: CheckResult) -> Sequence[Result]:
    """Return what is kept of a check, and of each segment of it that is followed and has rows."""
    return [_fact(run, part) for part in (result, *result.segments) if not part.is_gone]


def _fact(run: Run, result: CheckResult) -> Result:
    return Result(
        run_id=run.id,
        check_id=result.remembered_as,
        table=result.table,
        measured_at=result.measured_at,
        status=result.outcome.status,
        reason=result.outcome.reason,
        observed=result.outcome.observed,
        message=result.outcome.message,
        duration_s=result.duration_s,
    )


def new_id() -> str:
    """Return a new id of a run."""
    return secrets.token_hex(12)


LASTING = (State.OPEN, State.ACKNOWLEDGED)


def retire(project: Project, store: Store) -> int:
    """Close the incidents of checks, or segments, that are no longer configured, as `no-action`; give how many.

    The class counts and streaks that were kept for them are given up; releases stay remembered.
    """
    checks = {table.check_id(check): check for table in project.config.tables for check in table.checks}
    configured = checks.keys()
    with store.reading() as tx:
        lasting = tx.incidents.matching(IncidentFilter(states=LASTING))
        keeping = {*configured, *(table.name for table in project.config.tables if table.incremental is not None)}
        forgotten = tx.classes.subjects() - keeping
        gone = [series for series, *_ in tx.results.last_statuses() if not is_of(series, configured)]
        is_any_gone = forgotten or gone or any(incident.check_id not in configured for incident in lasting)
        awaited = _awaited(project, tx) if is_any_gone else frozenset()
        forgotten -= awaited
        gone = [series for series in gone if not is_of(series, awaited)]
    if (forgotten or gone) and not project.loaded.apart:
        with store.writing() as tx:
            tx.classes.keep_only(keeping)
            tx.results.forget_checks(gone)
    incidents = [
        incident
        for incident in lasting
        if incident.check_id is not None
        and incident.check_id not in awaited
        and not project.loaded.is_left_out(incident.table)
        and (
            incident.check_id not in configured
            or (incident.series != incident.check_id and checks[incident.check_id].segments is None)
        )
    ]
    now, closed = project.clock.now(), 0
    if follows_warnings(project.config.alerts):
        from monitor.scan.warnings import retire_warnings

        retire_warnings(project, store, configured | awaited, now)
    if not incidents:
        return 0
    with store.writing() as tx:
        for known in incidents:
            incident = tx.incidents.get(known.id)  # another process may have closed it meanwhile
            if incident.state in LASTING:
                ended = Resolved(max(now, incident.last.detected_at), Resolution.NO_ACTION, NOT_CONFIGURED)
                tx.incidents.append(incident, [ended], recorded_at=now, actor=AGENT)
                closed += 1
    return closed


def _awaited(project: Project, tx: ReadTransaction) -> frozenset[str]:
    """Return the tables and checks that the store knows by a new name, and the configuration still by the old one.

    A rename changes the store first; a week later its file counts as what is meant.
    """
    changes = tx.names.changes(project.clock.now() - _RENAMED)
    tables = project.config.tables if changes else ()
    names = {name for table in tables for name in (table.name, *map(table.check_id, table.checks))}
    return frozenset(new for name in names if (new := current_name(name, changes)) != name)


def prune(project: Project, store: Store, *, at_most: timedelta = timedelta(0)) -> "Pruned | Postponed | None":
    """Delete what is past its retention, if the clock is trusted; else return what waits, None if nothing does.

    `at_most`: how often, for commands that run one after the other.

    Raises:
        StoreError: the store cannot be written.
    """
    storage, (monotonic, boot) = project.config.storage, project.clock.uptime()
    return store.prune_if_trusted(
        keep_measurements=storage.keep_measurements,
        keep_incidents=storage.keep_incidents,
        now=project.clock.now(),
        monotonic=monotonic,
        boot=boot,
        at_most=at_most,
    )
