"""What is on disk about who may use the web application: one class per table."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, Index, UniqueConstraint

from store._columns import STRICT, Row, blob, json, line, one_of, time, word


class WebRole(StrEnum):
    """What somebody may do in the web application."""

    VIEWER = "viewer"
    RESPONDER = "responder"
    OWNER = "owner"
    STEWARD = "steward"
    ADMIN = "admin"


class WebUserRow(Row, table=True):
    """A person who may sign in; `password` is an argon2id hash."""

    __tablename__ = "web_user"
    __table_args__ = (one_of("role", WebRole), STRICT)

    name: str = line(key=True)
    password: str | None = line(optional=True)
    role: WebRole = word(WebRole)
    scope: Mapping[str, Any] = json()
    created_at: datetime = time("created_us", "created_at")


class WebSessionRow(Row, table=True):
    """A signed-in browser, by the hash of the id in its cookie."""

    __tablename__ = "web_session"
    __table_args__ = (Index(None, "name"), one_of("role", WebRole), STRICT)

    digest: bytes = blob(key=True)
    name: str = line()
    method: str = line()
    role: WebRole = word(WebRole)
    scope: Mapping[str, Any] = json()
    created_at: datetime = time("created_us", "created_at")
    seen_at: datetime = time("seen_us", "seen_at")
    expires_at: datetime = time("expires_us", "expires_at")


class LoginLinkRow(Row, table=True):
    """A link that signs somebody in once, by the hash of its secret part; it goes when it is used."""

    __tablename__ = "login_link"
    __table_args__ = (one_of("role", WebRole), STRICT)

    digest: bytes = blob(key=True)
    name: str = line()
    role: WebRole = word(WebRole)
    scope: Mapping[str, Any] = json()
    expires_at: datetime = time("expires_us", "expires_at")


class ApiTokenRow(Row, table=True):
    """What a program signs in with, by its hash. Revoked ones stay: events name them."""

    __tablename__ = "api_token"
    __table_args__ = (
        UniqueConstraint("digest"),
        one_of("role", WebRole),
        CheckConstraint("expires_us > created_us", name="expires"),
        STRICT,
    )

    name: str = line(key=True)
    digest: bytes = blob()
    role: WebRole = word(WebRole)
    scope: Mapping[str, Any] = json()
    created_at: datetime = time("created_us", "created_at")
    expires_at: datetime = time("expires_us", "expires_at")
    used_at: datetime | None = time("used_us", "used_at", optional=True)
    revoked_at: datetime | None = time("revoked_us", "revoked_at", optional=True)
