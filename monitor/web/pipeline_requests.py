"""Requests of pipelines and schedulers: data has arrived, results of another tool.

Checks are run on request by making a table due in the store's schedule: the next free daemon runs them, and nothing is
checked in this process. A table that is due already keeps its slot, so that none is lost; one that is being checked
runs once more after that. Results are recorded as `tablewatch import results` does.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Final, Literal

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field

from checks import Status
from monitor.integrations.results import FutureRun, configured_checks, import_run
from monitor.summaries.shapes import Moment, Shape
from monitor.terminal.problem import Problem
from monitor.verbs.verb import Body
from monitor.web.call import Call
from monitor.web.problems import WebError
from store import Scheduled

LOG: Final = logging.getLogger("tablewatch")
_MOST_TABLES: Final = 100


class RunBody(BaseModel):
    """The tables whose checks are to run now."""

    model_config = ConfigDict(extra="forbid")

    tables: Annotated[tuple[Annotated[str, MinLen(1), MaxLen(500)], ...], MinLen(1), MaxLen(_MOST_TABLES)]


class RunForm(Body):
    """The page that the button stands on, where it is not that of the table."""

    back: Annotated[str, MaxLen(1_000)] | None = None


class RequestedRun(Shape):
    """A table and since when its checks wait for a daemon."""

    table: str
    due_at: Moment


class RequestedRuns(Shape):
    """`tablewatch.requested-runs/1`: the tables that are due now."""

    schema_: Literal["tablewatch.requested-runs/1"] = Field("tablewatch.requested-runs/1", alias="schema")
    as_of: Moment
    tables: tuple[RequestedRun, ...]


def request_runs(call: Call) -> RequestedRuns:
    """Make the tables of the body due.

    Raises:
        WebError: as of `_make_due`.
    """
    return _make_due(call, call.body.tables)


def request_run(call: Call) -> RequestedRuns:
    """Make the table of the path due.

    Raises:
        WebError: as of `_make_due`.
    """
    return _make_due(call, (call.query.name,))


def _make_due(call: Call, names: Iterable[str]) -> RequestedRuns:
    """Make tables due at once, all or none of them.

    Raises:
        WebError: 404 for a table that is not configured, 403 for a table of others, 409 for one without a schedule in
            the store.
    """
    unique = tuple(dict.fromkeys(names))
    for name in unique:
        if call.project.config.table(name) is None:
            raise WebError(404, Problem("table.unknown", "there is no such table in the configuration"))
        call.check_may_act(name)
    with call.store.writing() as tx:
        now = tx.schedule.clock(call.now)
        due = [_due(tx.schedule.get(name), name, now) for name in unique]
        tx.schedule.reschedule(due)
    LOG.info("run of %s requested by %s", ", ".join(unique), call.require_principal().actor)
    return RequestedRuns(as_of=now, tables=tuple(RequestedRun(table=row.table, due_at=row.due_at) for row in due))


def _due(row: Scheduled | None, name: str, now: datetime) -> Scheduled:
    if row is None:
        hint = "give the table a schedule and start 'tablewatch run', or run 'tablewatch check'"
        message = f"no daemon has scheduled table {name}, so its checks would not run"
        raise WebError(409, Problem("table.not_scheduled", message, hint=hint))
    return replace(row, next_slot=min(row.next_slot, now), due_at=min(row.due_at, now))


class RecordedResult(Shape):
    """A result that was recorded, and the incident that lasts of its check."""

    check_id: str
    status: Status
    incident: int | None


class ResultNotTaken(Shape):
    """A result that belongs to no configured check, and why."""

    name: str
    reason: str


class RecordedRun(Shape):
    """`tablewatch.recorded-run/1`: what became of a run; a run that was sent before changes nothing."""

    schema_: Literal["tablewatch.recorded-run/1"] = Field("tablewatch.recorded-run/1", alias="schema")
    run_id: str
    already_imported: bool
    results: tuple[RecordedResult, ...]
    not_taken: tuple[ResultNotTaken, ...]


def record_run(call: Call) -> RecordedRun:
    """Record the run of the body.

    Raises:
        WebError: 403 for a check on a table of others (nothing of the run is recorded), 422 for a run in the future.
    """
    names = {result.check for result in call.body.results}
    checks = configured_checks(call.project.config, call.body.origin)
    for table in {
        key[0] for key, (_, check) in checks.items() if call.body.complete or names & {check.key, check.name}
    }:
        call.check_may_act(table)
    try:
        run = import_run(call.project, call.store, call.body)
    except FutureRun as error:
        raise WebError(422, error.problem) from None
    return RecordedRun(
        run_id=run.run_id,
        already_imported=run.already_imported,
        results=tuple(
            RecordedResult(check_id=item.check_id, status=item.outcome.status, incident=item.incident)
            for item in run.results
        ),
        not_taken=tuple(ResultNotTaken(name=item.name, reason=item.reason) for item in run.not_taken),
    )
