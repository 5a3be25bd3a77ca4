"""Send a message to a webhook by Standard Webhooks 1.0.

Made of the standard library: `http.client` over a connection of our own. What is needed is a connection to the very
address that was checked, with the name kept for the Host header, for SNI and for the certificate, and one deadline over
everything; of the clients that Tablewatch has anyway (requests, by way of apprise) none gives either without replacing
its connection pool, and all of them follow redirects and the environment's proxies unless told not to.

The time of an attempt is in its `webhook-timestamp`; the id stays the same however often a message is sent.
"""

import base64
import binascii
import contextlib
import hashlib
import hmac
import http.client
import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

from monitor.channels.addresses import AddressError, HostLookup, Network, checked_addresses
from monitor.channels.kind import LONGEST_WAIT, Attempt, DeliveryFailed, DeliverySucceeded
from monitor.channels.timed_socket import MOST_READ, TimedSocket, TooLong
from monitor.terminal.version import version

GONE: Final = 410
_POLITE: Final = 1.0
"""Seconds in which the other side may say the rest of an answer whose meaning is known already."""
_PREFIX: Final = "whsec_"
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
"""Why OpenSSL does not trust a certificate, by its code; its own words hold the name."""


class WebhookUnusable(ValueError):
    """A webhook whose address or secret cannot be understood."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a webhook listens: `host` in ASCII, `target` as it stands in the request line."""

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


def body_of(payload: Mapping[str, Any]) -> bytes:
    """Return the bytes that are sent and signed: JSON in UTF-8 on one line; the same payload gives the same bytes."""
    return json.dumps(payload, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()


def sign(secret: str, *, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the `webhook-signature`: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`.

    Args:
        secret: `whsec_` and base64, as the specification serialises it; any other text is the key itself.
        message_id: the `webhook-id`; it holds no full stop.
        timestamp: seconds since 1970.
        body: exactly what is sent.

    Raises:
        WebhookUnusable: the secret begins with `whsec_`, and what follows is no base64, or nothing.
    """
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(_key(secret), signed, hashlib.sha256)).decode()


def _key(secret: str) -> bytes:
    if not secret.startswith(_PREFIX):
        return secret.encode()
    encoded = secret.removeprefix(_PREFIX).strip().rstrip("=")
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise WebhookUnusable("its secret begins with whsec_, but the rest is not valid base64")
    return key


def deliver(
    url: str,
    payload: Mapping[str, Any],
    *,
    secret: str | None = None,
    message_id: str,
    now: datetime,
    network: Network | None = None,
) -> Attempt:
    """Send a message once.

    An answer 2xx means sent. 410 means that nobody wants to hear of us any more. Everything else is a failure that may
    be tried again, a redirect too: it is never followed.

    Args:
        url: where to.
        payload: what to say, JSON.
        secret: the key of the signature; without one nothing is signed.
        message_id: the `webhook-id`, the same at every attempt.
        now: the time of this attempt, UTC.
        network: by default the system's.
    """
    network = network or Network()
    connection = TimedSocket(network.deadline)
    try:
        place = _place(url)
        body = body_of(payload)
        headers = _headers(secret, place, body, message_id=message_id, timestamp=int(now.timestamp()))
        ask = HostLookup(place.host, place.port, seconds=connection.left(), allow_private=network.allow_private)
        names = checked_addresses(ask, network.resolve)
        _connect(connection, place, names, network.trusted)
        return _exchange(connection, place, headers, body, now)
    except (WebhookUnusable, AddressError) as error:
        return DeliveryFailed(str(error))
    except ssl.SSLCertVerificationError as error:
        reason = _CERTIFICATES.get(error.verify_code, f"OpenSSL's code {error.verify_code}")
        return DeliveryFailed(f"the server's certificate is not trusted: {reason}")
    except TimeoutError:
        return DeliveryFailed(f"no answer within {network.deadline:g} s")
    except (OSError, http.client.HTTPException) as error:
        return DeliveryFailed(_said_of(error))
    finally:
        connection.close()


def _place(url: str) -> _Place:
    try:
        parts = urlsplit(url)
        port, name = parts.port, parts.hostname or ""
        host = name if ":" in name else name.encode("idna").decode()
    except ValueError:  # UnicodeError is one
        raise WebhookUnusable("its URL is not valid") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise WebhookUnusable("its URL is not valid; it looks like https://host/path")
    secure = parts.scheme == "https"
    path = quote(parts.path or "/", safe=_SAFE)
    target = f"{path}?{quote(parts.query, safe=_SAFE + '?')}" if parts.query else path
    login = parts.netloc.rpartition("@")[0]
    basic = "Basic " + base64.b64encode(unquote_to_bytes(login)).decode() if login else None
    return _Place(secure, host, port or (443 if secure else 80), target, basic)


def _headers(secret: str | None, place: _Place, body: bytes, *, message_id: str, timestamp: int) -> Mapping[str, str]:
    headers = {
        "Host": place.named,
        "User-Agent": f"Tablewatch/{version()}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
    }
    if secret:
        headers["webhook-signature"] = sign(secret, message_id=message_id, timestamp=timestamp, body=body)
    if place.authorization is not None:
        headers["Authorization"] = place.authorization
    return headers


def _connect(connection: TimedSocket, place: _Place, addresses: Sequence[str], trusted: ssl.SSLContext | None) -> None:
    """Connect to the first address that answers; each may take its share of the time, so that the last has its turn."""
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


def _exchange(
    connection: TimedSocket, place: _Place, headers: Mapping[str, str], body: bytes, now: datetime
) -> Attempt:
    client = http.client.HTTPConnection(place.host, place.port)
    client.auto_open = 0  # it never opens a connection of its own, to an address that nobody checked
    client.sock = connection  # as much of a socket as it uses
    client.putrequest("POST", place.target, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        client.putheader(name, value)
    client.endheaders(body)
    with client.getresponse() as answer:
        attempt = _judged(answer.status, answer.headers.get("Retry-After"), now)
        connection.hurry(_POLITE)
        with contextlib.suppress(OSError, http.client.HTTPException):  # what else it says is of no interest
            answer.read(MOST_READ)
    return attempt


def _judged(status: int, retry_after: str | None, now: datetime) -> Attempt:
    if 200 <= status < 300:
        return DeliverySucceeded()
    text = f"the server answered {status}"
    if status == GONE:
        return DeliveryFailed(f"{text}: the endpoint no longer accepts messages", gone=True)
    if 300 <= status < 400:
        return DeliveryFailed(f"{text}: redirects are not followed; update the address in the configuration")
    return DeliveryFailed(text, retry_after=read_retry_after(retry_after, now))


def _said_of(error: OSError | http.client.HTTPException) -> str:
    match error:
        case ConnectionRefusedError():
            return "the connection was refused"
        case ssl.SSLError():
            return "the TLS handshake failed"
        case TooLong():
            return "the response is too large"
        case ConnectionError():
            return "the connection was closed before a response"
        case http.client.HTTPException():
            return "the response is not valid HTTP"
        case _:
            return "the server cannot be reached"


def read_retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Read a Retry-After header (RFC 9110, 10.2.3): seconds or a date; between nothing and `LONGEST_WAIT`.

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
