"""Sign in by a password, a link or an identity provider, and sign out."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated, Any, Final
from urllib.parse import quote

from annotated_types import MaxLen
from pydantic import BaseModel, ConfigDict
from starlette.responses import RedirectResponse, Response

from monitor.config import Web
from monitor.config.web_model import attempt_cookie_name, cookie_name
from monitor.terminal.problem import Problem
from monitor.verbs.account_secrets import ABSOLUTE, digest_of, is_password, start_session
from monitor.web.call import Call
from monitor.web.credentials import grant_of_user
from monitor.web.oidc import ATTEMPT_LIFE, OidcProvider, SignInAttempt, grant_of, name_of, provider_error
from monitor.web.problems import WebError
from store import Grant, SignInMethod

SIGN_IN: Final = "/sign-in"
LINK: Final = "/sign-in/link"
OIDC: Final = "/sign-in/oidc"
CALLBACK: Final = "/sign-in/oidc/callback"
_LONGEST: Final = 500
"""Characters of the path and query to which a sign-in leads on."""


class SignInQuery(BaseModel):
    """Where to go afterwards."""

    next: Annotated[str, MaxLen(_LONGEST)] = "/"


class SignInPage(BaseModel):
    """What the sign-in page shows."""

    passwords: bool
    provider: str | None
    next: str


class SignInBody(BaseModel):
    """The form of the sign-in page."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, MaxLen(100)]
    password: Annotated[str, MaxLen(1_000)]
    next: Annotated[str, MaxLen(_LONGEST)] = "/"


class CallbackQuery(BaseModel):
    """What a provider sends a browser back with: a code or an error, and the state it was given."""

    state: Annotated[str, MaxLen(200)] = ""
    code: Annotated[str, MaxLen(4_000)] | None = None
    error: Annotated[str, MaxLen(200)] | None = None
    iss: Annotated[str, MaxLen(500)] | None = None


class LinkQuery(BaseModel):
    """The secret part of a login link."""

    token: Annotated[str, MaxLen(100)]


class LinkPage(BaseModel):
    """The page that a login link opens: a button, so that a preview of the link does not use it up."""

    token: str


class LinkBody(LinkQuery):
    """The form of that page."""

    model_config = ConfigDict(extra="forbid")


def local_path(path: str) -> str:
    """Return a path of this site to go to; anything that might lead elsewhere becomes the first page."""
    plain = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if plain else "/"


def sign_in_address(path: str, query: str) -> str:
    """Return the address of the sign-in page that leads on to a page; a long query is left out."""
    target = f"{path}?{query}" if query and len(path) + len(query) < _LONGEST else path
    return SIGN_IN if target == "/" else f"{SIGN_IN}?next={quote(target, safe='/')}"


def show_sign_in(call: Call) -> SignInPage:
    """Return what the sign-in page shows."""
    return sign_in_page(call, call.query.next)


def sign_in_page(call: Call, to: str) -> SignInPage:
    """Return the sign-in page that leads on to a path."""
    web = call.project.config.web
    provider = None if web.oidc is None else web.oidc.host
    return SignInPage(passwords=web.passwords, provider=provider, next=local_path(to))


def show_link(call: Call) -> LinkPage:
    """Return what the page of a login link shows; the link is not used yet."""
    return LinkPage(token=call.query.token)


def sign_in(call: Call) -> Response:
    """Sign in by name and password.

    Raises:
        WebError: 403 where passwords are not used, 401 for a wrong name or password, 429 after too many of them.
    """
    if not call.project.config.web.passwords:
        raise WebError(403, Problem("sign_in.passwords", "sign-in by password is off (web.passwords)"))
    keys = [f"name {call.body.name}"]
    if call.client is not None:  # else all users behind a proxy: one guesser would lock all others out
        keys.append(f"address {call.client}")
    with counted(call, *keys):
        with call.store.reading() as tx:
            user = tx.accounts.user(call.body.name)
        if not is_password(call.body.password, None if user is None else user.password) or user is None:
            raise WebError(401, Problem("sign_in.refused", "the name or the password is wrong"))
    return _start(call, user.name, SignInMethod.FORM, user.grant, to=local_path(call.body.next))


@contextmanager
def counted(call: Call, *keys: str) -> Iterator[None]:
    """Count a try before it is judged, and take it back where the block raises nothing.

    Raises:
        WebError: 429 after too many failures.
    """
    wait_s = call.application.limit.begin(*keys)
    if wait_s is not None:
        problem = Problem("sign_in.limit", "too many failed sign-ins; try again in 15 minutes")
        raise WebError(429, problem, headers={"retry-after": str(wait_s)})
    yield
    call.application.limit.take_back(*keys)


def use_link(call: Call) -> Response:
    """Sign in by a login link, which is used up.

    Raises:
        WebError: 401 for a link that was used, is over or never was.
    """
    with call.store.writing() as tx:
        link = tx.accounts.take_link(digest_of(call.body.token), call.now)
    if link is None:
        hint = "'tablewatch account login-link' makes a new one"
        raise WebError(
            401, Problem("sign_in.link", "the link was used or is over; it holds once, for 10 minutes", hint=hint)
        )
    return _start(call, link.name, SignInMethod.LOGIN_LINK, link.grant, to="/")


def redirect_to_provider(call: Call) -> Response:
    """Send a browser to the identity provider, with a new attempt in its cookie.

    Raises:
        WebError: 403 where none is configured, 503 where it does not answer.
    """
    attempt = SignInAttempt.new(local_path(call.query.next))
    response = RedirectResponse(_provider(call).address(attempt), 303)
    _set_cookie(call, response, attempt_cookie_name, attempt.to_cookie(), ATTEMPT_LIFE)
    return response


def handle_callback(call: Call) -> Response:
    """Sign in the user who returns from the identity provider in the browser that was sent there; once.

    Raises:
        WebError: 401 where this browser was not sent there or the provider refused, 403 without a usable name.
    """
    provider, attempt = _provider(call), SignInAttempt.of_cookie(call.attempt)
    try:
        claims = _claims(call, provider, attempt)
        name = name_of(provider.settings, claims)
    except WebError as error:
        error.headers = {**error.headers, "set-cookie": _no_cookie(call)}
        raise
    with call.store.reading() as tx:
        grant = grant_of(provider.settings, claims, of_store=grant_of_user(tx, name))
    response = _start(call, name, SignInMethod.OIDC, grant, to=local_path("" if attempt is None else attempt.to))
    response.headers.append("set-cookie", _no_cookie(call))
    return response


def _claims(call: Call, provider: OidcProvider, attempt: SignInAttempt | None) -> Mapping[str, Any]:
    """Return what the provider asserts, where the browser was sent there by us and comes back with a code."""
    query = call.query
    if attempt is None or not attempt.matches(query.state):
        hint = "begin at /sign-in, in this browser, and come back within 10 minutes"
        raise WebError(401, Problem("sign_in.oidc", "this sign-in was not begun here or is used up", hint=hint))
    if query.code is None or query.iss not in {None, provider.settings.issuer}:
        raise provider_error(query.error or "invalid_response")
    return provider.claims(attempt, query.code, call.now)


def _provider(call: Call) -> OidcProvider:
    if call.application.oidc is None:
        raise WebError(403, Problem("sign_in.oidc", "sign-in by an identity provider is off (web.oidc)"))
    return call.application.oidc


def _no_cookie(call: Call) -> str:
    """Return the header that takes a browser's attempt away."""
    response, web = Response(), call.project.config.web
    response.delete_cookie(attempt_cookie_name(web), path="/", secure=web.is_https, httponly=True, samesite="lax")
    return response.headers["set-cookie"]


def _set_cookie(call: Call, response: Response, named: Callable[[Web], str], value: str, life: timedelta) -> None:
    web = call.project.config.web
    response.set_cookie(
        named(web),
        value,
        max_age=int(life.total_seconds()),
        path="/",
        secure=web.is_https,
        httponly=True,
        samesite="lax",
    )


def _start(call: Call, name: str, method: SignInMethod, grant: Grant, *, to: str) -> Response:
    """Begin a new session in place of the browser's old one, and go on."""
    with call.store.writing() as tx:
        if call.cookie is not None:
            tx.accounts.end_session(digest_of(call.cookie))
        secret = start_session(tx, name, method, grant, now=call.now)
    response = RedirectResponse(to, 303)
    _set_cookie(call, response, cookie_name, secret, ABSOLUTE)
    return response


def sign_out(call: Call) -> Response:
    """End the session of the browser."""
    web = call.project.config.web
    if call.cookie is not None:
        with call.store.writing() as tx:
            tx.accounts.end_session(digest_of(call.cookie))
    response = RedirectResponse(SIGN_IN, 303)
    response.delete_cookie(cookie_name(web), path="/", secure=web.is_https, httponly=True, samesite="lax")
    return response
