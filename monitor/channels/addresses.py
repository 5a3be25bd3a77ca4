"""Resolve the address of a webhook, and refuse those in private networks (SSRF).

A name is resolved once, ALL its addresses are checked, and the connection is made to an address that was checked: a
name that means another place a moment later (DNS rebinding) reaches nothing. The list is our own, since
`ipaddress.is_global` of the Pythons we support takes some ways into a private network for global ones.

    AddressError
    ├── AddressRefused     an address that no alert may be sent to
    └── NotResolved        the name means nothing, or the name server did not answer in time
"""

import ipaddress
import queue
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, TypeAlias

Resolver: TypeAlias = Callable[[str, int], Sequence[str]]
"""Returns the numeric addresses of a name, in the order in which to try them; raises OSError."""

DEADLINE: Final = 15.0
"""Seconds for all steps: the name, the connection, TLS, sending and the answer."""
_V4: Final = {
    "0.0.0.0/8": "unspecified",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared (carrier-grade NAT)",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved for protocols",
    "192.0.2.0/24": "for documentation",
    "192.88.99.0/24": "a 6to4 relay",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "for benchmarks",
    "198.51.100.0/24": "for documentation",
    "203.0.113.0/24": "for documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
_V6: Final = {
    "::/128": "unspecified",
    "::1/128": "loopback",
    "fc00::/7": "private (unique local)",
    "fe80::/10": "link-local",
    "fec0::/10": "private (site-local)",
    "ff00::/8": "multicast",
    "2001::/23": "reserved for protocols (Teredo among them)",
    "2001:db8::/32": "for documentation",
    "2002::/16": "a 6to4 tunnel",
    "3fff::/20": "for documentation",
}
_DENIED_V4: Final = {IPv4Network(network): name for network, name in _V4.items()}
_DENIED_V6: Final = {IPv6Network(network): name for network, name in _V6.items()}
_GLOBAL_V6: Final = IPv6Network("2000::/3")
"""All networks allocated for the internet; addresses outside of them are refused."""
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})


class AddressError(Exception):
    """The address of a webhook is invalid."""


class AddressRefused(AddressError):
    """An address to which no alert may be sent."""


class NotResolved(AddressError):
    """A name without an address."""


@dataclass(frozen=True, slots=True)
class HostLookup:
    """The server of a webhook: `host` is a name, or a numeric address in any spelling; `seconds` to resolve it."""

    host: str
    port: int
    seconds: float
    allow_private: bool = False


def checked_addresses(question: HostLookup, resolve: Resolver) -> Sequence[str]:
    """Resolve a name once and return all its addresses, each of which is allowed.

    Raises:
        AddressRefused: one of the addresses lies where no alert may go, whatever the others are.
        NotResolved: no address, or no answer in time.
    """
    names = _resolve_within(question, resolve)
    if not names:
        raise NotResolved("its name has no address")
    for address in names:
        why = why_refused(address)
        if why is not None and not question.allow_private:
            raise AddressRefused(
                f"its address is {why}, and alerts are not sent there; to allow it, "
                "set 'allow_private: true' for the webhook"
            )
    return names


def why_refused(address: str) -> str | None:
    """Return the kind of network of a numeric address that is not allowed; None for one on the internet."""
    try:
        place = ipaddress.ip_address(address)
    except ValueError:
        return "not a numeric address"
    return _why_refused_v4(place) if isinstance(place, IPv4Address) else _why_refused_v6(place)


def _why_refused_v4(place: IPv4Address) -> str | None:
    return next((name for network, name in _DENIED_V4.items() if place in network), None)


def _why_refused_v6(place: IPv6Address) -> str | None:
    within = place if place.scope_id is None else IPv6Address(int(place))
    if within in _MAPPED or within in _NAT64:  # another spelling of an IPv4 address, which is what counts
        return _why_refused_v4(IPv4Address(int(within) & 0xFFFF_FFFF))
    named = next((name for network, name in _DENIED_V6.items() if within in network), None)
    if named is not None:
        return named
    if within not in _GLOBAL_V6:
        return "reserved"
    if (int(within) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return _why_refused_v4(IPv4Address(int(within) & 0xFFFF_FFFF))
    return None


def system_resolver(host: str, port: int) -> Sequence[str]:
    """Resolve by the system, which also reads all spellings of addresses (`127.1`, `0x7f000001`, `2130706433`)."""
    results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in results))


def _resolve_within(question: HostLookup, resolve: Resolver) -> Sequence[str]:
    """Resolve in a thread: the resolver of the system has no deadline and cannot be interrupted."""
    answer: queue.SimpleQueue[Sequence[str] | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answer.put(resolve(question.host, question.port))
        except (OSError, UnicodeError):  # UnicodeError: a label that is empty or too long for the name system
            answer.put(None)

    threading.Thread(target=ask, name="resolve", daemon=True).start()
    try:
        result = answer.get(timeout=max(question.seconds, 0.001))
    except queue.Empty:
        raise NotResolved("its name was not resolved in time") from None
    if result is None:
        raise NotResolved("its name could not be resolved")
    return result


@dataclass(frozen=True, slots=True)
class Network:
    """How services are reached.

    `resolve`: by default the system's resolver. `trusted`: whose certificates are trusted; by default those that the
    system trusts. `deadline`: seconds for everything. `allow_private`: whether an address may lie in a private network.
    """

    resolve: Resolver = system_resolver
    trusted: ssl.SSLContext | None = None
    deadline: float = DEADLINE
    allow_private: bool = False
