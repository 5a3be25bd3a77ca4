"""Error replies: an HTTP status and the problems; to programs as `application/problem+json` (RFC 9457)."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from checks.parameters.errors import describe_error
from monitor.terminal.problem import ExitCode, Problem, Stop, sum_up

PROBLEM_TYPE: Final = "application/problem+json"
RETRY_S: Final = 2
"""Seconds of Retry-After for a client that was refused because places, or the store, were taken."""
STATUSES: Final[Mapping[str, int]] = {
    "incident.not_found": 404,
    "silence.not_found": 404,
    "config.changed": 409,
    "status_page.not_found": 404,
    "event.not_found": 404,
    "incident.not_allowed": 409,
    "incident.changed": 409,
    "store.conflict": 409,
    "store": 503,
    "table.unknown": 404,
    "check.unknown": 404,
    "release.unknown": 404,
    "product.unknown": 404,
    "domain.unknown": 404,
    "owner.unknown": 404,
    "alert.unknown_channel": 404,
    "alert.not_found": 404,
    "alert.not_sent": 502,
    "web.not_found": 404,
    "web.exists": 409,
    "access.account": 403,
    "release.own_table": 403,
    "release.no_approver": 403,
}
"""The status of a problem by its code; others of wrong use are 422."""


class WebError(Exception):
    """A request is refused: its status, the problems, and more keys of the JSON (such as the verbs available now)."""

    def __init__(
        self,
        status: int,
        *problems: Problem,
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, problems)
        retry = {"retry-after": str(RETRY_S)} if status in {429, 503} else {}
        self.headers: Mapping[str, str] = {**retry, **(headers or {})}
        self.status = status
        self.problems: Sequence[Problem] = problems
        self.more: Mapping[str, Any] = more or {}

    def reply(self) -> "ErrorReply":
        """Return what programs are answered."""
        return ErrorReply(
            type=f"/api#{self.problems[0].code}",
            title=HTTPStatus(self.status).phrase,
            status=self.status,
            detail=sum_up(self.problems),
            errors=[ErrorItem.model_validate(problem, from_attributes=True) for problem in self.problems],
            **self.more,
        )


class ErrorItem(BaseModel):
    """One problem; `field` is that of the request it is about."""

    code: str
    message: str
    field: str | None = None
    hint: str | None = None


class ErrorReply(BaseModel):
    """A problem as RFC 9457 has it. `type` names the first of `errors`, and where `/api` lists them.

    A refused verb of an incident also has what the incident is now.
    """

    type: str
    title: str
    status: int
    detail: str
    errors: list[ErrorItem]
    incident: int | None = None
    state: str | None = None
    version: int | None = None
    available: list[str] | None = None


def of_stop(stop: Stop) -> WebError:
    """Return the error reply for a `Stop`."""
    codes = [problem.code for problem in stop.problems]
    status = next((STATUSES[code] for code in codes if code in STATUSES), None)
    if status is None:
        status = 503 if stop.code is ExitCode.NOT_EVALUATED else 422
    return WebError(status, *stop.problems)


def of_validation(error: ValidationError) -> WebError:
    """Return the error reply for input that does not fit its model; the input is not repeated."""
    problems = [
        Problem(
            "request.invalid", describe_error(item, whole="request"), field=str(item["loc"][0]) if item["loc"] else None
        )
        for item in error.errors(include_url=False, include_input=False)
    ]
    return WebError(422, *problems)
