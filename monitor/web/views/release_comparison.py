"""How the remedies of a release compare, as `tablewatch release compare` found last: for stewards, who choose one."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from monitor.config.project import Project
from monitor.releases.compare import HOLDS
from monitor.releases.plan import RemedyKind
from monitor.releases.state import digest_of
from monitor.web.views.releases import ReleaseQuery
from monitor.web.views.shapes import Shape, not_there
from store import ReadTransaction, StoredComparison


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
    """`tablewatch.release-comparison-page/1`: null and empty before anybody has compared the remedies.

    `is_current`: whether the release is configured now as it was then; the table may have changed all the same.
    """

    schema_: Literal["tablewatch.release-comparison-page/1"] = Field(
        "tablewatch.release-comparison-page/1", alias="schema"
    )
    as_of: datetime
    release: str
    table: str
    compared_at: datetime | None
    is_current: bool
    rows: int | None
    rows_of_table: int | None
    least_k: int | None
    reason: str | None
    remedies: tuple[RemedyOutcome, ...]


def show_comparison(project: Project, tx: ReadTransaction, query: ReleaseQuery, now: datetime) -> ReleaseComparisonPage:
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
    )


def _remedies(stored: StoredComparison) -> tuple[RemedyOutcome, ...]:
    body: Mapping[str, Any] = stored.body
    return tuple(
        _outcome(number, item, is_best=item["remedy"] == body["recommended"])
        for number, item in enumerate(body["remedies"], start=1)
    )


def _outcome(number: int, item: Mapping[str, Any], *, is_best: bool) -> RemedyOutcome:
    reached, lost = item["reached"], item["mean_information_lost"]
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
        lost=None if lost is None else round(lost / 100, 2),
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
