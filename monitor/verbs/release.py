"""The verbs of releases: a steward approves a remedy, or holds the release; `releases.decisions` decides."""

from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import MaxLen
from pydantic import Field

from monitor.verbs.verb import Access, Acting, Body, Name, Query, Text, Typed, Verb

if TYPE_CHECKING:
    from monitor.releases.decisions import ReleaseDecisions
    from monitor.releases.state import ReleaseStanding


class ReleaseName(Query):
    """The name of a release."""

    name: Annotated[Name, Typed(metavar="NAME")] = Field(description="Configured release.")


class HoldBody(Body):
    """Put a release on hold, and why."""

    note: Annotated[Text, MaxLen(2_000)] = Field(description="Reason; it is recorded.")


class ApproveBody(HoldBody):
    """Approve a remedy for the table as it is now, and why."""

    remedy: Annotated[Name, Typed(metavar="NAME")] = Field(description="Remedy of the release, or as-it-is.")


def _decisions(acting: Acting, target: ReleaseName) -> "ReleaseDecisions":
    from monitor.releases.columns import ReleaseColumns
    from monitor.releases.decisions import ReleaseDecisions

    return ReleaseDecisions(ReleaseColumns.of(acting.project, target.name), acting.store)


def _approve(acting: Acting, target: ReleaseName, body: ApproveBody) -> "tuple[str, ReleaseStanding]":
    from monitor.terminal.problem import ExitCode, Problem, Stop

    decisions = _decisions(acting, target)
    if decisions.case.owner in acting.owners:
        message = f"your role acts for '{decisions.case.owner}', who owns the table and cannot approve its release"
        raise Stop(ExitCode.USAGE, Problem("release.own_table", message))
    return target.name, decisions.approve(body.remedy, by=acting.name, note=body.note, how=acting.proof)


def _hold(acting: Acting, target: ReleaseName, body: HoldBody) -> "tuple[str, ReleaseStanding]":
    return target.name, _decisions(acting, target).hold(note=body.note, by=acting.actor)


VERBS: Final = (
    Verb(
        "approve",
        ReleaseName,
        ApproveBody,
        _approve,
        "Approve a remedy for the current table; the owner of the table cannot approve",
        "research-extract --remedy generalise --by privacy-desk --note 'ticket 4711'",
        access=Access.RELEASE,
        whole=True,
        creates=True,
    ),
    Verb(
        "hold",
        ReleaseName,
        HoldBody,
        _hold,
        "Put a release on hold until it is approved again",
        "research-extract --by privacy-desk --note 'the contract has ended'",
        access=Access.RELEASE,
        whole=True,
        creates=True,
    ),
)
