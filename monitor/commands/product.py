"""`tablewatch product`: show data products, their health, downtime and promises."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import From, To, reading, typed_times, window_between
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    help="Show data products, their health, downtime and promises.", no_args_is_help=True, rich_help_panel="Watch"
)


@app.callback()
def _group() -> None:
    """Show data products, their health, downtime and promises."""


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List data products with owner, health, open incidents and the downtime of the last 28 days.

    Example: tablewatch product list
    """
    _emit(ctx.obj, None, start=None, end=None)


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PRODUCT", help="Name under `products`.")],
    from_: From = None,
    to: To = None,
) -> None:
    """Show a data product: owner, consumers, tables, ports, health, incidents, downtime and promises of a period.

    It is down while any of its tables is; moments in which several are count once.

    Example: tablewatch product show orders-360 --from 2026-11-01
    """
    _emit(ctx.obj, name, start=from_, end=to)


def _emit(invocation: Invocation, name: str | None, *, start: str | None, end: str | None) -> None:
    from monitor.config.project import Project

    project = Project.of(invocation)
    names = list(project.config.products)
    if not names:
        problem = Problem("product.none", "no data products", hint="see 'products' in docs/configuration.md")
        raise Stop(ExitCode.NOTHING_SELECTED, problem)
    if name is not None and name not in names:
        problem = unknown_name("product", name, names, see="see 'tablewatch product list'", code="product.none")
        raise Stop(ExitCode.NOTHING_SELECTED, problem)
    from monitor.reporting.terminal_views.products import draw_list, draw_sheet
    from monitor.summaries.products import ProductList, product_states

    now = project.clock.now()
    times = typed_times(project, invocation, now)
    window = window_between(times, now, start=start, end=end)
    with reading(project) as tx:
        states = product_states(project, tx, names if name is None else [name], window, as_of=now)

    def draw(console: "Console") -> None:
        if name is None:
            draw_list(console, states)
        else:
            draw_sheet(console, states[0], zone=project.config.timezone)

    invocation.emit(lambda: ProductList.of(states, now), draw)
