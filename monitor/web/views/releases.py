"""Releases: which are on hold and why, which are approved, and what is on record of each."""

from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from monitor.config.project import Project
from monitor.releases.overview import ReleaseState
from monitor.releases.record import record_of, states_now
from monitor.web.views.shapes import Name, Shape
from store import ReadTransaction

_EVENTS: Final = 100


class ReleaseQuery(BaseModel):
    """The name of a release, in the path."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name


class HoldingReason(Shape):
    """What holds a release: an incident, a check that fails or says nothing, or a decision."""

    check_id: str | None
    reason: str
    since: datetime | None
    incident: int | None


class ReleaseEntry(Shape):
    """How a release stands: `hold`, `expired`, `approved` or `clear`."""

    release: str
    table: str
    audience: str | None
    state: str
    since: datetime | None
    approved_with: str | None
    expires_at: datetime | None
    held_by: tuple[HoldingReason, ...]
    why: str


class ReleaseListPage(Shape):
    """`tablewatch.releases-page/1`: the releases of the configuration, in its order."""

    schema_: Literal["tablewatch.releases-page/1"] = Field("tablewatch.releases-page/1", alias="schema")
    as_of: datetime
    releases: tuple[ReleaseEntry, ...]


class ReleasePage(Shape):
    """`tablewatch.release-page/1`: a release and the newest 100 entries of its record; an export has its certificate.

    `standing` is null for a release that is no longer configured.
    """

    schema_: Literal["tablewatch.release-page/1"] = Field("tablewatch.release-page/1", alias="schema")
    as_of: datetime
    release: str
    standing: ReleaseEntry | None
    purpose: str | None
    legal_basis: str | None
    record: tuple[dict[str, Any], ...]
    says: str


def list_releases(project: Project, tx: ReadTransaction, _query: BaseModel, now: datetime) -> ReleaseListPage:
    """Return how all releases stand."""
    return ReleaseListPage(as_of=now, releases=tuple(_line(state) for state in states_now(project, tx)))


def show_release(project: Project, tx: ReadTransaction, query: ReleaseQuery, now: datetime) -> ReleasePage:
    """Return a release.

    Raises:
        Stop: nobody has heard of it.
    """
    record = record_of(project, tx, query.name)
    plain = record.to_json()
    return ReleasePage(
        as_of=now,
        release=query.name,
        standing=None if record.state is None else _line(record.state),
        purpose=plain["purpose"],
        legal_basis=plain["legal_basis"],
        record=tuple(plain["record"][:_EVENTS]),
        says=plain["says"],
    )


def _line(state: ReleaseState) -> ReleaseEntry:
    return ReleaseEntry.model_validate({**state.to_json(), "why": state.why})
