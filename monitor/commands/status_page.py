"""`tablewatch status-page`: publish a page and a badge that say whether data may be used."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import Force, LocaleWord, check_web_installed, reading
from monitor.commands._verb_command import add_verbs
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name
from monitor.verbs.status_page import ADD, REVOKE, ROTATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from monitor.config.project import Project
    from monitor.summaries.status_address import StatusAddressLine
    from store import StatusAddress, StatusScope, Store

app = typer.Typer(
    help="Publish a page and a badge that say whether data may be used.",
    no_args_is_help=True,
    rich_help_panel="Watch",
)


@app.callback()
def _group() -> None:
    """Publish a page and a badge that say whether data may be used, without signing in."""


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List the addresses that hold, newest first, without their secret parts.

    Example: tablewatch status-page list
    """
    from monitor.config.project import Project
    from monitor.summaries.status_address import StatusAddressLine, StatusAddressListPage

    invocation: Invocation = ctx.obj
    project = Project.of(invocation, lazily=True)
    with reading(project) as tx:
        page = StatusAddressListPage(addresses=tuple(map(StatusAddressLine.of, tx.status_addresses.valid())))
    invocation.emit(page, lambda console: _draw(console, project, page.addresses))


@app.command()
def write(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the files.")],
    table: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Table. Repeatable.")] = None,
    product: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Data product. Repeatable.")] = None,
    locale: Annotated[LocaleWord | None, typer.Option(help="Language; by default the project's.")] = None,
    force: Force = False,
) -> None:
    """Write pages and badges as files, for a site that serves them: KIND-NAME.html and KIND-NAME.svg.

    Without --table and --product, those of every data product. They say as of when they were written.

    Example: tablewatch status-page write public --product orders-360 --force
    """
    from urllib.parse import quote

    from monitor.config.project import Project
    from monitor.terminal.output_file import write_text
    from monitor.web.status_pages import badge_of
    from monitor.web.views.consumer_status import consumer_status, status_html

    check_web_installed()
    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    language, now = (locale or project.config.locale), project.clock.now()
    texts: dict[str, str] = {}
    with reading(project) as tx:
        for scope, name in _named(project, table or [], product or []):
            status = consumer_status(project, tx, scope, name, now)
            file = quote(f"{scope}-{name}", safe=" ")
            texts[f"{file}.html"] = status_html(project, status, str(language))[0]
            texts[f"{file}.svg"] = badge_of(status)
    for file, text in texts.items():
        write_text(folder / file, text, protected=project.protected_files, force=force, code="status_page.out")
    result = {"schema": "tablewatch.status-files/1", "files": [str(folder / file) for file in texts]}
    invocation.emit(result, lambda console: console.print("\n".join(str(folder / file) for file in texts)))


def _named(
    project: "Project", tables: "Sequence[str]", products: "Sequence[str]"
) -> "Iterator[tuple[StatusScope, str]]":
    """Yield what was named, else every data product.

    Raises:
        Stop: one is not configured, or nothing was named and there is no data product.
    """
    from monitor.triage.create import unknown_table
    from store import StatusScope

    config = project.config
    for name in tables:
        if (problem := unknown_table(name, config)) is not None:
            raise Stop(ExitCode.USAGE, problem)
        yield StatusScope.TABLE, name
    for name in products or ([] if tables else config.products):
        if name not in config.products:
            raise Stop(ExitCode.USAGE, unknown_name("product", name, config.products))
        yield StatusScope.PRODUCT, name
    if not (tables or products or config.products):
        problem = Problem("status_page.none", "there is no data product", hint="name a table with --table")
        raise Stop(ExitCode.NOTHING_SELECTED, problem)


def _present(
    invocation: Invocation, project: "Project", _: "Store", done: "StatusAddress | tuple[StatusAddress, str]"
) -> None:
    from monitor.summaries.status_address import StatusAddressPage
    from monitor.terminal.redaction import Redactor
    from store import server_address

    if not isinstance(done, tuple):
        page = StatusAddressPage.of(done)
        invocation.emit(page, lambda console: console.print(f"address {page.id} of {page.name} is revoked"))
        return
    base = project.config.web.public_url or server_address(project.config.storage.url)
    made = StatusAddressPage.made(*done, base)
    shown = Invocation(invocation.config_path, invocation.format, Redactor(urls=False))
    address = f"{(base or f'http://{project.config.web.listen}').rstrip('/')}{made.path}"
    shown.emit(made, lambda console: console.print(f"{address}\n{address}/badge.svg"))


def _draw(console: "Console", project: "Project", addresses: "Sequence[StatusAddressLine]") -> None:
    from monitor.terminal.tables import draw_table
    from monitor.triage.time_parsing import format_time

    if not addresses:
        console.print("no addresses")
        return
    zone = project.config.timezone
    rows = [
        (str(item.id), f"{item.scope.value} {item.name}", format_time(item.created_at, zone), item.by)
        for item in addresses
    ]
    draw_table(console, (">#", "~of", "made", "~by"), rows)


add_verbs(app, "status-page", [ADD, ROTATE, REVOKE], _present)
