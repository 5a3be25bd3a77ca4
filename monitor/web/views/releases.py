"""Releases: which are on hold and why, which are approved, and what is on record of each."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from monitor.config.project import Project
from monitor.releases.overview import ReleaseState
from monitor.releases.plan import AS_IT_IS
from monitor.releases.record import record_of, states_now
from monitor.reporting.certificate import certificates
from monitor.web.views.shapes import Name, Shape
from store import ReadTransaction, ReleaseEventKind

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


class ExportTogether(Shape):
    """An earlier export of the table, beside the newest: persons in both, and those whom the two together expose.

    `persons_exposed`: in both, with fewer others than the limit; `persons_left_over`: singled out by being in one only.
    All null where the two cannot be compared.
    """

    export: str
    exported_at: datetime
    persons_in_both: int | None
    persons_exposed: int | None
    persons_left_over: int | None


class ReExport(Shape):
    """What all exports of the table together give away, as it was computed for the newest of them.

    `k`: the strictest that any of them promised. `persons_exposed`, `persons_left_over`: as of a pair, null where the
    exports cannot be compared.
    `persons_elsewhere`: by export of another table, how many persons are in it too.
    """

    exports: int
    newest: str
    newest_at: datetime
    rows: int
    k: int | None
    persons_exposed: int | None
    persons_left_over: int | None
    earlier: tuple[ExportTogether, ...]
    persons_elsewhere: dict[str, int]


class ReleasePage(Shape):
    """`tablewatch.release-page/1`: a release and the newest 100 entries of its record; an export has its certificate.

    `standing` is null for a release that is no longer configured, `together` where its table was not exported yet.
    `remedies`: those that are configured; empty where the usual ones are compared. `export_numbers`: by `id` of an
    entry, the number of the export, the oldest is 1.
    """

    schema_: Literal["tablewatch.release-page/1"] = Field("tablewatch.release-page/1", alias="schema")
    as_of: datetime
    release: str
    standing: ReleaseEntry | None
    purpose: str | None
    legal_basis: str | None
    remedies: tuple[str, ...]
    together: ReExport | None
    record: tuple[dict[str, Any], ...]
    export_numbers: dict[int, int]
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
    release = project.config.releases.get(query.name)
    recipes = () if release is None else release.remedies
    return ReleasePage(
        as_of=now,
        release=query.name,
        standing=None if record.state is None else _line(record.state),
        purpose=plain["purpose"],
        legal_basis=plain["legal_basis"],
        remedies=(AS_IT_IS, *(recipe.name for recipe in recipes)) if recipes else (),
        together=None if release is None else _together(tx, release.table),
        record=tuple(plain["record"][:_EVENTS]),
        export_numbers={item.event.id: item.number for item in certificates(record.exports)},
        says=plain["says"],
    )


def _together(tx: ReadTransaction, table: str) -> ReExport | None:
    """Return what the newest certificate of a table says about it and all earlier exports."""
    exports = [
        event
        for event in tx.release_events.matching(kind=ReleaseEventKind.EXPORTED)
        if event.body.get("table") == table
    ]
    if not exports:
        return None
    newest = exports[-1]
    body: Mapping[str, Any] = newest.body
    return ReExport(
        exports=len(exports),
        newest=body["file"],
        newest_at=newest.recorded_at,
        rows=body["rows"],
        k=(body.get("promised_together") or {}).get("k"),
        persons_exposed=_exposed(body),
        persons_left_over=_most(body, "persons_left_over"),
        earlier=tuple(ExportTogether.model_validate(item) for item in (body.get("earlier") or ())[-_EVENTS:]),
        persons_elsewhere=body.get("persons_elsewhere") or {},
    )


def _exposed(certificate: Mapping[str, Any]) -> int | None:
    """Return how many persons all exports together expose; the first export exposes those whom it does alone.

    A certificate has a figure of all only where three or more can be compared, else it is that of the pair.
    """
    of_all: int | None = certificate.get("exposed_by_all")
    if of_all is not None:
        return of_all
    if certificate.get("earlier") == []:
        alone: int | None = (certificate["reached"].get("persons") or {}).get("persons_exposed")
        return alone
    return _most(certificate, "persons_exposed")


def _most(certificate: Mapping[str, Any], word: str) -> int | None:
    """Return the largest figure of any earlier export; None where one of them cannot be compared."""
    figures = [item.get(word) for item in certificate.get("earlier") or ()]
    return max(figures) if figures and None not in figures else None


def _line(state: ReleaseState) -> ReleaseEntry:
    return ReleaseEntry.model_validate({**state.to_json(), "why": state.why})
