"""Send a message to a webhook by Standard Webhooks 1.0.

The time of an attempt is in its `webhook-timestamp`; the id stays the same however often a message is sent.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from monitor.channels.addresses import Network
from monitor.channels.http_client import HttpRequest, RequestFailed, exchange, read_retry_after
from monitor.channels.kind import Attempt, DeliveryFailed, DeliverySucceeded

GONE: Final = 410
_POLITE: Final = 1.0
"""Seconds in which the rest of an answer is read whose status is known already."""
_PREFIX: Final = "whsec_"


class WebhookUnusable(ValueError):
    """A webhook whose secret is invalid."""


def body_of(payload: Mapping[str, Any]) -> bytes:
    """Return the bytes to send and sign: JSON in UTF-8 on one line; equal payloads have equal bytes."""
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

    An answer 2xx means sent. 410 means that the endpoint is gone. Everything else is a failure that may
    be tried again, a redirect too: it is never followed.

    Args:
        url: where to.
        payload: what to say, JSON.
        secret: the key of the signature; without one nothing is signed.
        message_id: the `webhook-id`, the same at every attempt.
        now: the time of this attempt, UTC.
        network: by default the system's.
    """
    try:
        body = body_of(payload)
        headers = _headers(secret, body, message_id=message_id, timestamp=int(now.timestamp()))
        answer = exchange(HttpRequest(url, body, headers=headers), network or Network(), polite_s=_POLITE)
    except (WebhookUnusable, RequestFailed) as error:
        return DeliveryFailed(str(error))
    return _judged(answer.status, answer.retry_after, now)


def _headers(secret: str | None, body: bytes, *, message_id: str, timestamp: int) -> Mapping[str, str]:
    headers = {"webhook-id": message_id, "webhook-timestamp": str(timestamp)}
    if secret:
        headers["webhook-signature"] = sign(secret, message_id=message_id, timestamp=timestamp, body=body)
    return headers


def _judged(status: int, retry_after: str | None, now: datetime) -> Attempt:
    if 200 <= status < 300:
        return DeliverySucceeded()
    text = f"the server answered {status}"
    if status == GONE:
        return DeliveryFailed(f"{text}: the endpoint no longer accepts messages", gone=True)
    if 300 <= status < 400:
        return DeliveryFailed(f"{text}: redirects are not followed; update the address in the configuration")
    return DeliveryFailed(text, retry_after=read_retry_after(retry_after, now))
