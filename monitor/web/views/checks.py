"""Checks: their status, what they cost (seconds a day) and find; a check with its history, limits and incidents."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, Literal

from annotated_types import Ge, Le, MaxLen
from pydantic import Field

from checks import Check, Status
from checks.classes.arrays import np
from incidents import Downtime, Resolution, State, Window, from_us, measure_by, to_us
from incidents.known_episodes import counts, first_rows, known_episodes
from monitor.config import Table
from monitor.config.project import Project
from monitor.summaries.catalogue import RECENT
from monitor.summaries.check_numbers import CheckNumber
from monitor.summaries.health import health_list
from monitor.summaries.incident import IncidentSummary, summaries_of
from monitor.summaries.promises import powers_of
from monitor.summaries.shapes import CheckFinding, Moment, Sentence, Shape, as_hours
from monitor.verbs.verb import Query
from monitor.web.views.incidents import IncidentCheckResult, ViolationsSql, result_of, violations_of
from monitor.web.views.shapes import Name, NameListPage, NameListQuery, not_there, page_of_names
from monitor.web.views.table import CheckLine, check_line
from store import CheckRunTime, IncidentFilter, ReadTransaction, Result, Sample

LAST: Final = 200
"""Runs of each check from which its seconds a day are taken."""
_DAY: Final = timedelta(days=1)
POINTS: Final = 500
_INCIDENTS: Final = 50
_RUNS: Final = 10
_INSTANT: Final = timedelta(microseconds=1)


class CheckState(StrEnum):
    """A check by what its last run found, the worst first; `unknown` also where the next run is overdue."""

    FAIL = "fail"
    UNKNOWN = "unknown"
    WARN = "warn"
    NEVER_RUN = "not-yet-checked"
    PASSED = "pass"


_SLOW_S: Final = 5.0
_SLOW_LAST: Final = 20


class CheckCostQuery(NameListQuery):
    """Which checks to list, by their status, and by the owners and names of their tables.

    `slow`: a run takes 5 s or more, on the average of the last 20.
    """

    status: Annotated[tuple[CheckState | Literal["slow"], ...], MaxLen(10)] = ()
    owner: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    text: Name | None = None


class CheckCost(Shape):
    """A check: its status, what its last runs took, and what it found in the last 28 days.

    `incidents`: those that were not over before, also one of no length yet, or of disclosure, which is no downtime; not
    those that ended as expected, false positive or duplicate. `seconds`: of a run, on average. `rows`: that it read in
    its last run, null where it does not count them. `runs_a_day` and `seconds_a_day` are null before its second run.
    `found_h`: the downtime of the incidents that it detected.
    """

    check_id: str
    table: str
    type: str
    status: CheckState
    last_run_at: Moment | None
    runs: int
    seconds: float | None
    rows: int | None
    runs_a_day: float | None
    seconds_a_day: float | None
    incidents: int
    found_h: float
    false_positives: int


class CheckCostPage(NameListPage):
    """`tablewatch.check-costs/1`: checks, the worst first; `n` counts all that meet the query."""

    schema_: Literal["tablewatch.check-costs/1"] = Field("tablewatch.check-costs/1", alias="schema")
    query: CheckCostQuery
    checks: tuple[CheckCost, ...]


def list_check_costs(project: Project, tx: ReadTransaction, query: CheckCostQuery, now: datetime) -> CheckCostPage:
    """Return a page of checks with what they cost and find."""
    checks: Mapping[str, tuple[Table, Check]] = {
        table.check_id(check): (table, check)
        for table in project.config.tables
        for check in table.checks
        if (not query.owner or project.config.owner_of(table) in query.owner)
        and (query.text is None or query.text.casefold() in table.check_id(check).casefold())
    }
    states = _states(project, tx, checks, now)
    slow = _slow(tx, checks) if "slow" in query.status else frozenset()
    ranked = [
        f"{_RANKS[state]} {name}"
        for name, (state, _) in states.items()
        if not query.status or state in query.status or name in slow
    ]
    page = page_of_names(ranked, query.cursor, query.size)
    names = [name.partition(" ")[2] for name in page.names]
    lines = _cost_lines(project, tx, {name: checks[name] for name in names}, states, now)
    return CheckCostPage(
        as_of=now,
        query=query,
        n=len(ranked),
        checks=tuple(lines[name] for name in names),
        previous=page.previous,
        following=page.following,
    )


_RANKS: Final = {state: number for number, state in enumerate(CheckState)}


def _states(
    project: Project, tx: ReadTransaction, names: Collection[str], now: datetime
) -> Mapping[str, tuple[CheckState, datetime | None]]:
    """Return the state of checks, and when each ran last."""
    ran = {name: (status, last_us) for name, status, last_us in tx.results.last_statuses(names)} if names else {}
    tables = {name.rpartition(".")[0] for name in names}
    silent = {check.check_id for check in health_list(project, tx, now, tables).silent} if names else set()

    def state(name: str) -> tuple[CheckState, datetime | None]:
        if name not in ran:
            return CheckState.NEVER_RUN, None
        status, last_us = ran[name]
        is_current = name not in silent or status == CheckState.FAIL
        return CheckState(status) if is_current else CheckState.UNKNOWN, from_us(last_us)

    return {name: state(name) for name in names}


def _slow(tx: ReadTransaction, names: Collection[str]) -> frozenset[str]:
    paces = tx.results.paces(names, last=_SLOW_LAST) if names else {}
    return frozenset(name for name, pace in paces.items() if pace.seconds / pace.n >= _SLOW_S)


def _cost_lines(
    project: Project,
    tx: ReadTransaction,
    checks: Mapping[str, tuple[Table, Check]],
    states: Mapping[str, tuple[CheckState, datetime | None]],
    now: datetime,
) -> Mapping[str, CheckCost]:
    if not checks:
        return {}
    paces = tx.results.paces(checks, last=LAST)
    detected = _detected(project, tx, set(checks), now)
    results = tx.results.latest(checks)
    return {
        name: _cost_line(
            name,
            item,
            state=states[name],
            pace=paces.get(name),
            detected=detected.get(name),
            rows=_row_count(results.get(name)),
        )
        for name, item in checks.items()
    }


def _detected(
    project: Project, tx: ReadTransaction, names: set[str], now: datetime
) -> Mapping[str, tuple[int, Downtime]]:
    """Return by check how many incidents of the last 28 days it found, one of this moment too, and their downtime."""
    window = Window.of(now - RECENT, now + timedelta(microseconds=1))
    shared = tx.incidents.shared_spans(window.start_us)
    codes = [code for code, name in enumerate(shared.names) if name in names]
    spans = shared.take(np.flatnonzero(np.isin(shared.check, codes)))
    downtimes = measure_by(
        spans, window, as_of_us=to_us(now), group=spans.check, maintenance=project.maintenance(spans.names)
    )
    known = spans.take(known_episodes(spans, window, to_us(now)))
    first = known.take(first_rows(known))
    found = Counter(first.check[counts(first)].tolist())
    return {spans.names[code]: (found[code], downtime) for code, downtime in downtimes.items()}


def _row_count(result: Result | None) -> int | None:
    rows = None if result is None else result.observed.get("rows")
    return rows if isinstance(rows, int) else None


def _cost_line(
    name: str,
    item: tuple[Table, Check],
    *,
    state: tuple[CheckState, datetime | None],
    pace: CheckRunTime | None,
    detected: tuple[int, Downtime] | None,
    rows: int | None,
) -> CheckCost:
    table, check = item
    incidents, downtime = (0, None) if detected is None else detected
    runs_a_day = None
    if pace is not None and pace.last_at > pace.first_at:
        runs_a_day = (pace.n - 1) / ((pace.last_at - pace.first_at) / _DAY)
    seconds = None if pace is None else pace.seconds / pace.n
    false = None if downtime is None else downtime.excluded.get(Resolution.FALSE_POSITIVE.value)
    return CheckCost(
        check_id=name,
        table=table.name,
        type=check.type,
        status=state[0],
        last_run_at=state[1],
        runs=0 if pace is None else pace.n,
        seconds=seconds,
        rows=rows,
        runs_a_day=runs_a_day,
        seconds_a_day=None if seconds is None or runs_a_day is None else seconds * runs_a_day,
        incidents=incidents,
        found_h=0.0 if downtime is None else as_hours(downtime.downtime),
        false_positives=0 if false is None else false.n,
    )


class CheckQuery(Query):
    """The id of a check, in the path, and how many days of it.

    `sql`: also the SELECT of the rows that break it, for which the source is opened.
    """

    id: Name
    days: Annotated[int, Ge(1), Le(400)] = 90
    sql: bool = False


class CheckPoint(Shape):
    """What a check found in a short time: the newest result of the worst status stands for all `n` of them.

    `usual_low`, `usual_high`: between them the number would have been as usual, by the ratios configured now.
    """

    at: Moment
    status: str
    reason: str | None
    number: float | None
    baseline: float | None
    usual_low: float | None
    usual_high: float | None
    n: int
    failed: int
    unknown: int


class CheckSegment(CheckFinding):
    """What the newest run found in a segment of the table that is followed; `incident` is its open incident."""

    segment: str
    series: str
    incident: int | None


class CheckPage(Shape):
    """`tablewatch.check-history/1`: points in order of time; `number` is read as `what`, in `unit`.

    `low` and `high` are the limits as they are configured now; null where the check has none for this number.
    `segments`: of a check with `by`, those that have measurements of their own. `power`: the smallest changes that its
    learned limits would detect, as of its newest run. `now`: its status now, why, and the promise of its learned
    limits; `runs`: the last runs, the newest first. `warn_low`, `warn_high`: the softer limits.
    """

    schema_: Literal["tablewatch.check-history/1"] = Field("tablewatch.check-history/1", alias="schema")
    as_of: Moment
    since: Moment
    check_id: str
    table: str
    type: str
    severity: str
    why: str | None
    runbook: str | None
    what: str | None
    unit: str | None
    low: float | None
    high: float | None
    points: tuple[CheckPoint, ...]
    incidents: tuple[IncidentSummary, ...]
    segments: tuple[CheckSegment, ...] = ()
    power: tuple[Sentence, ...] = ()
    violations: ViolationsSql | None = None
    now: CheckLine | None = None
    cost: CheckCost | None = None
    runs: tuple[IncidentCheckResult, ...] = ()
    next_run_at: Moment | None = None
    warn_low: float | None = None
    warn_high: float | None = None


def show_check(project: Project, tx: ReadTransaction, query: CheckQuery, now: datetime) -> CheckPage:
    """Return the history of a check.

    Raises:
        Stop: it is not configured.
    """
    table, check = _configured(project, query.id)
    since = now - timedelta(days=query.days)
    number = CheckNumber.of(check)
    soft = check.softened()
    warn = CheckNumber.of(soft) if soft is not None else None
    scheduled = tx.schedule.get(table.name)
    item = {query.id: (table, check)}
    samples = tx.results.sampled(query.id, since, now + timedelta(microseconds=1), points=POINTS)
    incident_filter = IncidentFilter(check_ids=(query.id,), tables=(table.name,))
    newest = tx.incidents.page(incident_filter, size=_INCIDENTS).incidents
    behind = [item for item in newest if item.last.resolved_at is None or item.last.resolved_at >= since]
    return CheckPage(
        as_of=now,
        since=since,
        check_id=query.id,
        table=table.name,
        type=check.type,
        severity=check.severity.value,
        why=check.why,
        runbook=project.runbook(check),
        what=number.key,
        unit=number.unit,
        low=number.low,
        high=number.high,
        points=tuple(_point(sample, check, number) for sample in samples),
        segments=() if check.segments is None else _segments(tx, query.id),
        power=tuple(item.message(check, query.id) for item in powers_of(tx.results.latest([query.id]).get(query.id))),
        incidents=summaries_of(project, behind, now),
        violations=violations_of(project, table.name, check, now) if query.sql else None,
        now=check_line(tx, table, check, now),
        cost=_cost_lines(project, tx, item, _states(project, tx, item, now), now)[query.id],
        runs=tuple(
            result_of(result) for result in reversed(tx.results.around(query.id, now + _INSTANT, before=_RUNS, after=0))
        ),
        next_run_at=None if scheduled is None else scheduled.due_at,
        warn_low=None if warn is None else warn.low,
        warn_high=None if warn is None else warn.high,
    )


def _segments(tx: ReadTransaction, check_id: str) -> tuple[CheckSegment, ...]:
    lasting = tx.incidents.matching(IncidentFilter(states=(State.OPEN, State.ACKNOWLEDGED), check_ids=(check_id,)))
    incidents = {incident.series: incident.id for incident in lasting}
    return tuple(
        CheckSegment(
            segment=result.message.segment or result.check_id,
            series=result.check_id,
            status=result.status.value,
            reason=None if result.reason is None else result.reason.value,
            message=result.message,
            incident=incidents.get(result.check_id),
        )
        for result in tx.results.segments_of(check_id)
    )


def _configured(project: Project, check_id: str) -> tuple[Table, Check]:
    table = project.config.table(check_id.rpartition(".")[0])  # an id has no dot, a table's name may
    check = None if table is None else table.check(check_id)
    if table is not None and check is not None:
        return table, check
    raise not_there("check.unknown", "there is no such check in the configuration")


def _point(sample: Sample, check: Check, number: CheckNumber) -> CheckPoint:
    result = sample.result
    usual_low, usual_high = number.usual(check, result.observed)
    return CheckPoint(
        at=result.measured_at,
        status=result.status.value,
        reason=None if result.reason is None else result.reason.value,
        number=number.read(result.observed),
        baseline=number.baseline(result.observed),
        usual_low=usual_low,
        usual_high=usual_high,
        n=sample.n,
        failed=sample.counts.get(Status.FAIL, 0),
        unknown=sample.counts.get(Status.UNKNOWN, 0),
    )
