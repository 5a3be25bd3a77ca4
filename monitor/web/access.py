"""Authorisation: a principal, the access that a route asks for, and the tables a role is limited to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from monitor.config import Config
from monitor.verbs.verb import Access
from store import Grant, SignInMethod, WebRole

_OF_ALL: Final = (Access.PUBLIC, Access.OWN_ACCOUNT)
ALLOWED: Final[Mapping[WebRole, frozenset[Access]]] = {
    WebRole.VIEWER: frozenset({*_OF_ALL, Access.READ}),
    WebRole.RESPONDER: frozenset({*_OF_ALL, Access.READ, Access.RESPOND}),
    WebRole.OWNER: frozenset({*_OF_ALL, Access.READ, Access.RESPOND}),
    WebRole.STEWARD: frozenset({*_OF_ALL, Access.READ, Access.RELEASE, Access.ASK}),
    WebRole.ADMIN: frozenset(Access),
    WebRole.ASK: frozenset({*_OF_ALL, Access.ASK}),
}
"""The rights of each role; programs never have `OWN_ACCOUNT`. `Grant.owners` and `domains` limit the tables."""


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
    if principal is None or access is Access.PUBLIC:
        return access is Access.PUBLIC
    is_program = principal.method is SignInMethod.API
    return access in ALLOWED[principal.grant.role] and not (is_program and access is Access.OWN_ACCOUNT)


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
