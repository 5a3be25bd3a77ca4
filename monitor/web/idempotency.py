"""Idempotency-Key: a write that is sent again is carried out once, and answered as it was the first time.

The key is of who sends it, and remembered for a day. A claim of the store says whether the first request still runs,
also in another process; one that was interrupted is not carried out again, since what it did is not known (ADR 84).
"""

import json
import re
import zlib
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from monitor.terminal.problem import Problem, Stop
from monitor.web.call import Call
from monitor.web.problems import WebError
from store import RowRefused, StoreBusy

HEADER: Final = "Idempotency-Key"
KEY: Final = "[!#-~][ !#-~]*"
LONGEST: Final = 150
_STRING: Final = re.compile(f'("?)({KEY})\\1')
"""A string of structured fields (RFC 9651) without escapes, or its text alone, as many clients send it."""
_REPEATED: Final = "idempotent-replayed"


def key_of(request: Request) -> str | None:
    """Return the key of a request, if it has one.

    Raises:
        WebError: 400: it is none.
    """
    header = request.headers.get(HEADER)
    if header is None:
        return None
    match = _STRING.fullmatch(header)
    if match is None or len(header) > LONGEST:
        hint = 'such as "8e03978e-40d5-43dd-bc93-6894a57f9324"'
        message = f"{HEADER} is expected as at most {LONGEST} letters of ASCII"
        raise WebError(400, Problem("request.key", message, hint=hint))
    return match[2]


def answer_once(call: Call, request: Request, raw: bytes, *, key: str, answer: Callable[[], Response]) -> Response:
    """Return what `answer` returns, or what it returned to the first request with this key.

    Raises:
        WebError: 422 if that was another request, 409 if it still runs or was interrupted; and those of `answer`.
    """
    store = call.store
    digest = sha256(f"{call.require_principal().actor}\0{key}".encode()).digest()
    sent = json.dumps(json.loads(raw or b"{}"), sort_keys=True)
    content = sha256(f"{request.method} {request.url.path}\0{sent}".encode()).digest()
    claim = store.claim_request(digest.hex(), lock_timeout=timedelta(0))
    if claim is None:
        raise WebError(
            409, Problem("request.in_progress", "the first request with this key still runs; try again later")
        )
    with claim:
        with store.writing() as tx:
            earlier = tx.answered_requests.begin(digest, content, call.now)
        if earlier is not None and earlier.content != content:
            message = f"this {HEADER} was that of another request; use a new one for each"
            raise WebError(422, Problem("request.key_reused", message))
        if earlier is not None:
            return _again(earlier.answer)
        try:
            response = answer()
        except (WebError, Stop, StoreBusy, RowRefused):
            with store.writing() as tx:
                tx.answered_requests.forget(digest)
            raise
        kept = [response.status_code, response.headers.get("location"), bytes(response.body).decode()]
        with store.writing() as tx:
            tx.answered_requests.answer(digest, zlib.compress(json.dumps(kept).encode()))
        return response


def _again(answer: bytes | None) -> Response:
    if answer is None:
        message = "the first request with this key was interrupted, and may have been carried out"
        hint = f"read what there is; to send it again, use a new {HEADER}"
        raise WebError(409, Problem("request.interrupted", message, hint=hint))
    status, location, body = json.loads(zlib.decompress(answer))
    headers = {_REPEATED: "true", **({} if location is None else {"location": location})}
    return Response(body, status, headers, media_type="application/json")
