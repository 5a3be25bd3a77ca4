"""Show the keys that break a check, on a terminal and nowhere else: they are data, neither kept nor written."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from checks import Misconfigured, Status
from monitor.config.project import Project
from monitor.scan.planner import offending_keys
from monitor.scan.results import CheckResult, targets_of
from monitor.scan.sql_template import TimeLiterals
from monitor.terminal.redaction import visible
from sources import SourceError, open_source


def shown_keys(project: Project, results: Sequence[CheckResult], *, limit: int) -> Sequence[Table]:
    """Return a table of up to `limit` offending keys for each failed check of a key."""
    current_results = (
        (result, _keys(project, result, limit)) for result in results if result.outcome.status is Status.FAIL
    )
    return [_draw(item, rows) for item, rows in current_results if rows]


def _keys(project: Project, result: CheckResult, limit: int) -> Sequence[Mapping[str, Any]]:
    (target,) = targets_of(project, {result.table: [result.check.name]})
    try:
        with open_source(target.source) as source:
            statement = offending_keys(target.subject, result.check, source, limit=limit)
            return [] if statement is None else source.fetch(statement.fill(result.measured_at, TimeLiterals(source)))
    except (SourceError, Misconfigured):  # it could be reached a moment ago; the verdict was said already
        return []


def _draw(result: CheckResult, rows: Sequence[Mapping[str, Any]]) -> Table:
    drawn = Table(title=visible(result.check_id), title_justify="left")
    for name in rows[0]:
        drawn.add_column(visible(name))
    for row in rows:
        drawn.add_row(*("NULL" if value is None else visible(str(value)) for value in row.values()))
    return drawn
