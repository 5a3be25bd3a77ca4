"""Print how often each kind of statement came true, and which kinds are not scored."""

from typing import TYPE_CHECKING

from monitor.reporting.words import LEVEL_VERDICTS
from monitor.summaries.audit import PromiseAudit, StatementLine
from monitor.terminal.tables import draw_table

if TYPE_CHECKING:
    from rich.console import Console


def draw_audit(console: "Console", audit: PromiseAudit) -> None:
    """Print an audit."""
    columns = ("~statement", "promised", ">true", ">of", "95 % interval", "kept")
    draw_table(console, columns, [_row(line) for line in audit.scored])
    console.print()
    for line in audit.scored:
        console.print(f"{line.kind}: {line.observed}. {' '.join(map(str, line.notes))}".rstrip(), markup=False)
    console.print("\nNot scored:")
    rows = [(str(line.statement), str(line.why), str(line.remedy)) for line in audit.not_scored]
    draw_table(console, ("~statement", "~why", "~scored with"), rows)


def _row(line: StatementLine) -> tuple[str | None, ...]:
    return (
        str(line.statement),
        None if line.promise is None else str(line.promise),
        f"{line.true:,}",
        f"{line.made:,}",
        None if line.interval is None else str(line.interval),
        None if line.verdict is None else str(LEVEL_VERDICTS[line.verdict]),
    )
