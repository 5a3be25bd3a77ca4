"""Results of other tools over HTTP: the same shape, and the same recording, as `tablewatch import results`."""

from typing import Literal

from pydantic import Field

from checks import Status
from monitor.integrations.results import FutureRun, configured_checks, import_run
from monitor.web.call import Call
from monitor.web.incident_verbs import check_may_act
from monitor.web.problems import WebError
from monitor.web.views.shapes import Shape


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
        check_may_act(call, table)
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
