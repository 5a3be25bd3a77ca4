"""Checks run on request: a table is made due in the store's schedule now, and the next free daemon runs its checks.

Nothing is checked in this process. A table that is due already keeps its slot, so that none is lost; one that is being
checked runs once more after that.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Final, Literal

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field

from monitor.terminal.problem import Problem
from monitor.web.call import Call
from monitor.web.incident_verbs import check_may_act
from monitor.web.problems import WebError
from monitor.web.views.shapes import Shape
from store import Scheduled

LOG: Final = logging.getLogger("tablewatch")
_MOST: Final = 100


class RunBody(BaseModel):
    """The tables whose checks are to run now."""

    model_config = ConfigDict(extra="forbid")

    tables: Annotated[tuple[Annotated[str, MinLen(1), MaxLen(500)], ...], MinLen(1), MaxLen(_MOST)]


class RequestedRun(Shape):
    """A table and since when its checks wait for a daemon."""

    table: str
    due_at: datetime


class RequestedRuns(Shape):
    """`tablewatch.requested-runs/1`: the tables that are due now."""

    schema_: Literal["tablewatch.requested-runs/1"] = Field("tablewatch.requested-runs/1", alias="schema")
    as_of: datetime
    tables: tuple[RequestedRun, ...]


def request_runs(call: Call) -> RequestedRuns:
    """Make the tables of the body due.

    Raises:
        WebError: as `make_due`.
    """
    return make_due(call, call.body.tables)


def request_run(call: Call) -> RequestedRuns:
    """Make the table of the path due.

    Raises:
        WebError: as `make_due`.
    """
    return make_due(call, (call.query.name,))


def make_due(call: Call, names: Iterable[str]) -> RequestedRuns:
    """Make tables due at once, all or none of them.

    Raises:
        WebError: 404 for a table that is not configured, 403 for a table of others, 409 for one without a schedule in
            the store.
    """
    unique = tuple(dict.fromkeys(names))
    for name in unique:
        if call.project.config.table(name) is None:
            raise WebError(404, Problem("table.unknown", "there is no such table in the configuration"))
        check_may_act(call, name)
    with call.store.writing() as tx:
        now = tx.schedule.clock(call.now)
        due = [_due(tx.schedule.get(name), name, now) for name in unique]
        tx.schedule.reschedule(due)
    LOG.info("run of %s requested by %s", ", ".join(unique), call.someone().actor)
    return RequestedRuns(as_of=now, tables=tuple(RequestedRun(table=row.table, due_at=row.due_at) for row in due))


def _due(row: Scheduled | None, name: str, now: datetime) -> Scheduled:
    if row is None:
        hint = "give the table a schedule and start 'tablewatch run', or run 'tablewatch check'"
        message = f"no daemon has scheduled table {name}, so that nobody would run its checks"
        raise WebError(409, Problem("table.not_scheduled", message, hint=hint))
    return replace(row, next_slot=min(row.next_slot, now), due_at=min(row.due_at, now))
