"""The shape of `web`: where the web application listens, and how people sign in."""

from ipaddress import ip_address, ip_network
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from annotated_types import MinLen
from pydantic import Field, field_validator, model_validator

from monitor.config.scalars import Section

HeaderName = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9-]*$")]
HostName = Annotated[str, Field(pattern="^[A-Za-z0-9.-]+$|^\\[[0-9a-fA-F:]+\\]$")]


class ProxySignIn(Section):
    """A reverse proxy that has already signed people in, and names them in a header."""

    header: HeaderName = Field("X-Forwarded-User", description="The header that names the user.")
    trusted: Annotated[tuple[str, ...], MinLen(1)] = Field(
        description="Addresses or networks of the proxy; a connection from elsewhere that has the header is refused."
    )
    secret_header: HeaderName = Field(
        "X-Tablewatch-Proxy-Secret", description="The header in which the proxy sends `secret`."
    )
    secret: Annotated[str, MinLen(16)] = Field(description="Secret shared by the proxy and Tablewatch.")

    @field_validator("trusted")
    @classmethod
    def _networks(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        for network in networks:
            try:
                ip_network(network)
            except ValueError:
                raise ValueError(f"{network!r} is no address or network; write 10.0.20.11/32 or 10.0.20.0/24") from None
        return networks


class GroupRole(Section):
    """What the members of a group of the identity provider may do."""

    group: Annotated[str, MinLen(1)] = Field(description="A value of the claim `groups_claim`.")
    role: Literal["viewer", "responder", "owner", "steward", "admin", "ask"] = Field(description="What they may do.")
    owners: tuple[str, ...] = Field((), description="Act on incidents of the tables of these owners; of `owners`.")
    domains: tuple[str, ...] = Field((), description="Act on incidents of the tables of these domains; of `domains`.")

    @model_validator(mode="after")
    def _limited(self) -> Self:
        if self.role == "owner" and not (self.owners or self.domains):
            raise ValueError("role owner needs owners or domains: whose tables")
        return self


class OidcSignIn(Section):
    """An OpenID Connect provider that signs people in; needs the extra `[oidc]` and `public_url`."""

    issuer: str = Field(description="Its issuer identifier, exactly as the provider writes it; https.")
    client_id: Annotated[str, MinLen(1)] = Field(description="Client id of this application.")
    client_secret: Annotated[str, MinLen(1)] | None = Field(
        None, description="Client secret; none for a public client."
    )
    scopes: tuple[str, ...] = Field(("openid", "profile", "email"), description="Requested scopes.")
    name_claim: Annotated[str, MinLen(1)] = Field(
        "preferred_username", description="The claim that is the user's name; `email` only where it is verified."
    )
    groups_claim: Annotated[str, MinLen(1)] = Field(
        "groups", description="The claim of the ID token that lists the user's groups."
    )
    roles: tuple[GroupRole, ...] = Field(
        (), description="Roles by group; the first whose group the user is in applies, else viewer."
    )

    @field_validator("issuer")
    @classmethod
    def _unheard(cls, issuer: str) -> str:
        if not is_private_way(issuer):
            raise ValueError("an issuer begins with https:// (http:// on this machine only)")
        return issuer

    @field_validator("scopes")
    @classmethod
    def _with_openid(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        if "openid" not in scopes:
            raise ValueError("the scopes have to include 'openid'")
        return scopes

    @property
    def host(self) -> str:
        """Return the host of the provider, for people."""
        return urlsplit(self.issuer).hostname or self.issuer


class Web(Section):
    """The web application, `tablewatch serve`."""

    listen: Annotated[str, Field(pattern="^([^ :]+|\\[[0-9a-fA-F:]+\\]):[0-9]{1,5}$")] = Field(
        "127.0.0.1:8737", description="Address and port."
    )
    public_url: Annotated[str, Field(pattern="^https?://[^/ ]+/?$")] | None = Field(
        None, description="Address that browsers open, if different; required to listen beyond this machine."
    )
    hosts: tuple[HostName, ...] = Field((), description="Further host names that are answered.")
    passwords: bool = Field(
        default=False, description="Whether users sign in by name and password (`tablewatch account user add`)."
    )
    client_header: HeaderName | None = Field(
        None,
        description="Header in which a reverse proxy on this machine or in `proxy.trusted` names the client's address, "
        "such as `X-Forwarded-For`; of several the last that is no proxy's. Failed sign-ins are counted by it.",
    )
    changes: bool = Field(
        default=False,
        description="Whether administrators may change tables by pages; `tablewatch.d/ui.yaml` beside the "
        "configuration holds the changes, and is read last.",
    )
    proxy: ProxySignIn | None = Field(None, description="A reverse proxy that signs people in.")
    oidc: OidcSignIn | None = Field(None, description="An OpenID Connect provider that signs people in.")

    @model_validator(mode="after")
    def _safe(self) -> Self:
        problem = refused_address(self, self.host)
        if problem is not None:
            raise ValueError(problem)
        if self.oidc is not None and self.public_url is None:
            raise ValueError("web.oidc needs web.public_url: the address to which the provider sends browsers back")
        return self

    @property
    def host(self) -> str:
        """Return the address to listen on, without brackets."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Return the port to listen on."""
        return int(self.listen.rpartition(":")[2])

    @property
    def is_https(self) -> bool:
        """Check whether browsers reach it by https."""
        return self.public_url is not None and self.public_url.startswith("https://")

    @property
    def public_host(self) -> str | None:
        """Return the host of the public URL; None where there is none."""
        return None if self.public_url is None else urlsplit(self.public_url).hostname


def refused_address(web: Web, host: str) -> str | None:
    """Return why nothing may listen on an address; None if it may: this machine only, or with sign-in and https."""
    if is_loopback(host):
        return None
    missing = []
    if not web.passwords and web.proxy is None and web.oidc is None:
        missing.append("a way to sign in (web.passwords, web.proxy or web.oidc)")
    if not web.is_https:
        missing.append("an https web.public_url")
    return f"to listen on {host}, beyond this machine, needs {' and '.join(missing)}" if missing else None


def is_loopback(host: str) -> bool:
    """Check whether an address can be reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_private_way(url: object) -> bool:
    """Check whether traffic to an address cannot be intercepted: https, or http on this machine."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host = parts.hostname
    except ValueError:
        return False
    return host is not None and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def allowed_hosts(web: Web) -> frozenset[str]:
    """Return the names by which the application may be called: against pages that point their own name at it."""
    names = {"localhost", "127.0.0.1", "::1", *(host.strip("[]").lower() for host in web.hosts)}
    if web.public_host is not None:
        names.add(web.public_host.lower())
    return frozenset(names)


def cookie_name(web: Web) -> str:
    """Return the name of the session cookie; `__Host-` makes browsers insist on https and on this host alone."""
    return "__Host-tablewatch" if web.is_https else "tablewatch"


def attempt_cookie_name(web: Web) -> str:
    """Return the name of the cookie that a browser has while it is at the identity provider."""
    return f"{cookie_name(web)}-attempt"
