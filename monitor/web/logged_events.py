"""Events over HTTP, such as deployments that a pipeline reports: recorded as by `tablewatch event add`."""

from typing import Annotated, Literal
from urllib.parse import quote

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import RedirectResponse, Response

from monitor.triage.create import unknown_table
from monitor.triage.errors import explained
from monitor.triage.logged_events import LONGEST_NOTE, EventForm, event_as_json, log_event
from monitor.triage.time_parsing import TimeReader, TypedTimes
from monitor.web.call import Call
from monitor.web.dispatch import as_json
from monitor.web.incident_verbs import Line, Time, check_may_act
from monitor.web.problems import WebError
from monitor.web.views.table import LoggedEventLine
from store import LoggedEvent, LoggedEventKind


class EventBody(BaseModel):
    """Something that happened to a table, to the tables of a source, or (neither is given) to any table."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["deploy", "migration", "backfill", "configuration", "other"]
    note: Annotated[str, MinLen(1), MaxLen(LONGEST_NOTE)]
    at: Time | None = Field(None, description="When it happened; by default now.")
    table: Line | None = None
    source: Line | None = None


class LoggedEventReply(LoggedEventLine):
    """`tablewatch.event/1`: an event as it is recorded."""

    schema_: Literal["tablewatch.event/1"] = Field("tablewatch.event/1", alias="schema")


def record_by_form(call: Call) -> Response:
    """Record the event of a form, and show the table that it was about."""
    event, _ = _record(call)
    return RedirectResponse("/" if event.table is None else f"/tables/{quote(event.table, safe='')}", 303)


def record_event(call: Call) -> Response:
    """Record the event of the body: 201, or 200 if the same was recorded before."""
    event, is_new = _record(call)
    reply = LoggedEventReply.model_validate(event_as_json(event))
    return as_json(call.application, reply.model_dump(mode="json", by_alias=True), 201 if is_new else 200)


def _record(call: Call) -> tuple[LoggedEvent, bool]:
    """Record the event of the body; return it, and whether it is new.

    Raises:
        WebError: 422 for a table that is not configured, 403 for a table of others. Stop: it cannot be recorded.
    """
    body: EventBody = call.body
    problem = None if body.table is None else unknown_table(body.table, call.project.config)
    if problem is not None:
        raise WebError(422, problem)
    tables = [table.name for table in call.project.config.tables if body.source in {None, table.source}]
    for table in tables if body.table is None else [body.table]:
        check_may_act(call, table)
    times = TypedTimes(TimeReader(call.project.config.timezone, call.now), lambda _: None)
    form = EventForm(LoggedEventKind(body.kind), body.note, times.moment("at", body.at), body.table, body.source)
    with explained(call.project.config.timezone):
        return log_event(call.project, call.store, form, actor=call.someone().actor)
