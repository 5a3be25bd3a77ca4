"""Releases: which are on hold or approved, what is on record of each, and for stewards how its remedies compare."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, Field

from monitor.config.project import Project
from monitor.releases.compare import HOLDS
from monitor.releases.overview import ExplainedRelease, ReleaseState
from monitor.releases.plan import AS_IT_IS, RemedyKind
from monitor.releases.record import record_of, states_now
from monitor.releases.state import digest_of
from monitor.releases.utility_figures import UtilityFigures
from monitor.reporting.release_record import certificates
from monitor.reporting.releases import why
from monitor.summaries.shapes import Moment, Sentence, Shape
from monitor.verbs.release import ReleaseName
from monitor.web.views.shapes import not_there
from store import ReadTransaction, ReleaseEventKind, StoredComparison

_EVENTS: Final = 100


class ReadRelease(ExplainedRelease):
    """How a release stands, and why; `sentences` is `why`, as pages have it in the reader's language."""

    sentences: tuple[Sentence, ...] = Field((), exclude=True)


class ReleaseListPage(Shape):
    """`tablewatch.releases-page/1`: the releases of the configuration, in its order."""

    schema_: Literal["tablewatch.releases-page/1"] = Field("tablewatch.releases-page/1", alias="schema")
    as_of: Moment
    releases: tuple[ReadRelease, ...]


class ExportTogether(Shape):
    """An earlier export of the table, beside the newest: people in both, and those exposed by the two together.

    `persons_exposed`: in both, with fewer others than the limit; `persons_left_over`: singled out by being in one only.
    All null where the two cannot be compared. `groups_by_difference`: by sensitive column, groups of which the rows
    that one has more than the other break a limit; empty for exports of earlier versions.
    """

    export: str
    exported_at: Moment
    persons_in_both: int | None
    persons_exposed: int | None
    persons_left_over: int | None
    groups_by_difference: Mapping[str, int] = {}

    @property
    def groups(self) -> int:
        """Count the groups of all sensitive columns."""
        return sum(self.groups_by_difference.values())


class ReExport(Shape):
    """What all exports of the table together give away, as it was computed for the newest of them.

    `k`: the strictest that any of them promised. `persons_exposed`, `persons_left_over`: as of a pair, null where the
    exports cannot be compared.
    `persons_elsewhere`: by export of another table, how many people are in it too.
    """

    exports: int
    newest: str
    newest_at: Moment
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
    as_of: Moment
    release: str
    standing: ReadRelease | None
    purpose: str | None
    legal_basis: str | None
    remedies: tuple[str, ...]
    together: ReExport | None
    record: tuple[dict[str, Any], ...]
    export_numbers: dict[int, int]
    says: str


def list_releases(project: Project, tx: ReadTransaction, _query: BaseModel, now: datetime) -> ReleaseListPage:
    """Return how all releases stand."""
    return ReleaseListPage(as_of=now, releases=tuple(_entry(state) for state in states_now(project, tx)))


def show_release(project: Project, tx: ReadTransaction, query: ReleaseName, now: datetime) -> ReleasePage:
    """Return a release.

    Raises:
        Stop: it is unknown.
    """
    record = record_of(project, tx, query.name)
    plain = record.to_json()
    release = project.config.releases.get(query.name)
    recipes = () if release is None else release.remedies
    return ReleasePage(
        as_of=now,
        release=query.name,
        standing=None if record.state is None else _entry(record.state),
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
    """Return how many people all exports together expose; for the first export those exposed by it alone.

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


def _entry(state: ReleaseState) -> ReadRelease:
    return ReadRelease.of(state, sentences=tuple(why(state)))


class RemedyOutcome(Shape):
    """What came of a remedy: `holds`, `refused`, `not-tried`, `crashed` or `answers` (which has no records).

    `highest_risk` and `lost`: 0 to 1, null where they are not measured. Figures are rounded.
    """

    number: int
    remedy: str
    kind: str
    status: str
    why: str | None
    k: int | None
    highest_risk: float | None
    l: float | None
    t: float | None
    epsilon: str | None
    suppressed: int | None
    lost: float | None
    seconds: float | None
    recommended: bool


class ReleaseComparisonPage(Shape):
    """`tablewatch.release-comparison-page/1`: null and empty before the remedies were compared.

    `is_current`: whether the release is configured now as it was then; the table may have changed all the same.
    """

    schema_: Literal["tablewatch.release-comparison-page/1"] = Field(
        "tablewatch.release-comparison-page/1", alias="schema"
    )
    as_of: Moment
    release: str
    table: str
    compared_at: Moment | None
    is_current: bool
    rows: int | None
    rows_of_table: int | None
    least_k: int | None
    reason: str | None
    remedies: tuple[RemedyOutcome, ...]
    figures: UtilityFigures | None


def show_comparison(project: Project, tx: ReadTransaction, query: ReleaseName, now: datetime) -> ReleaseComparisonPage:
    """Return how the remedies of a release compared last; the table is not read.

    Raises:
        Stop: the release is not configured.
    """
    release = project.config.releases.get(query.name)
    if release is None:
        raise not_there("release.unknown", "there is no such release in the configuration")
    stored = tx.release_events.comparison(query.name)
    body: Mapping[str, Any] = {} if stored is None else stored.body
    return ReleaseComparisonPage(
        as_of=now,
        release=query.name,
        table=release.table,
        compared_at=None if stored is None else stored.compared_at,
        is_current=stored is not None and stored.digest == digest_of(query.name, release),
        rows=body.get("rows"),
        rows_of_table=body.get("rows_of_table"),
        least_k=body.get("least_k"),
        reason=body.get("reason"),
        remedies=() if stored is None else _remedies(stored),
        figures=None if body.get("figures") is None else UtilityFigures.model_validate(body["figures"]),
    )


def _remedies(stored: StoredComparison) -> tuple[RemedyOutcome, ...]:
    body: Mapping[str, Any] = stored.body
    return tuple(
        _outcome(number, item, is_best=item["remedy"] == body["recommended"])
        for number, item in enumerate(body["remedies"], start=1)
    )


def _outcome(number: int, item: Mapping[str, Any], *, is_best: bool) -> RemedyOutcome:
    reached, loss = item["reached"], item["mean_information_lost"]
    return RemedyOutcome(
        number=number,
        remedy=item["remedy"],
        kind=item["kind"],
        status=item["status"],
        why=item["why"],
        k=_weakest(reached.get("k"), min),
        highest_risk=reached.get("highest_risk"),
        l=_weakest(reached.get("l"), min),
        t=_weakest(reached.get("t"), max),
        epsilon=item["epsilon"],
        suppressed=item["suppressed"],
        lost=None if loss is None else round(loss / 100, 2),
        seconds=item["seconds"],
        recommended=is_best,
    )


def _weakest(value: Any, weaker: Any) -> Any:
    """Return a figure of a table; of one for each sensitive column the weakest."""
    return weaker(value.values(), default=None) if isinstance(value, Mapping) else value


def is_plotted(outcome: RemedyOutcome) -> bool:
    """Check whether risk and loss of a remedy are known; a randomised table has no such risk."""
    of_table = outcome.kind == RemedyKind.TABLE.value
    return of_table and bool(outcome.highest_risk) and outcome.lost is not None


def meets_limits(outcome: RemedyOutcome) -> bool:
    """Check whether a remedy meets every limit."""
    return outcome.status == HOLDS
