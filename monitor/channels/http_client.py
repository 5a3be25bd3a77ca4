"""Make one HTTP request to the address of a channel, with one deadline over everything.

Made of the standard library: `http.client` over a connection of our own. What is needed is a connection to the very
address that was checked, with the name kept for the Host header, for SNI and for the certificate, and one deadline over
everything; of the clients that Tablewatch has anyway (requests, by way of apprise) none gives either without replacing
its connection pool, and all of them follow redirects and the environment's proxies by default.

    RequestFailed      no answer; the message says why in our words
"""

import base64
import contextlib
import http.client
import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

from monitor.channels.addresses import AddressError, HostLookup, Network, checked_addresses
from monitor.channels.kind import LONGEST_WAIT
from monitor.channels.timed_socket import MOST_READ, ResponseTooLong, TimedSocket
from monitor.terminal.version import version

MOST_READ_OF_JSON: Final = 2**21
"""The most bytes that are read of a JSON answer, with its headers."""
_SAFE: Final = "%/:@!$&'()*+,;=-._~"

_CERTIFICATES: Final = {
    9: "it is not valid yet",
    10: "it has expired",
    18: "it is self-signed",
    19: "it is self-signed",
    20: "its issuer is unknown",
    62: "it was issued for another host name",
    64: "it was issued for another address",
}
"""Why OpenSSL rejects a certificate, by its code; OpenSSL's own text has the name."""


class RequestFailed(Exception):
    """A request without an answer; whether the service executed it is not known."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request: `headers` in addition to those that every request has."""

    url: str
    body: bytes = b""
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer."""

    status: int
    retry_after: str | None = None
    body: bytes = b""

    def json(self) -> Mapping[str, Any]:
        """Return the object that was answered; an empty one for anything else."""
        try:
            content = json.loads(self.body)
        except ValueError:  # UnicodeDecodeError is one
            return {}
        return content if isinstance(content, dict) else {}


def exchange(request: HttpRequest, network: Network, *, polite_s: float | None = None) -> HttpAnswer:
    """Send a request once and return the answer. A redirect is an answer too: it is never followed.

    Args:
        request: what is sent.
        network: how the world is reached.
        polite_s: seconds in which the other side may say the rest of an answer of which only the status matters; by
            default all of the answer is read, which is JSON.

    Raises:
        RequestFailed: no answer, or not all of it.
    """
    connection = TimedSocket(network.deadline, most=MOST_READ if polite_s is not None else MOST_READ_OF_JSON)
    try:
        place = _place(request.url)
        lookup = HostLookup(place.host, place.port, seconds=connection.left(), allow_private=network.allow_private)
        _connect(connection, place, checked_addresses(lookup, network.resolve), network.trusted)
        return _answer(connection, place, request, polite_s)
    except AddressError as error:
        raise RequestFailed(str(error)) from None
    except ssl.SSLCertVerificationError as error:
        reason = _CERTIFICATES.get(error.verify_code, f"OpenSSL's code {error.verify_code}")
        raise RequestFailed(f"the server's certificate is not trusted: {reason}") from None
    except TimeoutError:
        raise RequestFailed(f"no answer within {network.deadline:g} s") from None
    except (OSError, http.client.HTTPException) as error:
        raise RequestFailed(_text_of(error)) from None
    finally:
        connection.close()


@dataclass(frozen=True, slots=True)
class _Place:
    """The address of a server: `host` in ASCII, `target` as in the request line."""

    secure: bool
    host: str
    port: int
    target: str
    authorization: str | None

    @property
    def named(self) -> str:
        """Return the value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


def _place(url: str) -> _Place:
    try:
        parts = urlsplit(url)
        port, name = parts.port, parts.hostname or ""
        host = name if ":" in name else name.encode("idna").decode()
    except ValueError:  # UnicodeError is one
        raise RequestFailed("its URL is not valid") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise RequestFailed("its URL is not valid; it looks like https://host/path")
    secure = parts.scheme == "https"
    path = quote(parts.path or "/", safe=_SAFE)
    target = f"{path}?{quote(parts.query, safe=_SAFE + '?')}" if parts.query else path
    login = parts.netloc.rpartition("@")[0]
    basic = "Basic " + base64.b64encode(unquote_to_bytes(login)).decode() if login else None
    return _Place(secure, host, port or (443 if secure else 80), target, basic)


def _connect(connection: TimedSocket, place: _Place, addresses: Sequence[str], trusted: ssl.SSLContext | None) -> None:
    """Connect to the first address that answers; each may take its share of the time, so that the last is tried too."""
    for remaining in range(len(addresses), 0, -1):
        try:
            share = connection.left() / remaining
            connection.connect(addresses[-remaining], place.port, seconds=share)
            break
        except OSError:
            if remaining == 1:
                raise
    if place.secure:
        connection.secure(trusted or ssl.create_default_context(), place.host)


def _answer(connection: TimedSocket, place: _Place, request: HttpRequest, polite_s: float | None) -> HttpAnswer:
    client = http.client.HTTPConnection(place.host, place.port)
    client.auto_open = 0  # it never opens a connection of its own, to an unchecked address
    client.sock = connection  # as much of a socket as it uses
    client.putrequest(request.method, place.target, skip_host=True, skip_accept_encoding=True)
    for name, value in {**_headers(place, request), **request.headers}.items():
        client.putheader(name, value)
    client.endheaders(request.body or None)
    with client.getresponse() as answer:
        status, retry_after = answer.status, answer.headers.get("Retry-After")
        if polite_s is None:
            return HttpAnswer(status, retry_after, answer.read())
        connection.hurry(polite_s)
        with contextlib.suppress(OSError, http.client.HTTPException):  # what else it says is of no interest
            answer.read(MOST_READ)
    return HttpAnswer(status, retry_after)


def _headers(place: _Place, request: HttpRequest) -> dict[str, str]:
    headers = {
        "Host": place.named,
        "User-Agent": f"Tablewatch/{version()}",
        "Content-Type": "application/json",
        "Content-Length": str(len(request.body)),
        "Connection": "close",
    }
    return headers if place.authorization is None else headers | {"Authorization": place.authorization}


def _text_of(error: OSError | http.client.HTTPException) -> str:
    match error:
        case ConnectionRefusedError():
            return "the connection was refused"
        case ssl.SSLError():
            return "the TLS handshake failed"
        case ResponseTooLong():
            return "the response is too large"
        case ConnectionError():
            return "the connection was closed before a response"
        case http.client.HTTPException():
            return "the response is not valid HTTP"
        case _:
            return "the server cannot be reached"


def read_retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Read a Retry-After header (RFC 9110, 10.2.3): seconds or a date; between 0 and `LONGEST_WAIT`.

    None when there is none, or when it cannot be understood.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        seconds = int(text) if len(text) < 10 else LONGEST_WAIT.total_seconds()
        return min(timedelta(seconds=seconds), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:  # what RFC 5322 writes as -0000: UTC, from an unknown place
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment - now, timedelta(0)), LONGEST_WAIT)
