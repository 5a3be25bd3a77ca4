"""The verbs of accounts: users, their passwords and roles, API tokens, sessions.

No entry is there for a token of a user: programs have tokens, people have sessions.
"""

import logging
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import MaxLen
from pydantic import Field

from monitor.verbs.verb import Access, Acting, Body, Length, Name, Nothing, Query, Typed, Verb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.summaries.account import SessionPage, TokenPage, UserPage
    from store import Grant, WriteTransaction

LOG: Final = logging.getLogger("tablewatch")


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


_Names = tuple[Name, ...]
_OWNERS: Final = "Act on or ask about tables of this owner only. Repeatable."
_DOMAINS: Final = "Act on or ask about tables of this domain only. Repeatable."
_NAMED: Final = "Letters, digits and . _ @ + -"
_Password = Annotated[str, MaxLen(1_000), Typed(asked=True)]


class AccountName(Query):
    """The name of a user or token."""

    name: Annotated[Name, Typed(metavar="NAME")] = Field(description=_NAMED)


class SessionId(Query):
    """The id of a session."""

    id: Annotated[Name, Typed(metavar="ID")] = Field(description="As `account session list` shows it.")


class RoleBody(Body):
    """What a user may do, and on whose tables."""

    role: RoleWord = Field(RoleWord.VIEWER, description="What they may do.")
    owners: _Names = Field((), alias="owner", description=_OWNERS)
    domains: _Names = Field((), alias="domain", description=_DOMAINS)


class UserBody(RoleBody):
    """A new user."""

    name: Annotated[Name, Typed(metavar="NAME", argument=True)] = Field(description=_NAMED)
    password: _Password | None = Field(None, description="Ask for a password; without, a proxy signs them in.")


class PasswordBody(Body):
    """A new password; people who change their own one send the present one too."""

    password: _Password = Field(description="New password, of at least 12 letters.")
    present: Annotated[str, MaxLen(1_000)] | None = Field(None, description="The present password, of one's own.")


class TokenBody(Body):
    """A new API token."""

    name: Annotated[Name, Typed(metavar="NAME", argument=True)] = Field(description=_NAMED)
    role: TokenRoleWord = Field(TokenRoleWord.VIEWER, description="What the program may do.")
    owners: _Names = Field((), alias="owner", description=_OWNERS)
    domains: _Names = Field((), alias="domain", description=_DOMAINS)
    expires: Length = Field("90d", description="Holds for so long, at most a year.")


def check_account_name(name: str) -> None:
    """Check that a name may be that of a user or token.

    Raises:
        Stop: it may not.
    """
    from monitor.terminal.problem import ExitCode, Problem, Stop
    from monitor.verbs.account_secrets import is_account_name

    if not is_account_name(name):
        text = f"'{name}' is no name; use letters, digits and . _ @ + -"
        raise Stop(ExitCode.USAGE, Problem("web.name", text, field="name"))


def granted(acting: Acting, role: str, owners: "Sequence[str]", domains: "Sequence[str]") -> "Grant":
    """Return the grant of a role, limited to owners and domains.

    Raises:
        Stop: an owner or domain that is not configured, or none for the role of an owner.
    """
    from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name
    from store import Grant, WebRole

    config = acting.project.config
    for kind, names, configured in (("owner", owners, config.owners), ("domain", domains, config.domains)):
        for name in names:
            if name not in configured:
                raise Stop(ExitCode.USAGE, unknown_name(kind, name, configured))
    if role == WebRole.OWNER and not (owners or domains):
        message = f"role owner needs {acting.named('owner')} or {acting.named('domain')}: whose tables"
        raise Stop(ExitCode.USAGE, Problem("usage", message))
    return Grant(WebRole(role), tuple(owners), tuple(domains))


@contextmanager
def changing_accounts(acting: Acting, what: str) -> "Iterator[WriteTransaction]":
    """Write accounts, and log who changed which.

    Raises:
        Stop: it is refused.
    """
    from monitor.terminal.problem import ExitCode, Problem, Stop
    from store import NotRecorded, StoreConflict

    try:
        with acting.store.writing() as tx:
            yield tx
    except NotRecorded as error:
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("web.not_found", str(error))) from None
    except StoreConflict as error:
        raise Stop(ExitCode.USAGE, Problem("web.exists", str(error))) from None
    except ValueError as error:
        raise Stop(ExitCode.USAGE, Problem("web.refused", str(error))) from None
    LOG.info("%s by %s", what, acting.actor)


def _hashed(password: str) -> str:
    from monitor.terminal.problem import ExitCode, Problem, Stop
    from monitor.verbs.account_secrets import hash_password

    try:
        return hash_password(password)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, Problem("web.refused", str(error), field="password")) from None


def _add_user(acting: Acting, _: Nothing, body: UserBody) -> "UserPage":
    from monitor.summaries.account import UserPage
    from store import WebUser

    check_account_name(body.name)
    grant = granted(acting, body.role, body.owners, body.domains)
    password = body.password if body.password is not None else acting.ask()
    hashed = None if password is None else _hashed(password)
    user = WebUser(body.name, grant, hashed, acting.project.clock.now())
    with changing_accounts(acting, f"user {body.name} added") as tx:
        tx.accounts.add_user(user)
    return UserPage.of(user)


def _change_user(acting: Acting, target: AccountName, body: RoleBody) -> "UserPage":
    from monitor.summaries.account import UserPage

    grant = granted(acting, body.role, body.owners, body.domains)
    with changing_accounts(acting, f"role of user {target.name} changed") as tx:
        return UserPage.of(tx.accounts.change_user(target.name, grant=grant))


def _remove_user(acting: Acting, target: AccountName, _: Body) -> "UserPage":
    from monitor.summaries.account import UserPage

    with changing_accounts(acting, f"user {target.name} removed") as tx:
        return UserPage.of(tx.accounts.remove_user(target.name), removed=True)


def _set_password(acting: Acting, target: AccountName, body: PasswordBody) -> "UserPage":
    from monitor.summaries.account import UserPage
    from monitor.terminal.problem import ExitCode, Problem, Stop
    from monitor.verbs.account_secrets import is_password

    _check_may_change(acting, target.name)
    is_own = acting.session is not None and acting.name == target.name
    if is_own:
        with acting.store.reading() as tx:
            user = tx.accounts.user(target.name)
        if not is_password(body.present or "", None if user is None else user.password):
            raise Stop(ExitCode.USAGE, Problem("web.refused", "the present password is wrong", field="present"))
    hashed = _hashed(body.password)
    with changing_accounts(acting, f"password of user {target.name} changed") as tx:
        kept = acting.session if is_own else None
        return UserPage.of(tx.accounts.change_user(target.name, password=hashed, kept=kept))


def _check_may_change(acting: Acting, name: str) -> None:
    """Check that an account is the actor's own, or that the actor administers all.

    Raises:
        Stop: neither.
    """
    from monitor.terminal.problem import ExitCode, Problem, Stop

    if not acting.administers and acting.name != name:
        message = "your role changes your own account only"
        raise Stop(ExitCode.USAGE, Problem("access.account", message))


def _add_token(acting: Acting, _: Nothing, body: TokenBody) -> "TokenPage":
    from monitor.summaries.account import TokenPage
    from monitor.verbs.account_secrets import digest_of, make_token
    from store import ApiToken

    check_account_name(body.name)
    now = acting.project.clock.now()
    grant = granted(acting, body.role, body.owners, body.domains)
    life = acting.times(now).length("expires", body.expires)
    with changing_accounts(acting, f"API token {body.name} added") as tx:
        secret = make_token(tx, body.name, grant, now=now, life=life)
    return TokenPage.of(ApiToken(digest_of(secret), body.name, grant, now, now + life), now, token=secret)


def _revoke_token(acting: Acting, target: AccountName, _: Body) -> "TokenPage":
    from monitor.summaries.account import TokenPage

    now = acting.project.clock.now()
    with changing_accounts(acting, f"API token {target.name} revoked") as tx:
        return TokenPage.of(tx.accounts.revoke_token(target.name, now), now)


def _end_session(acting: Acting, target: SessionId, _: Body) -> "SessionPage":
    from monitor.summaries.account import SessionPage
    from monitor.terminal.problem import ExitCode, Problem, Stop

    with acting.store.reading() as tx:
        sessions = {SessionPage.of(session).id: session for session in tx.accounts.sessions()}
    session = sessions.get(target.id)
    if session is None or not (acting.administers or session.name == acting.name):
        message = "there is no such session" if acting.administers else "there is no such session of yours"
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("web.not_found", message))
    with changing_accounts(acting, f"session {target.id} of {session.name} ended") as tx:
        tx.accounts.end_session(session.digest)
    return SessionPage.of(session)


ADD_USER: Final = Verb(
    "add",
    Nothing,
    UserBody,
    _add_user,
    "Add a user",
    "mia --role owner --domain sales",
    "A command asks for the password; from a pipe it is the first line.",
    access=Access.ADMINISTER,
    recorded=False,
    secret=True,
)
CHANGE_USER: Final = Verb(
    "change",
    AccountName,
    RoleBody,
    _change_user,
    "Change the role of a user and sign them out everywhere",
    "mia --role responder",
    access=Access.ADMINISTER,
    recorded=False,
)
PASSWORD: Final = Verb(
    "password",
    AccountName,
    PasswordBody,
    _set_password,
    "Set the password of a user and sign them out elsewhere",
    "mia",
    "A command asks for it; from a pipe it is the first line.",
    access=Access.OWN_ACCOUNT,
    recorded=False,
    secret=True,
)
REMOVE_USER: Final = Verb(
    "remove",
    AccountName,
    Body,
    _remove_user,
    "Remove a user and sign them out everywhere",
    "mia",
    access=Access.ADMINISTER,
    recorded=False,
)
ADD_TOKEN: Final = Verb(
    "add",
    Nothing,
    TokenBody,
    _add_token,
    "Make an API token and show it once",
    "ci --role responder --expires 30d",
    access=Access.ADMINISTER,
    recorded=False,
    secret=True,
)
REVOKE_TOKEN: Final = Verb(
    "revoke",
    AccountName,
    Body,
    _revoke_token,
    "Revoke an API token, at once",
    "ci",
    access=Access.ADMINISTER,
    recorded=False,
)
END_SESSION: Final = Verb(
    "end",
    SessionId,
    Body,
    _end_session,
    "End a session: its browser is signed out",
    "3f2a9c0d11e4b875",
    access=Access.OWN_ACCOUNT,
    recorded=False,
)
OF_USERS: Final = (ADD_USER, CHANGE_USER, PASSWORD, REMOVE_USER)
OF_TOKENS: Final = (ADD_TOKEN, REVOKE_TOKEN)
