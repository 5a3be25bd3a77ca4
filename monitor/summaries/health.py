"""Compute the health of tables: the worst of the last results of their checks, open incidents, and overdue runs.

degraded         a check fails, or an incident is open
unknown          a check could not be evaluated, or its next run is overdue
warning          a check warns
not-yet-checked  a check has never run
not-monitored    it has no check
healthy          every check passed
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, Self

from pydantic import Field

from checks import Check, Kind, Status, format_duration
from incidents import NOT_RUN, Incident, State, Watch, from_us, gaps_after, overdue_after, to_us
from monitor.config import Config, Table
from monitor.config.project import Project
from monitor.summaries.shapes import Moment, Shape
from store import IncidentFilter, ReadTransaction, Result

LASTING: Final = (State.OPEN, State.ACKNOWLEDGED)


class TableHealth(StrEnum):
    """The health of a table, the worst first."""

    DEGRADED = "degraded"
    UNKNOWN = "unknown"
    WARNING = "warning"
    NOT_YET_CHECKED = "not-yet-checked"
    NOT_MONITORED = "not-monitored"
    HEALTHY = "healthy"

    @property
    def rank(self) -> int:
        """Return 0 for the worst."""
        return tuple(TableHealth).index(self)


class NotEvaluated(Shape):
    """A check without a current result: why (a reason of unknown, or `not-run`), and a message."""

    check_id: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class TableState:
    """The state of a table now. `results` counts its checks by their last status."""

    table: Table
    owner: str | None
    health: TableHealth
    results: Counter[Status]
    never_ran: int
    last_run_at: datetime | None
    incidents: Sequence[Incident]
    not_evaluated: Sequence[NotEvaluated]


def states_of(project: Project, tx: ReadTransaction, tables: Sequence[Table]) -> Sequence[TableState]:
    """Return the states of tables, in the given order."""
    ids = [table.check_id(check) for table in tables for check in table.checks]
    watches = tx.results.watches(ids)
    unknown = [check_id for check_id, watch in watches.items() if watch.last_unknown is not None]
    results = tx.results.latest(unknown) if unknown else {}
    names = tuple(table.name for table in tables)
    incidents: dict[str, list[Incident]] = {name: [] for name in names}
    lasting = [item.incident_id for item in tx.outbox.open_incidents() if item.table in incidents]
    newest_first = sorted(tx.incidents.get_many(lasting).values(), key=_detected, reverse=True)
    for incident in newest_first:
        incidents[incident.table].append(incident)
    builder = _StateBuilder(project.config, project.clock.now(), watches, results)
    return [builder.state(table, incidents[table.name]) for table in tables]


def _detected(incident: Incident) -> tuple[datetime, int]:
    return incident.episodes[0].detected_at, incident.id


def states_in_store(tx: ReadTransaction, loaded_at: datetime | None) -> Sequence[TableState]:
    """Return the states of tables from the store alone: those scheduled, checked, or with an incident.

    For when the configuration on disk cannot be read. `loaded_at`: when the daemon loaded the configuration that it
    runs with; what was last checked before that may be of an older one, and is shown only where there is nothing newer.
    """
    incidents: dict[str, list[Incident]] = {
        scheduled.table: [] for scheduled in tx.schedule.tables() if ":" not in scheduled.table
    }
    for incident in tx.incidents.matching(IncidentFilter(states=LASTING)):
        incidents.setdefault(incident.table, []).append(incident)
    results: dict[str, list[Result]] = {}
    for result in tx.results.latest().values():
        results.setdefault(result.table, []).append(result)
    names = sorted(incidents.keys() | results.keys())
    return [_stored_state(name, _newest(results.get(name, ()), loaded_at), incidents.get(name, ())) for name in names]


def _newest(results: Sequence[Result], loaded_at: datetime | None) -> Sequence[Result]:
    """Return the results that the daemon's configuration gave, else those of the newest run."""
    if not results:
        return ()
    newest = max(results, key=lambda item: item.measured_at)
    present = [result for result in results if loaded_at is not None and result.measured_at >= loaded_at]
    return present or [result for result in results if result.run_id == newest.run_id]


def _stored_state(name: str, results: Sequence[Result], incidents: Sequence[Incident]) -> TableState:
    counted = Counter(result.status for result in results)
    not_evaluated = [
        NotEvaluated(check_id=result.check_id, reason=result.reason.value, message=str(result.message))
        for result in results
        if result.reason is not None
    ]
    return TableState(
        table=Table.model_construct(name=name, source=""),
        owner=None,
        health=_worst(counted, incidents, not_evaluated, never_ran=0),
        results=counted,
        never_ran=0,
        last_run_at=max((result.measured_at for result in results), default=None),
        incidents=incidents,
        not_evaluated=not_evaluated,
    )


@dataclass(frozen=True, slots=True)
class _StateBuilder:
    config: Config
    now: datetime
    watches: Mapping[str, Watch]
    unknown_results: Mapping[str, Result]

    def state(self, table: Table, incidents: Sequence[Incident]) -> TableState:
        ids = [table.check_id(check) for check in table.checks]
        ran = [self.watches[check_id] for check_id in ids if check_id in self.watches]
        results = Counter(_status(watch) for watch in ran)
        not_evaluated = [
            evaluated
            for check_id, check in zip(ids, table.checks, strict=True)
            if check_id in self.watches
            for evaluated in self._not_evaluated(table, check, self.watches[check_id])
        ]
        never_ran = len(ids) - len(ran)
        return TableState(
            table=table,
            owner=self.config.owner_of(table),
            health=_worst(results, incidents, not_evaluated, never_ran=never_ran, has_checks=bool(ids)),
            results=results,
            never_ran=never_ran,
            last_run_at=max((watch.last_run_at for watch in ran), default=None),
            incidents=incidents,
            not_evaluated=not_evaluated,
        )

    def _not_evaluated(self, table: Table, check: Check, watch: Watch) -> Iterator[NotEvaluated]:
        if watch.last_unknown is not None:
            result = self.unknown_results.get(watch.check_id)
            message = str(result.message) if result is not None else "its measurement is past retention"
            yield NotEvaluated(check_id=watch.check_id, reason=watch.last_unknown.value, message=message)
        gaps = gaps_after(watch, table=table.name, until=self.now, period=table.period_of(check))
        if any(gap.reason == NOT_RUN for gap in gaps):
            age = format_duration(self.now - watch.last_run_at)
            expected = f"scheduled {table.schedule}, last run"
            if check.results_every is not None:
                expected = f"a result is expected every {format_duration(check.results_every)}, the last one is from"
            yield NotEvaluated(check_id=watch.check_id, reason=NOT_RUN, message=f"{expected} {age} ago")


def _status(watch: Watch) -> Status:
    return Status.UNKNOWN if watch.last_unknown is not None else Status(watch.last_status)


def _worst(
    results: Mapping[Status, int],
    incidents: Sequence[Incident],
    silent: Sequence[NotEvaluated],
    *,
    never_ran: int,
    has_checks: bool = True,
) -> TableHealth:
    return worst_of(
        fails=results[Status.FAIL] > 0 or any(incident.kind is Kind.QUALITY for incident in incidents),
        is_silent=bool(silent),
        warns=results[Status.WARN] > 0,
        never_ran=bool(never_ran) or not results,
        has_checks=has_checks,
    )


def worst_of(*, fails: bool, is_silent: bool, warns: bool, never_ran: bool, has_checks: bool) -> TableHealth:
    """Return the health of a table; `fails`: a check fails or an incident is open; `never_ran`: some check did not."""
    if fails:
        return TableHealth.DEGRADED
    if is_silent:
        return TableHealth.UNKNOWN
    if warns:
        return TableHealth.WARNING
    if not has_checks:
        return TableHealth.NOT_MONITORED
    return TableHealth.NOT_YET_CHECKED if never_ran else TableHealth.HEALTHY


class CheckCounts(Shape):
    """The checks of a table by what they found last."""

    passed: int = Field(alias="pass")
    warn: int
    fail: int
    unknown: int
    not_yet_checked: int
    total: int

    @classmethod
    def of(cls, state: TableState) -> Self:
        """Count the checks of a table."""
        found = {"passed" if status is Status.PASS else status.value: state.results[status] for status in Status}
        return cls(**found, not_yet_checked=state.never_ran, total=state.results.total() + state.never_ran)


class TableLine(Shape):
    """A table and its state: what every list holds of it."""

    table: str
    domain: str | None
    owner: str | None
    tier: str | None
    health: TableHealth
    checks: CheckCounts
    last_run_at: Moment | None
    open_incidents: tuple[int, ...]

    @classmethod
    def of(cls, state: TableState, **more: Any) -> Self:
        """Return a state as a model; `more`: the fields that a wider model adds."""
        return cls(
            table=state.table.name,
            domain=state.table.domain,
            owner=state.owner,
            tier=state.table.tier,
            health=state.health,
            checks=CheckCounts.of(state),
            last_run_at=state.last_run_at,
            open_incidents=tuple(incident.id for incident in state.incidents),
            **more,
        )


class TableStatus(TableLine):
    """A table with the age of its last run, and the checks that see nothing now."""

    last_run_age_s: float | None
    not_evaluated: tuple[NotEvaluated, ...]

    @classmethod
    def at(cls, state: TableState, now: datetime, **more: Any) -> Self:
        """Return a state at a moment; `more`: the fields that a wider model adds."""
        return cls.of(
            state,
            last_run_age_s=None if state.last_run_at is None else (now - state.last_run_at).total_seconds(),
            not_evaluated=tuple(state.not_evaluated),
            **more,
        )


def worst_first(states: Sequence[TableState]) -> list[TableState]:
    """Return states with the worst health first."""
    return sorted(states, key=lambda state: state.health.rank)


@dataclass(frozen=True, slots=True)
class SilentCheck:
    """A check without a current result: the reason of unknown, or `not-run`, and when it last ran."""

    table: str
    check_id: str
    reason: str
    last_run_us: int


@dataclass(frozen=True, slots=True)
class HealthList:
    """The health of all tables in the order of the configuration, and the checks without a current result.

    `checks` counts the checks of these tables, `ran` those that ever ran; `newest_us` is their newest run, 0 is none.
    """

    health: Mapping[str, TableHealth]
    silent: Sequence[SilentCheck]
    checks: int
    ran: int
    newest_us: int

    @property
    def newest_result_at(self) -> datetime | None:
        """Return when a check ran last."""
        return from_us(self.newest_us) if self.newest_us else None


@dataclass(frozen=True, slots=True)
class _Plan:
    """A table and, by the id of each check, after how long (microseconds) its run is overdue; None if never."""

    table: str
    overdue_us: Mapping[str, int | None]


@lru_cache(maxsize=4)
def _plans(project: Project) -> Mapping[str, _Plan]:
    """Return the plan of each table; a project never changes, a reloaded configuration is another one."""
    return {
        table.name: _Plan(
            table.name, {table.check_id(check): _overdue_us(table.period_of(check)) for check in table.checks}
        )
        for table in project.config.tables
    }


def _overdue_us(period: timedelta | None) -> int | None:
    return None if period is None else round(overdue_after(period).total_seconds() * 1_000_000)


def health_list(
    project: Project, tx: ReadTransaction, now: datetime, names: Collection[str] | None = None
) -> HealthList:
    """Return the health of every table at a moment, or of some by name: cheaper than `states_of` for thousands."""
    plans: Iterable[_Plan] = _plans(project).values()
    ids: Sequence[str] | None = None
    if names is not None:
        chosen = [plan for name in names if (plan := _plans(project).get(name)) is not None]
        plans = chosen
        ids = [check_id for plan in chosen for check_id in plan.overdue_us]
    ran = {check_id: (status, last_us) for check_id, status, last_us in tx.results.last_statuses(ids)}
    troubled = {lasting.table for lasting in tx.outbox.open_incidents() if lasting.kind is Kind.QUALITY}
    now_us = to_us(now)
    health: dict[str, TableHealth] = {}
    silent: list[SilentCheck] = []
    times = [0]
    for plan in plans:
        before, statuses = len(silent), set()
        for check_id, overdue_us in plan.overdue_us.items():
            status, last_us = ran.get(check_id, _NEVER)
            statuses.add(status)
            times.append(last_us)
            if status.startswith(_UNKNOWN):
                reason = status.removeprefix(f"{_UNKNOWN}(").removesuffix(")")
                silent.append(SilentCheck(plan.table, check_id, reason, last_us))
            elif overdue_us is not None and status and now_us - last_us > overdue_us:
                silent.append(SilentCheck(plan.table, check_id, NOT_RUN, last_us))
        health[plan.table] = worst_of(
            fails=_FAIL in statuses or plan.table in troubled,
            is_silent=len(silent) > before,
            warns=_WARN in statuses,
            never_ran="" in statuses,
            has_checks=bool(statuses),
        )
    return HealthList(health, silent, len(times) - 1, sum(map(bool, times)), max(times))


_FAIL, _WARN, _UNKNOWN = (status.value for status in (Status.FAIL, Status.WARN, Status.UNKNOWN))

_NEVER: Final = ("", 0)
"""The last status of a check that never ran, and when that was."""
