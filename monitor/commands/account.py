"""`tablewatch account`: manage users, login links and API tokens of the web pages."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from monitor.commands._options import check_web_installed, reading, who
from monitor.commands._verb_command import add_verbs
from monitor.terminal.output import Invocation
from monitor.verbs.account import END_SESSION, OF_TOKENS, OF_USERS, RoleWord, check_account_name, granted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from monitor.config.project import Project
    from monitor.summaries.account import AccountListPage, SessionPage, TokenPage, UserPage
    from store import Grant, Store

app = typer.Typer(
    help="Manage users, login links and API tokens of the web pages.", no_args_is_help=True, rich_help_panel="Set up"
)
user = typer.Typer(help="Users who sign in by a password, or by a proxy.", no_args_is_help=True)
token = typer.Typer(help="Tokens with which programs use the API.", no_args_is_help=True)
session = typer.Typer(help="Browsers that are signed in.", no_args_is_help=True)
app.add_typer(user, name="user")
app.add_typer(token, name="token")
app.add_typer(session, name="session")


@app.callback()
def _group() -> None:
    """Manage who may use the web pages and the API of 'tablewatch serve'."""


@user.callback()
def _users() -> None:
    """Add, list, change and remove users."""


@token.callback()
def _tokens() -> None:
    """Add, list and revoke API tokens."""


@session.callback()
def _sessions() -> None:
    """List and end sessions."""


@app.command("login-link")
def login_link(
    ctx: typer.Context,
    as_: Annotated[str, typer.Option("--as", metavar="NAME", help="Who signs in.")],
    role: Annotated[RoleWord, typer.Option(help="What they may do.")] = RoleWord.VIEWER,
    owner: Annotated[
        list[str] | None,
        typer.Option("--owner", help="Act on or ask about tables of this owner only. Repeatable."),
    ] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option("--domain", help="Act on or ask about tables of this domain only. Repeatable."),
    ] = None,
) -> None:
    """Print a link that signs a user in once, within 10 minutes.

    Example: tablewatch account login-link --as mia --role responder
    """
    from monitor.config.project import Project
    from monitor.verbs.verb import Acting
    from store import server_address

    check_web_installed()
    check_account_name(as_)
    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with project.open_store(existing=True) as store:
        acting = Acting(project, store, who(None), named=lambda field: f"--{field}")
        login = Login(as_, granted(acting, role, owner or (), domain or ()))
        web = project.config.web
        address = web.public_url or server_address(project.config.storage.url) or f"http://{web.listen}"
        emit_link(invocation, store, login, address, project.clock.now())


class Login(NamedTuple):
    """A user to be signed in, and their role."""

    name: str
    grant: "Grant"


def emit_link(invocation: Invocation, store: "Store", login: Login, address: str, now: "datetime") -> None:
    """Print a new login link below an address."""
    from monitor.verbs.account_secrets import make_link

    with store.writing() as tx:
        secret = make_link(tx, login.name, login.grant, now)
    url = f"{address.rstrip('/')}/sign-in/link?token={secret}"
    result = {"schema": "tablewatch.login_link/1", "name": login.name, "role": login.grant.role.value, "url": url}
    _emit_secret(invocation, result, url)


@user.command("list")
def list_users(ctx: typer.Context) -> None:
    """List users.

    Example: tablewatch account user list
    """
    check_web_installed()
    users = _accounts(ctx.obj).users
    rows = [
        (item.name, item.described, "yes" if item.password else "no", f"{item.created_at:%Y-%m-%d}") for item in users
    ]
    result = {"schema": "tablewatch.web_users/1", "users": [item.plain() for item in users]}
    _emit_rows(ctx.obj, result, ("user", "~role", "password", "added"), rows, "no users")


@token.command("list")
def list_tokens(ctx: typer.Context) -> None:
    """List API tokens, without the tokens themselves.

    Example: tablewatch account token list
    """
    check_web_installed()
    tokens = _accounts(ctx.obj).tokens
    rows = [
        (item.name, item.described, item.state.value, f"{item.expires_at:%Y-%m-%d}", str(item.last_used or "never"))
        for item in tokens
    ]
    result = {"schema": "tablewatch.api_tokens/1", "tokens": [item.plain() for item in tokens]}
    _emit_rows(ctx.obj, result, ("token", "~role", "state", "expires", "last used"), rows, "no API tokens")


@session.command("list")
def list_sessions(ctx: typer.Context) -> None:
    """List the sessions that last.

    Example: tablewatch account session list
    """
    check_web_installed()
    sessions = _accounts(ctx.obj).sessions
    rows = [
        (item.id, item.name, item.described, item.method.value, f"{item.seen_at:%Y-%m-%d %H:%M}") for item in sessions
    ]
    result = {"schema": "tablewatch.web_sessions/1", "sessions": [item.plain() for item in sessions]}
    _emit_rows(ctx.obj, result, ("session", "user", "~role", "signed in by", "last used (UTC)"), rows, "no sessions")


def _accounts(invocation: Invocation) -> "AccountListPage":
    from monitor.config.project import Project
    from monitor.summaries.account import AccountListPage
    from monitor.verbs.account_secrets import lasts

    project = Project.of(invocation)
    with reading(project) as tx:
        return AccountListPage.read(tx, project.clock.now(), lasts)


def _emit_rows(
    invocation: Invocation,
    result: "Mapping[str, Any]",
    heads: "Sequence[str]",
    rows: "Sequence[Sequence[str]]",
    none: str,
) -> None:
    from monitor.terminal.tables import draw_table

    invocation.emit(result, lambda console: draw_table(console, heads, rows) if rows else console.print(none))


def _present_user(invocation: Invocation, _: "Project", __: "Store", done: "UserPage") -> None:
    text = "was removed and is signed out" if done.removed else f"is {done.described}"
    invocation.emit(done, lambda console: console.print(f"user {done.name} {text}"))


def _present_token(invocation: Invocation, _: "Project", __: "Store", done: "TokenPage") -> None:
    if done.token is not None:
        _emit_secret(invocation, done.plain(), done.token)
    else:
        invocation.emit(done, lambda console: console.print(f"API token {done.name} is revoked"))


def _present_session(invocation: Invocation, _: "Project", __: "Store", done: "SessionPage") -> None:
    invocation.emit(done, lambda console: console.print(f"session {done.id} of {done.name} has ended"))


def _emit_secret(invocation: Invocation, result: "Mapping[str, Any]", secret: str) -> None:
    """Show a new secret to the user who made it: the only output that must not be masked."""
    from monitor.terminal.redaction import Redactor

    shown = Invocation(invocation.config_path, invocation.format, Redactor(urls=False))
    shown.emit(result, lambda console: console.print(secret))


add_verbs(user, "account user", OF_USERS, _present_user, require=check_web_installed)
add_verbs(token, "account token", OF_TOKENS, _present_token, require=check_web_installed)
add_verbs(session, "account session", [END_SESSION], _present_session, require=check_web_installed)
