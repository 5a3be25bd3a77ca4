"""Authorisation: a principal, the access that a route asks for, and the tables a role is limited to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from monitor.config import Config
from monitor.verbs.verb import Access
from store import Grant, SignInMethod, WebRole

ALLOWED: Final[Mapping[WebRole, frozenset[Access]]] = {
    WebRole.VIEWER: frozenset({Access.PUBLIC, Access.READ}),
    WebRole.RESPONDER: frozenset({Access.PUBLIC, Access.READ, Access.RESPOND}),
    WebRole.OWNER: frozenset({Access.PUBLIC, Access.READ, Access.RESPOND}),
    WebRole.STEWARD: frozenset({Access.PUBLIC, Access.READ, Access.RELEASE, Access.ASK}),
    WebRole.ADMIN: frozenset(Access),
    WebRole.ASK: frozenset({Access.PUBLIC, Access.ASK}),
}
"""The rights of each role; `Grant.owners` and `Grant.domains` limit on which tables it may act."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated person or program. `session` is the digest of a browser's session id."""

    name: str
    method: SignInMethod
    grant: Grant
    session: bytes | None = None

    @property
    def actor(self) -> str:
        """Return the name under which its actions are recorded: the authenticated name and how it was proved."""
        return f"{self.name} ({self.method})"


def is_allowed(principal: Principal | None, access: Access) -> bool:
    """Check whether a user, or None without sign-in, may use a route."""
    return access is Access.PUBLIC or (principal is not None and access in ALLOWED[principal.grant.role])


def may_act_on(grant: Grant, config: Config, table: str) -> bool:
    """Check whether a role that acts may act on a table: any, or those of its owners and domains.

    An owner without owners and domains may act on nothing. A table that is not configured has no owner.
    """
    if grant.role is not WebRole.OWNER and not (grant.owners or grant.domains):
        return True
    configured = config.table(table)
    if configured is None:
        return False
    return config.owner_of(configured) in grant.owners or configured.domain in grant.domains
