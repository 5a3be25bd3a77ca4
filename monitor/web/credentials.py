"""Authentication of requests by a token, a trusted proxy or a session, and the secrets for it.

Passwords are stored as argon2id hashes; sessions, login links and API tokens are random secrets, of which only SHA-256
hashes are stored.
"""

import hmac
import os
import re
import secrets
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from starlette.requests import Request

from monitor.config import ProxySignIn, Web
from monitor.config.web_model import cookie_name, is_loopback
from monitor.terminal.problem import Problem
from monitor.web.access import Principal
from monitor.web.problems import WebError
from store import (
    ApiToken,
    Grant,
    LoginLink,
    ReadTransaction,
    SignInMethod,
    Store,
    WebRole,
    WebSession,
    WriteTransaction,
)

SHORTEST: Final = 12
"""The minimum length of a password."""
_LONGEST: Final = 1_000
_HASHER: Final = PasswordHasher()
_NICENESS: Final = 10
_NOBODY: Final = "$argon2id$v=19$m=65536,t=3,p=4$Qlvs1bv2g42UJRTXxr+DMA$0t8pZugWUpywY9C9e1ec7NWnie0CPvh6AlQQTg25Pd4"
"""A hash that no password has, so that an unknown name takes as long as a wrong password."""
IDLE: Final = timedelta(hours=12)
"""A session that was not used for so long ends."""
ABSOLUTE: Final = timedelta(days=7)
"""A session ends after so long, used or not."""
LINK_LIFE: Final = timedelta(minutes=10)
LONGEST_TOKEN: Final = timedelta(days=365)
_SEEN_STEP: Final = timedelta(minutes=5)
"""The use of a session is written down this often: a page is no reason to write each time."""
_USED_STEP: Final = timedelta(days=1)
_NAME: Final = re.compile(r"[\w.@+-]{1,100}")

_PREFIXES: Final = {WebRole.VIEWER: "twr_", WebRole.RESPONDER: "tww_", WebRole.OWNER: "tww_", WebRole.ASK: "twq_"}
"""The prefix of an API token by its role: read, write, or ask. Stewards and administrators are people."""
UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BEARER: Final = "bearer "


def hash_password(password: str) -> str:
    """Return the argon2id hash of a password.

    Raises:
        ValueError: it is too short or too long.
    """
    if not SHORTEST <= len(password) <= _LONGEST:
        raise ValueError(f"a password has {SHORTEST} to {_LONGEST:,} letters; this has {len(password):,}")
    return _HASHER.hash(password)


def is_password(password: str, hashed: str | None) -> bool:
    """Check whether a password has a hash; None, of a user without a password or without a user, has none."""
    if len(password) > _LONGEST:
        return False
    try:
        _HASHING.submit(_HASHER.verify, hashed or _NOBODY, password).result()
    except (VerificationError, InvalidHashError):
        return False
    return hashed is not None


def _lower_priority() -> None:
    """Let the other threads go first: argon2 holds no lock of Python, and computes on four processors at once."""
    if sys.platform == "linux":  # elsewhere it is the priority of the whole process
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness + _NICENESS)


_HASHING: Final = ThreadPoolExecutor(1, "hashing", initializer=_lower_priority)


def digest_of(secret: str) -> bytes:
    """Return what is stored of a secret of 256 random bits; it needs no slow hash."""
    return sha256(secret.encode()).digest()


def is_account_name(name: str) -> bool:
    """Check whether a name may be that of a user or token: letters, digits and `. _ @ + -`."""
    return _NAME.fullmatch(name) is not None


def make_link(tx: WriteTransaction, name: str, grant: Grant, now: datetime) -> str:
    """Write down a login link that holds for ten minutes, and return its secret part."""
    secret = secrets.token_urlsafe(32)
    tx.accounts.add_link(LoginLink(digest_of(secret), name, grant, now + LINK_LIFE))
    return secret


def make_token(tx: WriteTransaction, name: str, grant: Grant, *, now: datetime, life: timedelta) -> str:
    """Write down an API token, and return it; it is shown once.

    Raises:
        ValueError: a role that no token has, or a life that is too long.
        StoreConflict: there is or was a token of that name.
    """
    if grant.role not in _PREFIXES:
        raise ValueError(f"an API token has role {', '.join(_PREFIXES)}; {grant.role} is a role of people")
    if not timedelta() < life <= LONGEST_TOKEN:
        raise ValueError(f"an API token holds for at most {LONGEST_TOKEN.days} days")
    token = _PREFIXES[grant.role] + secrets.token_urlsafe(32)
    tx.accounts.add_token(ApiToken(digest_of(token), name, grant, now, now + life))
    return token


def start_session(tx: WriteTransaction, name: str, method: SignInMethod, grant: Grant, *, now: datetime) -> str:
    """Write down a new session, and return its id, which is never one that a browser has sent."""
    secret = secrets.token_urlsafe(32)
    tx.accounts.add_session(WebSession(digest_of(secret), name, grant, method, now, now, now + ABSOLUTE))
    return secret


def principal_of_session(store: Store, secret: str, now: datetime) -> Principal | None:
    """Return whose session an id is of, and note its use; None if it holds no more."""
    digest = digest_of(secret)
    with store.reading() as tx:
        session = tx.accounts.session(digest)
    if session is None or now >= session.expires_at or now >= session.seen_at + IDLE:
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
