"""Decisions of stewards about releases over HTTP: approve a remedy, or hold; recorded by `releases`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict

from monitor.releases.columns import ReleaseColumns
from monitor.releases.decisions import ReleaseDecisions
from monitor.terminal.problem import Problem
from monitor.triage.errors import explained
from monitor.web.call import Call
from monitor.web.problems import WebError

DecisionNote = Annotated[str, MinLen(1), MaxLen(2_000)]


class HoldBody(BaseModel):
    """Put a release on hold, and why."""

    model_config = ConfigDict(extra="forbid")

    note: DecisionNote


class ApproveBody(HoldBody):
    """Approve a remedy for the table as it is now, and why."""

    remedy: Annotated[str, MinLen(1), MaxLen(500)]


def approve(call: Call) -> None:
    """Approve a remedy on behalf of the caller; the table is read, and its owner cannot.

    Raises:
        WebError: 404 for no such release, 403 for its owner.
        Stop: there is no such remedy, or the table cannot be read.
    """
    principal, body = call.require_principal(), call.body
    with _decisions(call) as decisions:
        if decisions.case.owner in principal.grant.owners:
            message = f"your role acts for '{decisions.case.owner}', who owns the table and cannot approve its release"
            raise WebError(403, Problem("release.own_table", message))
        decisions.approve(body.remedy, by=principal.name, note=body.note, how=principal.method)


def hold(call: Call) -> None:
    """Put a release on hold on behalf of the caller.

    Raises:
        WebError: 404 for no such release.
    """
    with _decisions(call) as decisions:
        decisions.hold(note=call.body.note, by=call.require_principal().actor)


@contextmanager
def _decisions(call: Call) -> Iterator[ReleaseDecisions]:
    if call.query.name not in call.project.config.releases:
        raise WebError(404, Problem("release.unknown", "there is no such release in the configuration"))
    with explained(call.project.config.timezone):
        yield ReleaseDecisions(ReleaseColumns.of(call.project, call.query.name), call.store)
