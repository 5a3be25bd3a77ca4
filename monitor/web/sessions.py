"""Sessions, login links and API tokens: random secrets, of which only SHA-256 hashes are stored."""

import re
import secrets
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from monitor.web.access import Principal
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

_PREFIXES: Final = {WebRole.VIEWER: "twr_", WebRole.RESPONDER: "tww_", WebRole.OWNER: "tww_"}
"""What an API token begins with, by what it may do: read, or write. Stewards and administrators are people."""


def digest_of(secret: str) -> bytes:
    """Return what is stored of a secret of 256 random bits; it needs no slow hash."""
    return sha256(secret.encode()).digest()


def is_account_name(name: str) -> bool:
    """Check whether a name may be that of a user or token: letters, digits and `. _ @ + -`."""
    return _NAME.fullmatch(name) is not None


def make_link(tx: WriteTransaction, name: str, grant: Grant, now: datetime) -> str:
    """Write down a login link that holds for ten minutes, and return its secret part."""
    secret = secrets.token_urlsafe(32)
    tx.accounts.forget_expired(now=now, idle_since=now - IDLE)
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
    tx.accounts.add_token(ApiToken(name, digest_of(token), grant, now, now + life))
    return token


def start_session(tx: WriteTransaction, name: str, method: SignInMethod, grant: Grant, *, now: datetime) -> str:
    """Write down a new session, and return its id, which is never one that a browser has sent."""
    secret = secrets.token_urlsafe(32)
    tx.accounts.forget_expired(now=now, idle_since=now - IDLE)
    tx.accounts.add_session(WebSession(digest_of(secret), name, method, grant, now, now, now + ABSOLUTE))
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
