"""What checks cost and what they find: seconds a day against the downtime they detected and their false positives."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

from annotated_types import MaxLen
from pydantic import BaseModel, ConfigDict, Field

from checks import Check
from checks.classes.arrays import np
from incidents import Downtime, Resolution, Window, measure_by, to_us
from monitor.config import Table
from monitor.config.project import Project
from monitor.summaries.catalogue import RECENT
from monitor.web.views.paging import NameCursorText, page_of_names
from monitor.web.views.shapes import Name, Shape, Size, as_hours
from store import CheckRunTime, ReadTransaction, Result

LAST: Final = 200
"""Runs of each check from which its seconds a day are taken."""
_DAY: Final = timedelta(days=1)


class CheckCostQuery(BaseModel):
    """Which checks to list, by the owners and names of their tables."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    owner: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    text: Name | None = None
    cursor: NameCursorText | None = None
    size: Size = 50


class CheckCost(Shape):
    """A check: what its last runs took, and what it found in the last 28 days.

    `seconds`: of a run, on average. `rows`: that it read in its last run, null where it does not count them.
    `runs_a_day` and `seconds_a_day` are null before its second run. `found_h`: the downtime of the incidents that it
    detected.
    """

    check_id: str
    table: str
    type: str
    runs: int
    seconds: float | None
    rows: int | None
    runs_a_day: float | None
    seconds_a_day: float | None
    incidents: int
    found_h: float
    false_positives: int


class CheckCostPage(Shape):
    """`tablewatch.check-costs/1`: checks by id; `n` counts all that meet the query."""

    schema_: Literal["tablewatch.check-costs/1"] = Field("tablewatch.check-costs/1", alias="schema")
    as_of: datetime
    query: CheckCostQuery
    n: int
    checks: tuple[CheckCost, ...]
    previous: str | None
    following: str | None


def list_check_costs(project: Project, tx: ReadTransaction, query: CheckCostQuery, now: datetime) -> CheckCostPage:
    """Return a page of checks with what they cost and find."""
    checks: Mapping[str, tuple[Table, Check]] = {
        table.check_id(check): (table, check)
        for table in project.config.tables
        for check in table.checks
        if (not query.owner or project.config.owner_of(table) in query.owner)
        and (query.text is None or query.text.casefold() in table.check_id(check).casefold())
    }
    page = page_of_names(list(checks), query.cursor, query.size)
    paces = tx.results.paces(page.names, last=LAST) if page.names else {}
    detected = _detected(project, tx, set(page.names), now)
    results = tx.results.latest(page.names) if page.names else {}
    return CheckCostPage(
        as_of=now,
        query=query,
        n=len(checks),
        checks=tuple(
            _line(
                name,
                *checks[name],
                pace=paces.get(name),
                downtime=detected.get(name),
                rows=_rows(results.get(name)),
            )
            for name in page.names
        ),
        previous=page.previous,
        following=page.following,
    )


def _detected(project: Project, tx: ReadTransaction, names: set[str], now: datetime) -> Mapping[str, Downtime]:
    """Return the downtime of the last 28 days by the check that found it."""
    window = Window.of(now - RECENT, now)
    shared = tx.incidents.shared_spans(window.start_us)
    codes = [code for code, name in enumerate(shared.names) if name in names]
    spans = shared.take(np.flatnonzero(np.isin(shared.check, codes)))
    downtimes = measure_by(
        spans, window, as_of_us=to_us(now), group=spans.check, maintenance=project.maintenance(spans.names)
    )
    return {spans.names[code]: downtime for code, downtime in downtimes.items()}


def _rows(result: Result | None) -> int | None:
    rows = None if result is None else result.observed.get("rows")
    return rows if isinstance(rows, int) else None


def _line(
    name: str, table: Table, check: Check, *, pace: CheckRunTime | None, downtime: Downtime | None, rows: int | None
) -> CheckCost:
    runs_a_day = None
    if pace is not None and pace.last_at > pace.first_at:
        runs_a_day = (pace.n - 1) / ((pace.last_at - pace.first_at) / _DAY)
    seconds = None if pace is None else pace.seconds / pace.n
    false = None if downtime is None else downtime.excluded.get(Resolution.FALSE_POSITIVE.value)
    return CheckCost(
        check_id=name,
        table=table.name,
        type=check.type,
        runs=0 if pace is None else pace.n,
        seconds=seconds,
        rows=rows,
        runs_a_day=runs_a_day,
        seconds_a_day=None if seconds is None or runs_a_day is None else seconds * runs_a_day,
        incidents=0 if downtime is None else downtime.n,
        found_h=0.0 if downtime is None else as_hours(downtime.downtime),
        false_positives=0 if false is None else false.n,
    )
