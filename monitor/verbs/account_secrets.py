"""The secrets of accounts: how they are made, and what is stored of them.

Passwords are stored as argon2id hashes; sessions, login links and API tokens are random secrets, of which only SHA-256
hashes are stored. The package argon2 comes with `tablewatch[web]`.
"""

import os
import re
import secrets
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from store import ApiToken, Grant, LoginLink, SignInMethod, WebRole, WebSession, WriteTransaction

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
_NAME: Final = re.compile(r"[\w.@+-]{1,100}")

_PREFIXES: Final = {WebRole.VIEWER: "twr_", WebRole.RESPONDER: "tww_", WebRole.OWNER: "tww_", WebRole.ASK: "twq_"}
"""The prefix of an API token by its role: read, write, or ask. Stewards and administrators are people."""


def lasts(session: WebSession, now: datetime) -> bool:
    """Check whether a session holds: it was used of late, and is not too old."""
    return now < session.expires_at and now < session.seen_at + IDLE


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
