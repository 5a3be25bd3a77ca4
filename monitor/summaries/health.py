"""Describe how tables are: the worst of what their checks found last, their open incidents, and what was not looked at.

degraded         a check fails, or an incident is open
unknown          a check could not be evaluated, or its next run is overdue
warning          a check warns
not-yet-checked  a check has never run, or there is none
healthy          every check passed
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from checks import Check, Kind, Status, format_duration
from incidents import NOT_RUN, Incident, State, Watch, gaps_after
from monitor.clock import iso
from monitor.config import Config, Table
from monitor.config.project import Project
from store import IncidentFilter, ReadTransaction, Result

LASTING: Final = (State.OPEN, State.ACKNOWLEDGED)


class TableHealth(StrEnum):
    """How a table is, the worst first."""

    DEGRADED = "degraded"
    UNKNOWN = "unknown"
    WARNING = "warning"
    NOT_YET_CHECKED = "not-yet-checked"
    HEALTHY = "healthy"

    @property
    def rank(self) -> int:
        """Return 0 for the worst."""
        return tuple(TableHealth).index(self)


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """A check that says nothing now: why (a reason of unknown, or `not-run`), and what happened."""

    check_id: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class TableState:
    """What is known of a table now. `results` counts its checks by what they found last."""

    table: Table
    owner: str | None
    health: TableHealth
    results: Counter[Status]
    never_ran: int
    last_run_at: datetime | None
    incidents: Sequence[Incident]
    not_evaluated: Sequence[NotEvaluated]


def states_of(project: Project, tx: ReadTransaction, tables: Sequence[Table]) -> Sequence[TableState]:
    """Return how tables are, in the given order."""
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
    look = _Look(project.config, project.clock.now(), watches, results)
    return [look.at(table, incidents[table.name]) for table in tables]


def _detected(incident: Incident) -> tuple[datetime, int]:
    return incident.episodes[0].detected_at, incident.id


def states_in_store(tx: ReadTransaction, loaded_at: datetime | None) -> Sequence[TableState]:
    """Return how tables are as far as the store alone knows it: those on the timetable, checked, or with an incident.

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
    return [_known_state(name, _newest(results.get(name, ()), loaded_at), incidents.get(name, ())) for name in names]


def _newest(results: Sequence[Result], loaded_at: datetime | None) -> Sequence[Result]:
    """Return the results that the daemon's configuration gave, else those of the newest run."""
    if not results:
        return ()
    newest = max(results, key=lambda item: item.measured_at)
    present = [result for result in results if loaded_at is not None and result.measured_at >= loaded_at]
    return present or [result for result in results if result.run_id == newest.run_id]


def _known_state(name: str, results: Sequence[Result], incidents: Sequence[Incident]) -> TableState:
    counted = Counter(result.status for result in results)
    silent = [
        NotEvaluated(result.check_id, result.reason.value, str(result.message))
        for result in results
        if result.reason is not None
    ]
    return TableState(
        table=Table.model_construct(name=name, source=""),
        owner=None,
        health=_worst(counted, incidents, silent, never_ran=0),
        results=counted,
        never_ran=0,
        last_run_at=max((result.measured_at for result in results), default=None),
        incidents=incidents,
        not_evaluated=silent,
    )


@dataclass(frozen=True, slots=True)
class _Look:
    config: Config
    now: datetime
    watches: Mapping[str, Watch]
    found: Mapping[str, Result]

    def at(self, table: Table, incidents: Sequence[Incident]) -> TableState:
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
            health=_worst(results, incidents, not_evaluated, never_ran=never_ran),
            results=results,
            never_ran=never_ran,
            last_run_at=max((watch.last_run_at for watch in ran), default=None),
            incidents=incidents,
            not_evaluated=not_evaluated,
        )

    def _not_evaluated(self, table: Table, check: Check, watch: Watch) -> Iterator[NotEvaluated]:
        if watch.last_unknown is not None:
            result = self.found.get(watch.check_id)
            message = str(result.message) if result is not None else "its measurement is past retention"
            yield NotEvaluated(watch.check_id, watch.last_unknown.value, message)
        gaps = gaps_after(watch, table=table.name, until=self.now, period=table.period_of(check))
        if any(gap.reason == NOT_RUN for gap in gaps):
            age = format_duration(self.now - watch.last_run_at)
            expected = f"scheduled {table.schedule}, last run"
            if check.results_every is not None:
                expected = f"a result is expected every {format_duration(check.results_every)}, the last one is from"
            yield NotEvaluated(watch.check_id, NOT_RUN, f"{expected} {age} ago")


def _status(watch: Watch) -> Status:
    return Status.UNKNOWN if watch.last_unknown is not None else Status(watch.last_status)


def _worst(
    results: Mapping[Status, int], incidents: Sequence[Incident], silent: Sequence[NotEvaluated], *, never_ran: int
) -> TableHealth:
    return worst_of(
        fails=results[Status.FAIL] > 0 or any(incident.kind is Kind.QUALITY for incident in incidents),
        is_silent=bool(silent),
        warns=results[Status.WARN] > 0,
        never_ran=bool(never_ran) or not results,
    )


def worst_of(*, fails: bool, is_silent: bool, warns: bool, never_ran: bool) -> TableHealth:
    """Return how a table is: `fails` if a check fails or an incident lasts, `never_ran` if a check or all never did."""
    if fails:
        return TableHealth.DEGRADED
    if is_silent:
        return TableHealth.UNKNOWN
    if warns:
        return TableHealth.WARNING
    return TableHealth.NOT_YET_CHECKED if never_ran else TableHealth.HEALTHY


def state_as_json(state: TableState, now: datetime) -> dict[str, Any]:
    """Return how a table is."""
    return {
        "health": state.health.value,
        "checks": {
            **{status.value: state.results.get(status, 0) for status in Status},
            "not_yet_checked": state.never_ran,
            "total": state.results.total() + state.never_ran,
        },
        "last_run_at": iso(state.last_run_at),
        "last_run_age_s": None if state.last_run_at is None else (now - state.last_run_at).total_seconds(),
        "open_incidents": [incident.id for incident in state.incidents],
        "not_evaluated": [
            {"check_id": not_evaluated.check_id, "reason": not_evaluated.reason, "message": not_evaluated.message}
            for not_evaluated in state.not_evaluated
        ],
    }


def worst_first(states: Sequence[TableState]) -> list[TableState]:
    """Return tables in the order in which they need somebody."""
    return sorted(states, key=lambda state: state.health.rank)
