"""Find out who sent a request: by a token, by a trusted proxy, or by a session; and whether another site sent it."""

import hmac
from collections.abc import Iterable
from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Final

from starlette.requests import Request

from monitor.config import ProxySignIn, Web
from monitor.config.web_model import cookie_name
from monitor.terminal.problem import Problem
from monitor.web.access import Principal
from monitor.web.problems import WebError
from monitor.web.sessions import grant_of_user, is_account_name, principal_of_session, principal_of_token
from store import SignInMethod, Store

UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BEARER: Final = "bearer "


def peer_of(request: Request) -> str:
    """Return the address at the other end of the socket; headers that claim another one are not read."""
    return request.client.host if request.client is not None else ""


def identify(web: Web, store: Store, request: Request, now: datetime) -> Principal | None:
    """Return who sent a request; None for nobody in particular. A token counts before a proxy, a proxy before a cookie.

    Raises:
        WebError: credentials that do not hold: 401 for a token, 403 for a proxy's header that is not the proxy's.
    """
    authorization = request.headers.get("authorization")
    if authorization is not None:
        return _by_token(store, authorization, now)
    if web.proxy is not None and web.proxy.header.lower() in request.headers:
        return _by_proxy(web.proxy, store, request)
    secret = request.cookies.get(cookie_name(web))
    return None if secret is None else principal_of_session(store, secret, now)


def _by_token(store: Store, authorization: str, now: datetime) -> Principal:
    principal = None
    if authorization.lower().startswith(_BEARER):
        principal = principal_of_token(store, authorization[len(_BEARER) :].strip(), now)
    if principal is None:
        hint = "send 'Authorization: Bearer TOKEN'; 'tablewatch web token add' makes one"
        raise WebError(401, Problem("token.invalid", "the API token is unknown, expired or revoked", hint=hint))
    return principal


def _by_proxy(proxy: ProxySignIn, store: Store, request: Request) -> Principal:
    names = request.headers.getlist(proxy.header)
    secrets = request.headers.getlist(proxy.secret_header)
    trusted = _is_in(peer_of(request), proxy.trusted)
    if not (trusted and len(secrets) == 1 and hmac.compare_digest(secrets[0].encode(), proxy.secret.encode())):
        raise WebError(403, Problem("proxy.untrusted", "a header that only the proxy may send came from elsewhere"))
    if len(names) != 1 or not is_account_name(names[0]):
        raise WebError(403, Problem("proxy.name", "the proxy did not name exactly one user in a form that is accepted"))
    with store.reading() as tx:
        return Principal(names[0], SignInMethod.PROXY, grant_of_user(tx, names[0]))


def _is_in(peer: str, networks: Iterable[str]) -> bool:
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    return any(address in ip_network(network) for network in networks)


def check_same_site(web: Web, request: Request) -> None:
    """Check whether a request that changes something was sent by our own pages, or by a program with a token.

    Browsers say so in `Sec-Fetch-Site`, older ones in `Origin`; a request with neither is a program's, and programs
    have tokens. A cookie alone is never enough.

    Raises:
        WebError: another site sent it, or it cannot be known who did.
    """
    if request.method not in UNSAFE or "authorization" in request.headers:
        return
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        same = site in {"same-origin", "none"}
    else:
        own = (web.public_url or f"http://{request.headers.get('host', '')}").rstrip("/")
        same = request.headers.get("origin") == own
    if not same:
        hint = "use the forms of these pages, or an API token"
        raise WebError(403, Problem("request.cross_site", "the request did not come from this site", hint=hint))
