"""Compute how every table is, in a word: what `health.states_of` says, for thousands of tables at once."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from checks import Kind, Status
from incidents import NOT_RUN, overdue_after, to_us
from monitor.config.project import Project
from monitor.summaries.health import TableHealth, worst_of
from store import ReadTransaction


@dataclass(frozen=True, slots=True)
class SilentCheck:
    """A check that sees nothing now: the reason of unknown, or `not-run`, and when it last ran."""

    table: str
    check_id: str
    reason: str
    last_run_us: int


@dataclass(frozen=True, slots=True)
class HealthList:
    """How the tables of a configuration are, in its order, and the checks that see nothing now."""

    health: Mapping[str, TableHealth]
    silent: Sequence[SilentCheck]


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
    """Return how every table is at a moment, or only some of them by name."""
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
    for plan in plans:
        before, statuses = len(silent), set()
        for check_id, overdue_us in plan.overdue_us.items():
            status, last_us = ran.get(check_id, _NEVER)
            statuses.add(status)
            if status.startswith(_UNKNOWN):
                reason = status.removeprefix(f"{_UNKNOWN}(").removesuffix(")")
                silent.append(SilentCheck(plan.table, check_id, reason, last_us))
            elif overdue_us is not None and status and now_us - last_us > overdue_us:
                silent.append(SilentCheck(plan.table, check_id, NOT_RUN, last_us))
        health[plan.table] = worst_of(
            fails=_FAIL in statuses or plan.table in troubled,
            is_silent=len(silent) > before,
            warns=_WARN in statuses,
            never_ran=not statuses or "" in statuses,
        )
    return HealthList(health, silent)


_FAIL, _WARN, _UNKNOWN = (status.value for status in (Status.FAIL, Status.WARN, Status.UNKNOWN))

_NEVER: Final = ("", 0)
"""The last status of a check that never ran, and when that was."""
