"""The page of accounts, and the routes of their verbs: one's own for every user, all of them for administrators."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from pydantic import BaseModel
from starlette.responses import Response

from monitor.summaries.account import AccountListPage, SessionLine, SessionPage, TokenPage, UserPage
from monitor.verbs import account
from monitor.verbs.account_secrets import SHORTEST, lasts
from monitor.verbs.verb import Access
from monitor.web.access import is_allowed
from monitor.web.call import Call, Handler, WebRoute
from monitor.web.rate_limit import RequestCost
from monitor.web.sign_in import counted
from monitor.web.verb_routes import API, form_routes

_PAGE: Final = "/account"
_ADDRESS: Final = "/accounts"


class AccountView(BaseModel):
    """What a user sees: whether they may change a password here, their sessions, for administrators all accounts.

    `current` is the session of the reader. `owners` and `domains`: those to which a role can be limited.
    """

    has_password: bool
    shortest: int
    sessions: tuple[SessionLine, ...]
    current: str | None
    everyone: AccountListPage | None
    owners: tuple[str, ...]
    domains: tuple[str, ...]


def list_accounts(call: Call) -> AccountListPage:
    """Return all accounts."""
    with call.store.reading() as tx:
        return AccountListPage.read(tx, call.now, lasts)


def show_account(call: Call) -> AccountView:
    """Return the account of the caller, and for administrators all of them."""
    principal, everyone, config = call.require_principal(), list_accounts(call), call.project.config
    passwords = {user.name for user in everyone.users if user.password}
    return AccountView(
        has_password=principal.session is not None and principal.name in passwords,
        shortest=SHORTEST,
        sessions=tuple(session for session in everyone.sessions if session.name == principal.name),
        current=None if principal.session is None else principal.session.hex()[:16],
        everyone=everyone if is_allowed(principal, Access.ADMINISTER) else None,
        owners=tuple(config.owners),
        domains=tuple(config.domains),
    )


def account_routes() -> Iterator[WebRoute]:
    """Yield the page of accounts, and the routes of their verbs."""
    summary = "The account of the reader; for administrators, all of them"
    yield WebRoute("GET", _PAGE, Access.OWN_ACCOUNT, show_account, summary, template="account")
    summary = "List users, API tokens and sessions"
    address = f"{API}{_ADDRESS}"
    yield WebRoute("GET", address, Access.ADMINISTER, list_accounts, summary, reply=AccountListPage)
    routes = partial(form_routes, refill=("account", lambda call, _: show_account(call)))
    users, tokens, sessions = (_at(part) for part in ("users", "tokens", "sessions"))
    user, token = f"{_ADDRESS}/users/{{name}}", f"{_ADDRESS}/tokens"
    yield from routes(account.ADD_USER, f"{_ADDRESS}/users", users, UserPage, status=201)
    yield from routes(account.CHANGE_USER, f"{user}/change", users, UserPage)
    yield from routes(account.REMOVE_USER, f"{user}/remove", users, UserPage)
    for route in routes(account.PASSWORD, f"{user}/password", _at("changed"), UserPage):
        yield replace(route, handle=_limited(route.handle), load=RequestCost.SIGN_IN)
    yield from routes(account.ADD_TOKEN, token, "api_token", TokenPage, status=201)
    yield from routes(account.REVOKE_TOKEN, f"{token}/{{name}}/revoke", tokens, TokenPage)
    yield from routes(account.END_SESSION, f"{_ADDRESS}/sessions/{{id}}/end", sessions, SessionPage)


def _at(part: str) -> Callable[[Call, object], str]:
    return lambda *_: f"{_PAGE}#{part}"


def _limited(handle: Handler) -> Handler:
    """Return a handler whose failures are counted: who has a session cannot guess the password."""

    def limited(call: Call) -> BaseModel | Response:
        with counted(call, f"password of {call.require_principal().name}"):
            return handle(call)

    return limited
