"""The history of a check: its number in at most 500 points, the limits, and the incidents behind it."""

from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, Field

from checks import Check, Status
from incidents import State
from monitor.config import Table
from monitor.config.project import Project
from monitor.summaries.check_numbers import CheckNumber
from monitor.web.views.incidents import IncidentSummary, summaries_of
from monitor.web.views.shapes import Name, Shape, not_there
from store import IncidentFilter, ReadTransaction, Sample

POINTS: Final = 500
_INCIDENTS: Final = 50


class CheckQuery(BaseModel):
    """The id of a check, in the path, and how many days of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Name
    days: Annotated[int, Ge(1), Le(400)] = 90


class CheckPoint(Shape):
    """What a check found in a short time: the newest result of the worst status stands for all `n` of them.

    `usual_low`, `usual_high`: between them the number would have been as usual, by the ratios configured now.
    """

    at: datetime
    status: str
    reason: str | None
    number: float | None
    baseline: float | None
    usual_low: float | None
    usual_high: float | None
    n: int
    failed: int
    unknown: int


class CheckSegment(Shape):
    """What the newest run found in a segment of the table that is followed; `incident` is its open incident."""

    segment: str
    series: str
    status: str
    reason: str | None
    message: str
    incident: int | None


class CheckPage(Shape):
    """`tablewatch.check-history/1`: points in order of time; `number` is read as `what`, in `unit`.

    `low` and `high` are the limits as they are configured now; null where the check has none for this number.
    `segments`: of a check with `by`, those that have measurements of their own.
    """

    schema_: Literal["tablewatch.check-history/1"] = Field("tablewatch.check-history/1", alias="schema")
    as_of: datetime
    since: datetime
    check_id: str
    table: str
    type: str
    severity: str
    why: str | None
    runbook: str | None
    what: str | None
    unit: str | None
    low: float | None
    high: float | None
    points: tuple[CheckPoint, ...]
    incidents: tuple[IncidentSummary, ...]
    segments: tuple[CheckSegment, ...] = ()


def show_check(project: Project, tx: ReadTransaction, query: CheckQuery, now: datetime) -> CheckPage:
    """Return the history of a check.

    Raises:
        Stop: it is not configured.
    """
    table, check = _configured(project, query.id)
    since = now - timedelta(days=query.days)
    number = CheckNumber.of(check)
    samples = tx.results.sampled(query.id, since, now + timedelta(microseconds=1), points=POINTS)
    asked = IncidentFilter(check_ids=(query.id,), tables=(table.name,))
    newest = tx.incidents.page(asked, size=_INCIDENTS).incidents
    behind = [item for item in newest if item.last.resolved_at is None or item.last.resolved_at >= since]
    return CheckPage(
        as_of=now,
        since=since,
        check_id=query.id,
        table=table.name,
        type=check.type,
        severity=check.severity.value,
        why=check.why,
        runbook=project.runbook(check),
        what=number.key,
        unit=number.unit,
        low=number.low,
        high=number.high,
        points=tuple(_point(sample, check, number) for sample in samples),
        segments=() if check.segments is None else _segments(tx, query.id),
        incidents=summaries_of(project, behind, now),
    )


def _segments(tx: ReadTransaction, check_id: str) -> tuple[CheckSegment, ...]:
    lasting = tx.incidents.matching(IncidentFilter(states=(State.OPEN, State.ACKNOWLEDGED), check_ids=(check_id,)))
    incidents = {incident.series: incident.id for incident in lasting}
    return tuple(
        CheckSegment(
            segment=result.message.segment or result.check_id,
            series=result.check_id,
            status=result.status.value,
            reason=None if result.reason is None else result.reason.value,
            message=str(result.message),
            incident=incidents.get(result.check_id),
        )
        for result in tx.results.segments_of(check_id)
    )


def _configured(project: Project, check_id: str) -> tuple[Table, Check]:
    table = project.config.table(check_id.rpartition(".")[0])  # an id has no dot, a table's name may
    check = None if table is None else table.check(check_id)
    if table is not None and check is not None:
        return table, check
    raise not_there("check.unknown", "there is no such check in the configuration")


def _point(sample: Sample, check: Check, number: CheckNumber) -> CheckPoint:
    result = sample.result
    usual_low, usual_high = number.usual(check, result.observed)
    return CheckPoint(
        at=result.measured_at,
        status=result.status.value,
        reason=None if result.reason is None else result.reason.value,
        number=number.read(result.observed),
        baseline=number.baseline(result.observed),
        usual_low=usual_low,
        usual_high=usual_high,
        n=sample.n,
        failed=sample.counts.get(Status.FAIL, 0),
        unknown=sample.counts.get(Status.UNKNOWN, 0),
    )
