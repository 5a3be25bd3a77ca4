"""Accounts as they are published: by the commands, the API and the pages; no secret is in them.

Only the answer that makes an API token has the token itself.
"""

from collections.abc import Callable
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field

from monitor.summaries.shapes import Moment, Shape
from store import ApiToken, ReadTransaction, SignInMethod, WebRole, WebSession, WebUser


class TokenState(StrEnum):
    """Whether an API token may be used."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


class AccountLine(Shape):
    """A name with its role, and the owners and domains to whose tables it is limited."""

    name: str
    role: WebRole
    owners: tuple[str, ...]
    domains: tuple[str, ...]

    @property
    def limits(self) -> str:
        """Return the owners and domains in one text; it is empty where there is no limit."""
        return ", ".join([*self.owners, *self.domains])

    @property
    def described(self) -> str:
        """Return the role with its limits."""
        return f"{self.role} ({self.limits})" if self.limits else str(self.role)

    @classmethod
    def granted(cls, account: WebUser | ApiToken | WebSession, /, **others: Any) -> Self:
        """Return an account with its grant in fields of their own."""
        grant = account.grant
        return cls(name=account.name, role=grant.role, owners=grant.owners, domains=grant.domains, **others)


class UserLine(AccountLine):
    """A user; `password`: they have one, and do not sign in by a proxy or a link only."""

    password: bool
    created_at: Moment

    @classmethod
    def of(cls, user: WebUser, /, **others: Any) -> Self:
        """Return a user as a model."""
        return cls.granted(user, password=user.password is not None, created_at=user.created_at, **others)


class UserPage(UserLine):
    """`tablewatch.web_user/1`: a user who was added, changed or removed."""

    schema_: Literal["tablewatch.web_user/1"] = Field("tablewatch.web_user/1", alias="schema")
    removed: bool = False


class TokenLine(AccountLine):
    """An API token without its secret; its last use to the day."""

    state: TokenState
    expires_at: Moment
    last_used: date | None

    @classmethod
    def of(cls, token: ApiToken, now: datetime, /, **others: Any) -> Self:
        """Return a token as a model."""
        state = TokenState.EXPIRED if now >= token.expires_at else TokenState.VALID
        if token.revoked_at is not None:
            state = TokenState.REVOKED
        used = None if token.used_at is None else token.used_at.date()
        return cls.granted(token, state=state, expires_at=token.expires_at, last_used=used, **others)


class TokenPage(TokenLine):
    """`tablewatch.api_token/1`: a token; the secret `token` only in the answer that made it."""

    schema_: Literal["tablewatch.api_token/1"] = Field("tablewatch.api_token/1", alias="schema")
    token: str | None = None


class SessionLine(AccountLine):
    """A signed-in browser; `id` is a part of the stored digest, and no secret follows from it."""

    id: str
    method: SignInMethod
    created_at: Moment
    seen_at: Moment
    expires_at: Moment

    @classmethod
    def of(cls, session: WebSession, /, **others: Any) -> Self:
        """Return a session as a model."""
        return cls.granted(
            session,
            id=session.digest.hex()[:16],
            method=session.method,
            created_at=session.created_at,
            seen_at=session.seen_at,
            expires_at=session.expires_at,
            **others,
        )


class SessionPage(SessionLine):
    """`tablewatch.web_session/1`: a session that was ended."""

    schema_: Literal["tablewatch.web_session/1"] = Field("tablewatch.web_session/1", alias="schema")


class AccountListPage(Shape):
    """`tablewatch.accounts/1`: users, API tokens and the sessions that last."""

    schema_: Literal["tablewatch.accounts/1"] = Field("tablewatch.accounts/1", alias="schema")
    as_of: Moment
    users: tuple[UserLine, ...]
    tokens: tuple[TokenLine, ...]
    sessions: tuple[SessionLine, ...]

    @classmethod
    def read(cls, tx: ReadTransaction, now: datetime, lasts: Callable[[WebSession, datetime], bool]) -> Self:
        """Return the accounts of a store; `lasts`: whether a session holds."""
        return cls(
            as_of=now,
            users=tuple(map(UserLine.of, tx.accounts.users())),
            tokens=tuple(TokenLine.of(token, now) for token in tx.accounts.tokens()),
            sessions=tuple(SessionLine.of(session) for session in tx.accounts.sessions() if lasts(session, now)),
        )
