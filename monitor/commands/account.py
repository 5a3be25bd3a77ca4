"""`tablewatch account`: manage users, login links and API tokens of the web pages."""

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import typer

from monitor.commands._options import check_web_installed, reading, typed_times
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from monitor.config.project import Project
    from store import Grant, Store


class RoleWord(StrEnum):
    """Roles of users."""

    VIEWER = "viewer"
    RESPONDER = "responder"
    OWNER = "owner"
    STEWARD = "steward"
    ADMIN = "admin"
    ASK = "ask"


class TokenRoleWord(StrEnum):
    """Roles of API tokens."""

    VIEWER = "viewer"
    RESPONDER = "responder"
    OWNER = "owner"
    ASK = "ask"


Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and . _ @ + -")]
Owners: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--owner", help="Act on or ask about tables of this owner only. Repeatable."),
]
Domains: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--domain", help="Act on or ask about tables of this domain only. Repeatable."),
]

app = typer.Typer(
    help="Manage users, login links and API tokens of the web pages.", no_args_is_help=True, rich_help_panel="Set up"
)
user = typer.Typer(help="Users who sign in by a password, or by a proxy.", no_args_is_help=True)
token = typer.Typer(help="Tokens with which programs use the API.", no_args_is_help=True)
app.add_typer(user, name="user")
app.add_typer(token, name="token")


@app.callback()
def _group() -> None:
    """Manage who may use the web pages and the API of 'tablewatch serve'."""


@user.callback()
def _users() -> None:
    """Add, list and remove users."""


@token.callback()
def _tokens() -> None:
    """Add, list and revoke API tokens."""


@app.command("login-link")
def login_link(
    ctx: typer.Context,
    as_: Annotated[str, typer.Option("--as", metavar="NAME", help="Who signs in.")],
    role: Annotated[RoleWord, typer.Option(help="What they may do.")] = RoleWord.VIEWER,
    owner: Owners = None,
    domain: Domains = None,
) -> None:
    """Print a link that signs a user in once, within 10 minutes.

    Example: tablewatch account login-link --as mia --role responder
    """
    from store import server_address

    invocation: Invocation = ctx.obj
    with _accounts(invocation, as_) as (project, store, now):
        web, login = project.config.web, Login(as_, _grant(project, role, owner, domain))
        address = web.public_url or server_address(project.config.storage.url) or f"http://{web.listen}"
        emit_link(invocation, store, login, address, now)


class Login(NamedTuple):
    """A user to be signed in, and their role."""

    name: str
    grant: "Grant"


def emit_link(invocation: Invocation, store: "Store", login: Login, address: str, now: "datetime") -> None:
    """Print a new login link below an address."""
    from monitor.web.credentials import make_link

    with store.writing() as tx:
        secret = make_link(tx, login.name, login.grant, now)
    url = f"{address.rstrip('/')}/sign-in/link?token={secret}"
    result = {"schema": "tablewatch.login_link/1", "name": login.name, "role": login.grant.role.value, "url": url}
    _emit_secret(invocation, result, url)


def check_account_name(name: str) -> None:
    """Check that a name may be that of a user.

    Raises:
        Stop: it may not.
    """
    from monitor.web.credentials import is_account_name

    if not is_account_name(name):
        raise Stop(ExitCode.USAGE, Problem("web.name", f"'{name}' is no name; use letters, digits and . _ @ + -"))


@user.command("add")
def add_user(
    ctx: typer.Context,
    name: Name,
    role: Annotated[RoleWord, typer.Option(help="What they may do.")] = RoleWord.VIEWER,
    owner: Owners = None,
    domain: Domains = None,
    password: Annotated[
        bool, typer.Option("--password/--no-password", help="Ask for a password; without, a proxy signs them in.")
    ] = True,
) -> None:
    """Add a user. The password is asked for; from a pipe it is the first line.

    Example: tablewatch account user add mia --role owner --domain sales
    """
    from store import WebUser

    invocation: Invocation = ctx.obj
    with _accounts(invocation, name) as (project, store, now):
        grant = _grant(project, role, owner, domain)
        hashed = _hashed_password() if password else None
        with store.writing() as tx:
            tx.accounts.add_user(WebUser(name, grant, hashed, now))
    invocation.emit(
        lambda: {"schema": "tablewatch.web_user/1", "name": name, **_as_json(grant), "password": password},
        lambda console: console.print(f"user {name} is {_described(grant)}"),
    )


@user.command("list")
def list_users(ctx: typer.Context) -> None:
    """List users.

    Example: tablewatch account user list
    """
    from monitor.config.project import Project
    from monitor.terminal.tables import draw_table

    invocation: Invocation = ctx.obj
    with reading(Project.of(invocation)) as tx:
        users = tx.accounts.users()
    items = [{"name": item.name, **_as_json(item.grant), "password": item.password is not None} for item in users]
    rows = [
        (item.name, _described(item.grant), "no" if item.password is None else "yes", f"{item.created_at:%Y-%m-%d}")
        for item in users
    ]
    heads = ("user", "~role", "password", "added")
    invocation.emit(
        {"schema": "tablewatch.web_users/1", "users": items},
        lambda console: draw_table(console, heads, rows) if rows else console.print("no users"),
    )


@user.command("remove")
def remove_user(ctx: typer.Context, name: Name) -> None:
    """Remove a user and sign them out everywhere.

    Example: tablewatch account user remove mia
    """
    invocation: Invocation = ctx.obj
    with _accounts(invocation, name) as (_, store, _now), store.writing() as tx:
        tx.accounts.remove_user(name)
    result = {"schema": "tablewatch.web_user/1", "name": name, "removed": True}
    invocation.emit(result, lambda console: console.print(f"user {name} was removed and is signed out"))


@token.command("add")
def add_token(
    ctx: typer.Context,
    name: Name,
    role: Annotated[TokenRoleWord, typer.Option(help="What the program may do.")] = TokenRoleWord.VIEWER,
    owner: Owners = None,
    domain: Domains = None,
    expires: Annotated[str, typer.Option(metavar="LENGTH", help="Holds for so long, at most a year.")] = "90d",
) -> None:
    """Make an API token and print it; it is shown once.

    Example: tablewatch account token add ci --role responder --expires 30d
    """
    from monitor.web.credentials import make_token

    invocation: Invocation = ctx.obj
    with _accounts(invocation, name) as (project, store, now):
        grant = _grant(project, RoleWord(role.value), owner, domain)
        life = typed_times(project, invocation, now).length("--expires", expires)
        with store.writing() as tx:
            secret = make_token(tx, name, grant, now=now, life=life)
    result = {"schema": "tablewatch.api_token/1", "name": name, **_as_json(grant), "token": secret}
    _emit_secret(invocation, result, secret)


@token.command("list")
def list_tokens(ctx: typer.Context) -> None:
    """List API tokens, without the tokens themselves.

    Example: tablewatch account token list
    """
    from monitor.config.project import Project
    from monitor.terminal.tables import draw_table

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with reading(project) as tx:
        tokens = tx.accounts.tokens()
    now = project.clock.now()
    items, rows = [], []
    for item in tokens:
        state = "revoked" if item.revoked_at is not None else "expired" if now >= item.expires_at else "valid"
        used = None if item.used_at is None else f"{item.used_at:%Y-%m-%d}"
        times = {"expires_at": item.expires_at.isoformat(), "last_used": used}
        items.append({"name": item.name, **_as_json(item.grant), "state": state, **times})
        rows.append((item.name, _described(item.grant), state, f"{item.expires_at:%Y-%m-%d}", used or "never"))
    heads = ("token", "~role", "state", "expires", "last used")
    invocation.emit(
        {"schema": "tablewatch.api_tokens/1", "tokens": items},
        lambda console: draw_table(console, heads, rows) if rows else console.print("no API tokens"),
    )


@token.command("revoke")
def revoke_token(ctx: typer.Context, name: Name) -> None:
    """Revoke an API token, at once.

    Example: tablewatch account token revoke ci
    """
    invocation: Invocation = ctx.obj
    with _accounts(invocation, name) as (_, store, now), store.writing() as tx:
        tx.accounts.revoke_token(name, now)
    result = {"schema": "tablewatch.api_token/1", "name": name, "revoked": True}
    invocation.emit(result, lambda console: console.print(f"API token {name} is revoked"))


@contextmanager
def _accounts(invocation: Invocation, name: str) -> "Iterator[tuple[Project, Store, datetime]]":
    """Return the project, its store and the time, to change the account of a name; leave with what is refused."""
    from monitor.config.project import Project
    from store import NotRecorded, StoreConflict

    check_web_installed()
    check_account_name(name)
    project = Project.of(invocation)
    try:
        with project.open_store(existing=True) as store:
            yield project, store, project.clock.now()
    except NotRecorded as error:
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("web.not_found", str(error))) from None
    except StoreConflict as error:
        raise Stop(ExitCode.USAGE, Problem("web.exists", str(error))) from None
    except ValueError as error:
        raise Stop(ExitCode.USAGE, Problem("web.refused", str(error))) from None


def _grant(project: "Project", role: RoleWord, owners: list[str] | None, domains: list[str] | None) -> "Grant":
    """Return the grant that the options describe.

    Raises:
        Stop: an owner or domain that is not configured, or none for the role of an owner.
    """
    from store import Grant, WebRole

    for kind, names, configured in (
        ("owner", owners or [], project.config.owners),
        ("domain", domains or [], project.config.domains),
    ):
        for name in names:
            if name not in configured:
                raise Stop(ExitCode.USAGE, unknown_name(kind, name, configured))
    if role is RoleWord.OWNER and not (owners or domains):
        raise Stop(ExitCode.USAGE, Problem("usage", "role owner needs --owner or --domain: whose tables"))
    return Grant(WebRole(role.value), tuple(owners or ()), tuple(domains or ()))


def _hashed_password() -> str:
    """Return the hash of a password that is typed, or is the first line of a pipe."""
    import sys
    from getpass import getpass

    from monitor.web.credentials import hash_password

    if not sys.stdin.isatty():
        return hash_password(sys.stdin.readline().rstrip("\r\n"))
    password = getpass("Password: ")
    if getpass("Again: ") != password:
        raise Stop(ExitCode.USAGE, Problem("web.password", "the two are not the same; nothing was added"))
    return hash_password(password)


def _as_json(grant: "Grant") -> "Mapping[str, Any]":
    return {"role": grant.role.value, "owners": list(grant.owners), "domains": list(grant.domains)}


def _described(grant: "Grant") -> str:
    limits = ", ".join([*grant.owners, *grant.domains])
    return f"{grant.role.value} ({limits})" if limits else grant.role.value


def _emit_secret(invocation: Invocation, result: "Mapping[str, Any]", secret: str) -> None:
    """Show a new secret to the user who made it: the only output that must not be masked."""
    from monitor.terminal.redaction import Redactor

    shown = Invocation(invocation.config_path, invocation.format, Redactor(urls=False))
    shown.emit(result, lambda console: console.print(secret))
