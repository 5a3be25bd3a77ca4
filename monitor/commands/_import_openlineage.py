"""`tablewatch import openlineage`: what feeds the tables, from events of other tools."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._import_results import note_not_taken
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Stop

if TYPE_CHECKING:
    from rich.console import Console


def import_openlineage(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="OpenLineage events: one a line, or a JSON list.")],
) -> None:
    """Print what feeds the configured tables, as `upstream` to add to them. Nothing is written.

    Example: tablewatch import openlineage events.jsonl
    """
    from monitor.config.project import Project
    from monitor.integrations.openlineage import UnreadableEvents, read_lineage

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    try:
        lineage = read_lineage(project, file)
    except UnreadableEvents as error:
        raise Stop(ExitCode.USAGE, error.problem) from None
    note_not_taken(invocation, lineage.not_taken)
    invocation.note(
        f"{count(len(lineage.upstream), 'table')} with lineage, {len(lineage.new)} of them with tables that are new"
    )
    result = {
        "schema": "tablewatch.import-openlineage/1",
        "ok": True,
        "tables": [
            {"table": name, "upstream": list(tables), "new": list(lineage.new.get(name, ()))}
            for name, tables in lineage.upstream.items()
        ],
        "not_taken": [{"name": item.name, "reason": item.reason} for item in lineage.not_taken],
    }

    def draw(console: "Console") -> None:
        import yaml

        from monitor.terminal.console import print_plain

        for name, tables in lineage.new.items():
            both = [*(current.upstream if (current := project.config.table(name)) else ()), *tables]
            text = yaml.safe_dump({"upstream": both}, default_flow_style=None, allow_unicode=True, width=10**6)
            print_plain(console, f"# table {name}\n{text.strip()}\n")

    invocation.emit(result, draw)
