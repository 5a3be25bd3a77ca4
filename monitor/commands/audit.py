"""`tablewatch audit`: show how often what the product states came true."""

import typer

from monitor.commands._options import From, To, reading, typed_times, window_between
from monitor.terminal.output import Invocation

app = typer.Typer(rich_help_panel="Incidents and cost")


@app.command()
def audit(ctx: typer.Context, from_: From = None, to: To = None) -> None:
    """Show how often printed probabilities, bounds and rates came true, with a 95 % interval, beside the promise.

    By default over all history that is kept. The source tables are not read.

    Example: tablewatch audit --from 2026-10-01
    """
    from monitor.config.project import Project
    from monitor.reporting.terminal_views.audit import draw_audit
    from monitor.summaries.audit import audit_promises

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    now = project.clock.now()
    times = typed_times(project, invocation, now)
    window = None if from_ is None and to is None else window_between(times, now, start=from_, end=to)
    with reading(project) as tx:
        result = audit_promises(project, tx, now, window)
    invocation.emit(result, lambda console: draw_audit(console, result))
