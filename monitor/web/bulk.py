"""One verb on several incidents: what is chosen in the list is confirmed once, and each incident has its own event."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import RedirectResponse, Response

from monitor.summaries.incident import IncidentSummary, summaries_of
from monitor.terminal.problem import Problem
from monitor.verbs import incident
from monitor.verbs.incident import IncidentNumber
from monitor.verbs.verb import Body, Number
from monitor.web.call import Call
from monitor.web.problems import WebError, of_validation
from monitor.web.sign_in import local_path
from monitor.web.verb_routes import perform

BulkWord = Literal["ack", "assign", "snooze", "resolve"]
_VERBS: Final = {verb.name: verb for verb in incident.VERBS}
Numbers = Annotated[tuple[Number, ...], MinLen(1), MaxLen(100)]


class BulkQuery(BaseModel):
    """A verb, the incidents that were chosen, and the list to which to go back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    verb: BulkWord = "ack"
    id: Annotated[tuple[Number, ...], MaxLen(100)] = ()
    back: Annotated[str, MaxLen(2_000)] = "/incidents"


class BulkBody(Body):
    """The confirmation, with the fields of the verb."""

    verb: BulkWord
    id: Numbers
    back: Annotated[str, MaxLen(2_000)] = "/incidents"
    assignee: str | None = None
    length: str | None = Field(None, alias="for")
    resolution: str | None = None
    cause: str | None = None
    force: bool = False


class BulkPage(BaseModel):
    """What is about to be done, to which incidents."""

    verb: BulkWord
    incidents: tuple[IncidentSummary, ...]
    back: str


def show_bulk(call: Call) -> BulkPage:
    """Return the page that asks for confirmation.

    Raises:
        WebError: 404 for an incident that is not there.
    """
    return _page(call, call.query.verb, call.query.id, call.query.back)


def show_again(call: Call, sent: Mapping[str, Sequence[str]]) -> BulkPage:
    """Return the page of a confirmation that was refused."""
    try:
        query = BulkQuery.model_validate(
            {"verb": sent.get("verb", [None])[0], "id": sent.get("id", ()), "back": sent.get("back", ["/"])[0]}
        )
    except ValidationError as error:
        raise of_validation(error) from None
    return _page(call, query.verb, query.id, query.back)


def _page(call: Call, verb: BulkWord, numbers: Sequence[int], back: str) -> BulkPage:
    with call.store.reading() as tx:
        found = tx.incidents.get_many(numbers)
        missing = [number for number in numbers if number not in found]
        if missing:
            raise WebError(404, Problem("incident.not_found", f"there is no incident #{missing[0]}"))
        summaries = summaries_of(call.project, [found[number] for number in dict.fromkeys(numbers)], call.now)
    return BulkPage(verb=verb, incidents=summaries, back=local_path(back))


def act_on_all(call: Call) -> Response:
    """Apply a verb to each incident, and go back to the list.

    Raises:
        WebError: 403, 404, 409 or 422 for the first that refuses, before anything is done where that is known.
    """
    body = call.body
    page, verb = _page(call, body.verb, body.id, body.back), _VERBS[body.verb]
    for item in page.incidents:
        call.check_may_act(item.table)
        if verb.name not in item.available:
            message = f"#{item.id} is {item.state.value}: '{verb.name}' is not possible; nothing was changed"
            raise WebError(409, Problem("incident.not_allowed", message))
    try:
        fields = verb.body.model_validate(_fields(body, verb.body))
    except ValidationError as error:
        raise of_validation(error) from None
    for item in page.incidents:
        perform(replace(call, query=IncidentNumber(id=item.id), body=fields), verb)
    return RedirectResponse(page.back, 303)


def _fields(body: BulkBody, kind: type[Body]) -> Mapping[str, Any]:
    """Return the fields that a verb takes."""
    names = {field.alias or name for name, field in kind.model_fields.items()}
    sent = body.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True)
    return {name: value for name, value in sent.items() if name in names}
