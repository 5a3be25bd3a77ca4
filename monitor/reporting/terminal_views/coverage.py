"""Print what no check is of: the figures, and the tables, the worst first."""

from typing import TYPE_CHECKING, Final

from monitor.config.project import Project
from monitor.summaries.coverage import CheckCoverage
from monitor.terminal.output import count
from monitor.terminal.tables import draw_table
from monitor.triage.create import tidy

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN: Final = 5


def draw_coverage(console: "Console", project: Project, coverage: CheckCoverage) -> None:
    """Print the coverage of a project."""
    columns = [
        ">#",
        "~table",
        "tier",
        ">rows",
        ">used by",
        *([">an hour"] if project.priced else []),
        "~what is missing",
    ]
    rows = []
    for number, line in enumerate(coverage.lines, start=1):
        price = [] if not project.priced else [_price(coverage, line.amount)]
        used = str(len(line.consumers) + line.downstream)
        size = None if line.rows is None else f"{line.rows:,}"
        rows.append([str(number), line.table, line.tier, size, used, *price, "; ".join(map(str, line.gaps))])
    if rows:
        draw_table(console, columns, rows)
    if coverage.more:
        console.print(f"and {count(coverage.more, 'more table')}; see --limit")
    silent = f"{coverage.silent:,} without a check that ran"
    cost = f", {_price(coverage, coverage.amount)} an hour" if project.priced and coverage.silent else ""
    console.print(f"{count(coverage.tables, 'table')}: {silent}{cost}")
    console.print(f"{count(coverage.checks, 'check')}: {coverage.never_run:,} never ran")
    unknown = f"; those of {count(coverage.unknown_columns, 'table')} are not known" if coverage.unknown_columns else ""
    console.print(f"{count(coverage.columns, 'column')}: {coverage.unchecked_columns:,} in no check{unknown}")
    for source, names in (coverage.unlisted or {}).items():
        if names:
            more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
            shown = ", ".join(map(tidy, names[:_SHOWN]))
            console.print(f"not configured in source {source}: {shown}{more}", markup=False)


def _price(coverage: CheckCoverage, amount: float | None) -> str:
    return "-" if amount is None else f"{coverage.currency} {amount:,}"
