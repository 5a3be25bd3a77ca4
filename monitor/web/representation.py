"""Conditional requests and compression (RFC 9110): the ETag of a read, If-None-Match, If-Match, gzip.

A tag is weak, since `as_of` and the coding differ where nothing else does. That of an incident begins with its version,
which If-Match is compared by: an incident whose cost has grown by a minute is still the one that was seen (ADR 84).
"""

import gzip
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from monitor.terminal.problem import Problem
from monitor.web.problems import WebError

_TAG: Final = re.compile(r'(?:W/)?"([^"]*)"')
_VERSION: Final = re.compile(r"(\d{1,18})-[0-9a-f]+")
_SMALLEST: Final = 1_000
"""Bytes from which compression is worth its time."""
_LEVEL: Final = 5
_COMPRESSED: Final = ("application/json", "text/html", "text/css", "text/javascript", "image/svg+xml")


def etag_of(text: str, value: Mapping[str, Any]) -> str:
    """Return the tag of a JSON document; when it was read makes no difference."""
    read_at = value.get("as_of")
    kept = text if read_at is None else text.replace(f'"{read_at}"', "")
    digest = blake2b(kept.encode(), digest_size=12).hexdigest()
    version = value.get("version")
    return f'W/"{version}-{digest}"' if isinstance(version, int) else f'W/"{digest}"'


def is_known(request: Request, etag: str) -> bool:
    """Check whether the client has a document already, by If-None-Match."""
    header = request.headers.get("if-none-match", "")
    return header.strip() == "*" or etag.removeprefix("W/").strip('"') in _TAG.findall(header)


def versions_seen(request: Request, *, has_version: bool) -> frozenset[int] | None:
    """Return the versions of an incident that If-Match names; None for any.

    Raises:
        WebError: 412: what is changed has no version, so that no tag can be that of it.
    """
    header = request.headers.get("if-match")
    if header is None or header.strip() == "*":
        return None
    if not has_version:
        hint = "only incidents have a version; send the request without If-Match"
        raise WebError(412, Problem("request.precondition", "If-Match names a version, and this has none", hint=hint))
    return frozenset(int(match[1]) for tag in _TAG.findall(header) if (match := _VERSION.fullmatch(tag)))


def compressed(request: Request, response: Response) -> Response:
    """Return a response as the client takes it: by gzip where it is large enough and a text."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    if isinstance(response, StreamingResponse) or kind not in _COMPRESSED:
        return response
    response.headers.append("vary", "Accept-Encoding")
    if len(response.body) >= _SMALLEST and _takes_gzip(request.headers.get("accept-encoding", "")):
        response.body = gzip.compress(bytes(response.body), _LEVEL, mtime=0)
        response.headers["content-encoding"] = "gzip"
        response.headers["content-length"] = str(len(response.body))
    return response


def _takes_gzip(accepted: str) -> bool:
    offers = dict(part.strip().lower().partition(";")[::2] for part in accepted.split(","))
    weight = offers.get("gzip", offers.get("*"))
    return weight is not None and re.fullmatch(r"\s*q=0(\.0*)?\s*", weight) is None
