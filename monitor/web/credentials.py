"""Authentication of requests by a token, a trusted proxy or a session."""

import hmac
from collections.abc import Iterable
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from starlette.requests import Request

from monitor.config import ProxySignIn, Web
from monitor.config.web_model import cookie_name, is_loopback
from monitor.terminal.problem import Problem
from monitor.verbs.account_secrets import digest_of, is_account_name, lasts
from monitor.web.access import Principal
from monitor.web.problems import WebError
from store import Grant, ReadTransaction, SignInMethod, Store, WebRole

_SEEN_STEP: Final = timedelta(minutes=5)
"""The use of a session is written down this often: a page is no reason to write each time."""
_USED_STEP: Final = timedelta(days=1)
UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BEARER: Final = "bearer "


def principal_of_session(store: Store, secret: str, now: datetime) -> Principal | None:
    """Return whose session an id is of, and note its use; None if it holds no more."""
    digest = digest_of(secret)
    with store.reading() as tx:
        session = tx.accounts.session(digest)
    if session is None or not lasts(session, now):
        return None
    if now >= session.seen_at + _SEEN_STEP:
        with store.writing() as writing:
            writing.accounts.touch_session(digest, now)
    return Principal(session.name, session.method, session.grant, digest)


def principal_of_token(store: Store, token: str, now: datetime) -> Principal | None:
    """Return which program a token is of, and note the day of its use; None if it holds no more."""
    digest = digest_of(token)
    with store.reading() as tx:
        stored = tx.accounts.token(digest)
    if stored is None or stored.revoked_at is not None or now >= stored.expires_at:
        return None
    if stored.used_at is None or now >= stored.used_at + _USED_STEP:
        with store.writing() as writing:
            writing.accounts.use_token(digest, now)
    return Principal(stored.name, SignInMethod.API, stored.grant)


def grant_of_user(tx: ReadTransaction, name: str) -> Grant:
    """Return the grant of a user that a proxy names; one who is not in the store may read."""
    user = tx.accounts.user(name)
    return Grant(WebRole.VIEWER) if user is None else user.grant


def peer_of(request: Request) -> str:
    """Return the address at the other end of the socket; headers that claim another one are not read."""
    return request.client.host if request.client is not None else ""


def client_of(web: Web, request: Request) -> str | None:
    """Return the address of a client, of IPv6 its network of 64 bits; None behind a proxy that does not name it.

    The header `web.client_header` is read from a proxy only: this machine, and `web.proxy.trusted`.
    """
    hops = ",".join(request.headers.getlist(web.client_header or "")).split(",")
    for hop in [peer_of(request), *reversed(hops)]:
        try:
            address = ip_address(hop.strip())
        except ValueError:
            return None
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        if not is_loopback(str(address)) and not (web.proxy and _is_in(str(address), web.proxy.trusted)):
            return str(ip_network((address, 64), strict=False)) if address.version == 6 else str(address)
    return None


def identify(web: Web, store: Store, request: Request, now: datetime) -> Principal | None:
    """Return who sent a request; None without credentials. A token counts before a proxy, a proxy before a cookie.

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
        hint = "send 'Authorization: Bearer TOKEN'; 'tablewatch account token add' makes one"
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
