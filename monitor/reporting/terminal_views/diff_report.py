"""What two tables differ in, as a person reads it."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from checks import Misconfigured
from checks.diff import Diff
from monitor.reporting.terminal_views.pass_report import pass_lines
from monitor.scan.results import PassResult, Target
from monitor.scan.two_tables import differing_rows
from monitor.terminal.redaction import visible
from monitor.terminal.tables import draw_table
from sources import SourceError

if TYPE_CHECKING:
    from rich.console import Console


def draw_diff(console: "Console", report: PassResult) -> None:
    """Print the result of a comparison, and its counts."""
    for line in pass_lines(report):
        console.print(line)
    (result,) = report.results
    observed: Any = result.outcome.observed
    if "differences" not in observed:
        return
    console.print()
    rows = (
        ("rows", "left_rows", "right_rows"),
        ("only here", "only_left", "only_right"),
        ("changed", "changed", "changed"),
        ("keys of several rows", "left_repeated", "right_repeated"),
    )
    cells = [(name, f"{observed[left]:,}", f"{observed[right]:,}") for name, left, right in rows]
    draw_table(console, ("", f">{result.table}", f">{getattr(result.check, 'against', '')}"), cells)
    changed = [(name, f"{number:,}") for name, number in observed["columns"].items() if number]
    if changed:
        console.print()
        draw_table(console, ("~column", ">changed rows"), changed)


def draw_rows(console: "Console", left: Target, right: Target, check: Diff, now: datetime, *, limit: int) -> None:
    """Print some of the rows that differ. They are data: for the terminal only, never stored or written to a file."""
    try:
        rows = differing_rows(left, right, check, now, limit=limit)
    except (SourceError, Misconfigured) as error:
        console.print(Text(f"the rows cannot be listed: {error}"))
        return
    if not rows:
        return
    table = Table(title="differing rows", title_justify="left")
    names = [name for name in rows[0][1] if name != "place"]
    for name in ("table", *names):
        table.add_column(visible(name))
    for side, row in rows:
        cells = ("NULL" if row[name] is None else visible(str(row[name])) for name in names)
        table.add_row(visible(side), *cells)
    console.print(table)
