"""`tablewatch import contract`: a data contract as configuration."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._import_results import note_not_taken, present_project
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Stop

if TYPE_CHECKING:
    from rich.console import Console


def import_contract(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.odcs.yaml", help="Contract of ODCS 3, as YAML.")],
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Configured source of the tables; by default the server.")
    ] = None,
) -> None:
    """Print a data contract (ODCS 3.1) as configuration: sources, owner, tables, checks, service levels.

    With a configuration, print only what it does not have. What is not taken is listed with its line and the reason.

    Example: tablewatch import contract orders.odcs.yaml > tablewatch.yaml
    """
    from monitor.integrations.odcs import propose_contract
    from monitor.integrations.odcs_document import UnreadableContract

    invocation: Invocation = ctx.obj
    try:
        proposal = propose_contract(file, present_project(invocation), source=source)
    except UnreadableContract as error:
        raise Stop(ExitCode.USAGE, error.problem) from None
    note_not_taken(invocation, proposal.not_taken)
    new = f"{count(proposal.tables, 'table')}, {count(proposal.checks, 'check')}"
    invocation.note(f"new: {new}; {len(proposal.not_taken)} keys of the contract not taken")
    result = {
        "schema": "tablewatch.import-contract/1",
        "ok": True,
        "yaml": proposal.text,
        "tables": proposal.tables,
        "checks": proposal.checks,
        "not_taken": [{"name": item.name, "reason": item.reason} for item in proposal.not_taken],
    }

    def draw(console: "Console") -> None:
        from monitor.terminal.console import print_plain

        print_plain(console, proposal.text)

    invocation.emit(result, draw)
