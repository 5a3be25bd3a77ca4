"""`tablewatch mcp`: answer an AI assistant over the Model Context Protocol."""

from typing import Annotated

import typer

from monitor.terminal.output import Invocation

app = typer.Typer(rich_help_panel="Watch")


@app.command()
def mcp(
    ctx: typer.Context,
    act_as: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Also offer to log, acknowledge and comment on incidents, recorded as NAME."),
    ] = None,
) -> None:
    """Answer an AI assistant on standard input and output (Model Context Protocol), until the input ends.

    It can ask for status, incidents, tables, downtime, releases, alerts and checks. No row and no value of a table is
    among the answers. Without --act-as it cannot change anything.

    Example: tablewatch -c shop mcp --act-as mia
    """
    from monitor.config.project import Project
    from sources import require_extra

    require_extra("mcp")
    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    if act_as is not None:
        from monitor.verbs.account import check_account_name

        check_account_name(act_as)
    from monitor.web.mcp_server import Assistant, serve_stdio

    with project.open_store(existing=True) as store:
        serve_stdio(Assistant(project, store, act_as))
