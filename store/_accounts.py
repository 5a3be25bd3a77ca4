"""Who may use the web application: users, sessions, login links and API tokens. Secrets are kept as hashes only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, delete, select, update

from store._columns import STRICT, Mapped, Row, V, blob, json, line, one_of, time, word
from store._errors import NotRecorded, StoreConflict
from store._repository import Repository


class WebRole(StrEnum):
    """The rights of an account in the web application."""

    VIEWER = "viewer"
    RESPONDER = "responder"
    OWNER = "owner"
    STEWARD = "steward"
    ADMIN = "admin"
    ASK = "ask"


class SignInMethod(StrEnum):
    """The method by which a principal was authenticated."""

    FORM = "password"
    LOGIN_LINK = "login link"
    PROXY = "proxy"
    OIDC = "oidc"
    API = "token"


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
    method: SignInMethod = word(SignInMethod)
    role: WebRole = word(WebRole)
    scope: Mapping[str, Any] = json()
    created_at: datetime = time("created_us", "created_at")
    seen_at: datetime = time("seen_us", "seen_at")
    expires_at: datetime = time("expires_us", "expires_at")


class LoginLinkRow(Row, table=True):
    """A link that signs a user in once, by the hash of its secret part; it goes when it is used."""

    __tablename__ = "login_link"
    __table_args__ = (one_of("role", WebRole), STRICT)

    digest: bytes = blob(key=True)
    name: str = line()
    role: WebRole = word(WebRole)
    scope: Mapping[str, Any] = json()
    expires_at: datetime = time("expires_us", "expires_at")


class ApiTokenRow(Row, table=True):
    """An API token, by its hash. Revoked ones stay: events name them."""

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


_USER: Final = WebUserRow.__table__
_SESSION: Final = WebSessionRow.__table__
_LINK: Final = LoginLinkRow.__table__
_TOKEN: Final = ApiTokenRow.__table__


@dataclass(frozen=True, slots=True)
class Grant:
    """A role, and the owners and domains whose tables it is for; both empty where it is for every table."""

    role: WebRole
    owners: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WebUser:
    """A person who may sign in; `password` is its argon2id hash, None for one who signs in by a proxy or a link."""

    name: str
    grant: Grant
    password: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Credential:
    """The digest of a secret and its user; `grant`: what its bearer may do."""

    digest: bytes
    name: str
    grant: Grant


@dataclass(frozen=True, slots=True)
class LoginLink(Credential):
    """A link that signs a user in once; `digest` is of its secret part."""

    expires_at: datetime


@dataclass(frozen=True, slots=True)
class WebSession(Credential):
    """A signed-in browser; `digest` is of the random id in its cookie."""

    method: SignInMethod
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ApiToken(Credential):
    """The row of an API token; `digest` is of the token, which was shown once."""

    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    revoked_at: datetime | None = None


class _Granted(Mapped[V]):
    """Accounts, each with a grant in two columns."""

    def __init__(self, row: type[Row], value: Callable[..., V]) -> None:
        super().__init__(row, value)
        self.columns = [*self.columns, *(row.__table__.c[name].label(name) for name in ("role", "scope"))]

    def value(self, row: Sequence[Any], /, **others: Any) -> V:
        *_, role, scope = row
        return super().value(row, grant=Grant(role, tuple(scope["owners"]), tuple(scope["domains"])), **others)

    def cells(self, value: Any, /, **others: Any) -> dict[str, Any]:
        scope = {"owners": list(value.grant.owners), "domains": list(value.grant.domains)}
        return super().cells(value, role=value.grant.role, scope=scope, **others)


_USERS: Final = _Granted(WebUserRow, WebUser)
_SESSIONS: Final = _Granted(WebSessionRow, WebSession)
_LINKS: Final = _Granted(LoginLinkRow, LoginLink)
_TOKENS: Final = _Granted(ApiTokenRow, ApiToken)


class AccountReader(Repository):
    """Queries about accounts."""

    def users(self) -> list[WebUser]:
        """Return all users, by name."""
        return _USERS.values(self._connection.execute(select(*_USERS.columns).order_by(_USER.c.name)))

    def user(self, name: str) -> WebUser | None:
        """Return a user by name."""
        return _USERS.first(self._connection.execute(select(*_USERS.columns).where(_USER.c.name == name)))

    def session(self, digest: bytes) -> WebSession | None:
        """Return a session by the digest of its id, whether it still holds or not."""
        statement = select(*_SESSIONS.columns).where(_SESSION.c.digest == digest)
        return _SESSIONS.first(self._connection.execute(statement))

    def sessions(self) -> list[WebSession]:
        """Return all sessions, whether they still hold or not, the last used one first."""
        order = _SESSION.c.seen_at.desc()
        return _SESSIONS.values(self._connection.execute(select(*_SESSIONS.columns).order_by(order)))

    def token(self, digest: bytes) -> ApiToken | None:
        """Return an API token by its digest, whether it still holds or not."""
        return _TOKENS.first(self._connection.execute(select(*_TOKENS.columns).where(_TOKEN.c.digest == digest)))

    def tokens(self) -> list[ApiToken]:
        """Return all API tokens, by name."""
        return _TOKENS.values(self._connection.execute(select(*_TOKENS.columns).order_by(_TOKEN.c.name)))


class AccountWriter(AccountReader):
    """Statements that write accounts."""

    def add_user(self, user: WebUser) -> None:
        """Add a user.

        Raises:
            StoreConflict: there is one of that name.
        """
        if self.user(user.name) is not None:
            raise StoreConflict(f"user '{user.name}' is in the store; change its role, or remove it first")
        self._insert(_USER, [_USERS.cells(user)])

    def remove_user(self, name: str) -> WebUser:
        """Remove a user with every session and unused link of that name, and return them.

        Raises:
            NotRecorded: there is none of that name.
        """
        user = self._known_user(name)
        self._connection.execute(delete(_USER).where(_USER.c.name == name))
        self._sign_out(name)
        return user

    def change_user(
        self, name: str, *, grant: Grant | None = None, password: str | None = None, kept: bytes | None = None
    ) -> WebUser:
        """Set the grant or the password of a user, end their sessions and links, and return them.

        `kept`: the digest of a session that lasts.

        Raises:
            NotRecorded: there is none of that name.
        """
        user = self._known_user(name)
        changed = replace(user, grant=grant or user.grant, password=password or user.password)
        self._connection.execute(update(_USER).where(_USER.c.name == name).values(_USERS.cells(changed)))
        self._sign_out(name, kept)
        return changed

    def _known_user(self, name: str) -> WebUser:
        user = self.user(name)
        if user is None:
            raise NotRecorded(f"user '{name}' is not in the store; 'tablewatch account user list' shows those that are")
        return user

    def _sign_out(self, name: str, kept: bytes | None = None) -> None:
        self._connection.execute(delete(_LINK).where(_LINK.c.name == name))
        self._connection.execute(delete(_SESSION).where(_SESSION.c.name == name, _SESSION.c.digest != (kept or b"")))

    def add_link(self, link: LoginLink) -> None:
        """Add a login link."""
        self._insert(_LINK, [_LINKS.cells(link)])

    def take_link(self, digest: bytes, now: datetime) -> LoginLink | None:
        """Return a link that still holds, and delete it; None where there is none. A link is taken once."""
        statement = delete(_LINK).where(_LINK.c.digest == digest).returning(*_LINKS.columns)
        link = _LINKS.first(self._connection.execute(statement))
        return None if link is None or link.expires_at <= now else link

    def add_session(self, session: WebSession) -> None:
        """Add a session."""
        self._insert(_SESSION, [_SESSIONS.cells(session)])

    def touch_session(self, digest: bytes, at: datetime) -> None:
        """Note when a session was last used."""
        self._connection.execute(update(_SESSION).where(_SESSION.c.digest == digest).values(seen_at=at))

    def end_session(self, digest: bytes) -> None:
        """End a session."""
        self._connection.execute(delete(_SESSION).where(_SESSION.c.digest == digest))

    def add_token(self, token: ApiToken) -> None:
        """Add an API token. Its name is never used again: events name it.

        Raises:
            StoreConflict: there is or was one of that name.
        """
        if self._connection.scalar(select(_TOKEN.c.name).where(_TOKEN.c.name == token.name)) is not None:
            raise StoreConflict(f"API token '{token.name}' is or was in use; choose another name")
        self._insert(_TOKEN, [_TOKENS.cells(token)])

    def use_token(self, digest: bytes, at: datetime) -> None:
        """Note when a token was last used."""
        self._connection.execute(update(_TOKEN).where(_TOKEN.c.digest == digest).values(used_at=at))

    def revoke_token(self, name: str, at: datetime) -> ApiToken:
        """Revoke an API token, and return it; one that is revoked stays as it is.

        Raises:
            NotRecorded: there is none of that name.
        """
        statement = select(*_TOKENS.columns).where(_TOKEN.c.name == name)
        token = _TOKENS.first(self._connection.execute(statement))
        if token is None:
            hint = "'tablewatch account token list' shows those that are"
            raise NotRecorded(f"API token '{name}' is not in the store; {hint}")
        holds = (_TOKEN.c.name == name, _TOKEN.c.revoked_at.is_(None))
        self._connection.execute(update(_TOKEN).where(*holds).values(revoked_at=at))
        return replace(token, revoked_at=token.revoked_at or at)
