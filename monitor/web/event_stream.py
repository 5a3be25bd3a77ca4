"""`GET /api/v1/events`: server-sent events, one for each change of an incident."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Final

from annotated_types import Ge, Le
from pydantic import TypeAdapter, ValidationError
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from monitor.summaries.shapes import Shape
from monitor.terminal.problem import Problem
from monitor.verbs.verb import Query
from monitor.web.call import Call
from monitor.web.change_feed import ChangeBatch
from monitor.web.problems import WebError
from monitor.web.rate_limit import RequestCost
from store import IncidentChange

_RETRY_MS: Final = 2_000
_Number = Annotated[int, Ge(0), Le(2**63 - 1)]
_NUMBER: Final[TypeAdapter[int]] = TypeAdapter(_Number)


class EventQuery(Query):
    """The change after which to start: `last_change` of a page. The header `Last-Event-ID` has precedence."""

    after: _Number | None = None


class ChangeEvent(Shape):
    """The data of an event `change`: which incident of which table, and what happened to it."""

    incident: int
    table: str
    kind: str


def follow_changes(call: Call) -> StreamingResponse:
    """Return the stream of changes.

    Raises:
        WebError: 422 for a `Last-Event-ID` that is no number.
    """
    after = call.query.after
    if call.last_event_id:
        try:
            after = _NUMBER.validate_python(call.last_event_id)
        except ValidationError:
            message = "Last-Event-ID: expected the id of an event of this stream"
            raise WebError(422, Problem("request.invalid", message)) from None
    return _ChangeStream(call, after)


class _ChangeStream(StreamingResponse):
    media_type = "text/event-stream"

    def __init__(self, call: Call, after: int | None) -> None:
        super().__init__(_lines(call.application.feed.batches(after)))
        self._application = call.application
        self._client = call.require_principal().actor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, counted as an open stream.

        Raises:
            WebError: 429 or 503: too many streams are open.
        """
        with self._application.gates[RequestCost.STREAM].place(self._client), self._application.feed.following():
            await super().__call__(scope, receive, send)


async def _lines(batches: AsyncIterator[ChangeBatch | None]) -> AsyncIterator[str]:
    yield f"retry: {_RETRY_MS}\n\n"
    async for batch in batches:
        yield ":\n\n" if batch is None else _text(batch)


def _text(batch: ChangeBatch) -> str:
    """Return a batch as events: `reset` tells the client to reload, an id alone is the position to continue from."""
    if not batch.is_complete:
        return f"event: reset\nid: {batch.last}\ndata: {{}}\n\n"
    return "".join(_event(change) for change in batch.changes) or f"id: {batch.last}\n\n"


def _event(change: IncidentChange) -> str:
    data = ChangeEvent(incident=change.incident_id, table=change.table, kind=change.kind)
    return f"event: change\nid: {change.number}\ndata: {json.dumps(data.model_dump())}\n\n"
