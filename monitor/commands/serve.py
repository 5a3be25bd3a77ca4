"""`tablewatch serve`: serve the web pages and the API."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import check_web_installed
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    import socket

    from monitor.config.project import Project

app = typer.Typer(rich_help_panel="Watch")


@app.command()
def serve(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Listen on this address.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Listen on this port; 0 is any.")] = None,
    sign_in: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Print a link that signs NAME in once, as admin."),
    ] = None,
    beside: Annotated[int | None, typer.Option(hidden=True, help="End with the process of this number.")] = None,
) -> None:
    """Serve the web pages and the API, for people and programs that sign in. Tables are checked by 'tablewatch run'.

    Listens on this machine only, unless the section 'web' of the configuration has a way to sign in and an https
    address. Stops on Ctrl-C or SIGTERM.

    Example: tablewatch serve --as mia
    """
    from monitor.config.project import Project
    from monitor.config.team_fallback import load_apart_for
    from monitor.daemon.journal import LOG, keep_journal

    if beside is not None:
        _end_with(beside)
    invocation: Invocation = ctx.obj
    project = Project(load_apart_for(invocation))
    check_web_installed(oidc=project.config.web.oidc is not None)
    from monitor.commands.account import Login, emit_link
    from monitor.verbs.account import check_account_name
    from monitor.web.server import SERVED, make_application
    from monitor.web.server import serve as serve_application
    from store import Grant, WebRole, announced_server

    if sign_in is not None:
        check_account_name(sign_in)
    keep_journal(invocation.redactor, as_json=invocation.as_json)
    with _listener(project, host, port) as listener, project.open_store() as store:
        address = project.config.web.public_url or _address(listener)
        LOG.info("serving %s on %s; Ctrl-C stops it", project.config.project, address)
        if sign_in is None:
            LOG.info("sign in: %s", invocation.typed("tablewatch account login-link --as NAME --role viewer"))
        else:
            emit_link(invocation, store, Login(sign_in, Grant(WebRole.ADMIN)), address, project.clock.now())
        with announced_server(project.config.storage.url, _address(listener)):
            serve_application(make_application(project, store, freshness=SERVED), listener)
    LOG.info("stopped")


def _end_with(parent: int) -> None:
    """End this process when its parent ends, also when that is killed.

    Raises:
        Stop: the parent is another process.
    """
    import os

    from monitor.workers.process_control import die_with_parent

    if parent != os.getppid():
        raise Stop(ExitCode.USAGE, Problem("usage", "--beside is for 'tablewatch run --serve' alone"))
    die_with_parent(parent)


def _listener(project: "Project", host: str | None, port: int | None) -> "socket.socket":
    """Return the socket that was asked for.

    Raises:
        Stop: it would be open to other machines without sign-in and https, or cannot be had.
    """
    from monitor.config.web_model import refused_address
    from monitor.terminal.output_file import reason
    from monitor.web.server import listen

    web = project.config.web
    host, port = web.host if host is None else host, web.port if port is None else port
    refused = refused_address(web, host)
    if refused is not None:
        raise Stop(ExitCode.USAGE, Problem("web.address", refused, hint="see docs/web.md"))
    try:
        return listen(host, port)
    except OSError as error:
        message = f"cannot listen on {host}, port {port}: {reason(error)}"
        raise Stop(ExitCode.USAGE, Problem("web.address", message, hint="--port takes another one")) from None


def _address(listener: "socket.socket") -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
