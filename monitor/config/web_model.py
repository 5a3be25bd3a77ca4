"""The shape of `web`: where the web application listens, and how people sign in."""

from ipaddress import ip_address, ip_network
from typing import Annotated, Self
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
    secret: Annotated[str, MinLen(16)] = Field(description="What only the proxy and Tablewatch know.")

    @field_validator("trusted")
    @classmethod
    def _networks(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        for network in networks:
            try:
                ip_network(network)
            except ValueError:
                raise ValueError(f"{network!r} is no address or network; write 10.0.20.11/32 or 10.0.20.0/24") from None
        return networks


class Web(Section):
    """The web application, `tablewatch serve`."""

    listen: Annotated[str, Field(pattern="^([^ :]+|\\[[0-9a-fA-F:]+\\]):[0-9]{1,5}$")] = Field(
        "127.0.0.1:8737", description="Address and port."
    )
    public_url: Annotated[str, Field(pattern="^https?://[^/ ]+/?$")] | None = Field(
        None, description="What browsers open, where that is another address; needed to listen beyond this machine."
    )
    hosts: tuple[HostName, ...] = Field(
        (), description="Names by which it may be called, beside those of `public_url` and this machine."
    )
    passwords: bool = Field(
        default=False, description="Whether users sign in by name and password (`tablewatch web user add`)."
    )
    proxy: ProxySignIn | None = Field(None, description="A reverse proxy that signs people in.")

    @model_validator(mode="after")
    def _safe(self) -> Self:
        problem = refused_address(self, self.host)
        if problem is not None:
            raise ValueError(problem)
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
    if not (web.passwords or web.proxy is not None):
        missing.append("a way to sign in (web.passwords or web.proxy)")
    if not web.is_https:
        missing.append("an https web.public_url")
    return f"to listen on {host}, beyond this machine, needs {' and '.join(missing)}" if missing else None


def is_loopback(host: str) -> bool:
    """Check whether an address can be reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def allowed_hosts(web: Web) -> frozenset[str]:
    """Return the names by which the application may be called: against pages that point their own name at it."""
    names = {"localhost", "127.0.0.1", "::1", *(host.strip("[]").lower() for host in web.hosts)}
    if web.public_host is not None:
        names.add(web.public_host.lower())
    return frozenset(names)


def cookie_name(web: Web) -> str:
    """Return the name of the session cookie; `__Host-` makes browsers insist on https and on this host alone."""
    return "__Host-tablewatch" if web.is_https else "tablewatch"
