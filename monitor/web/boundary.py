"""The edge of the application, in plain ASGI: hosts, limits of what is sent, security headers, and every error."""

import logging
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.config import Web
from monitor.config.web_model import allowed_hosts
from monitor.terminal.internal_error import error_places
from monitor.terminal.problem import Problem, Stop
from monitor.web.problems import WebError, of_stop
from store import RowRefused, StoreError

LOG: Final = logging.getLogger("tablewatch")
BODY_LIMIT: Final = 1_000_000
"""Bytes of a request, at most."""
BODY_TIMEOUT_S: Final = 10.0
"""Seconds until a request must have arrived completely."""
_PLACES: Final = 8
"""Places in the code that are logged of an internal error, the innermost first."""
SECURITY_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Boundary:
    """ASGI middleware: check host and size of a request, add security headers, and turn exceptions into replies."""

    def __init__(self, app: ASGIApp, web: Web, refuse: Callable[[Request, WebError], Response]) -> None:
        """Wrap an application; `refuse` makes the answer of an error."""
        self._app = app
        self._hosts = allowed_hosts(web)
        self._refuse = refuse
        self._https = web.is_https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
        else:
            await self._handle(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        scope["app"] = self._app  # Starlette then raises for a path or method that is not there, and this answers
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
                if self._https:
                    headers["strict-transport-security"] = "max-age=31536000"
            await send(message)

        try:
            self._check(Headers(scope=scope))
            await self._app(scope, _bounded(receive), send_with_headers)
        except Exception as error:
            if started:  # half an answer cannot be taken back: the connection ends
                raise
            await self._refuse(request, error_of(error))(scope, receive, send_with_headers)

    def _check(self, headers: Headers) -> None:
        host = headers.getlist("host")
        if len(host) != 1 or _name_of(host[0]) not in self._hosts:
            hint = "add the name to web.hosts or web.public_url"
            raise WebError(400, Problem("request.host", "the application is not called by this name", hint=hint))
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:18]) > BODY_LIMIT:
            raise _too_large()


def _name_of(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _too_large() -> WebError:
    return WebError(413, Problem("request.too_large", f"the request has more than {BODY_LIMIT:,} bytes"))


def _bounded(receive: Receive) -> Receive:
    """Return a `receive` that refuses a body that is too large or comes too slowly."""
    size, whole = 0, False
    deadline: float | None = None

    async def bounded() -> Message:
        nonlocal size, whole, deadline
        if whole:
            return await receive()
        if deadline is None:
            deadline = anyio.current_time() + BODY_TIMEOUT_S
        try:
            with anyio.fail_after(deadline - anyio.current_time()):
                message = await receive()
        except TimeoutError:
            raise WebError(408, Problem("request.timeout", "the request did not arrive in time")) from None
        size += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if size > BODY_LIMIT:
            raise _too_large()
        return message

    return bounded


def error_of(error: Exception) -> WebError:
    """Return how a request is refused for an error; an unexpected one is logged by its place, without values."""
    match error:
        case WebError():
            return error
        case Stop():
            return of_stop(error)
        case HTTPException():
            code = {404: "request.not_found", 405: "request.method"}.get(error.status_code, "request")
            return WebError(error.status_code, Problem(code, error.detail.lower()), headers=error.headers)
        case ClientDisconnect():  # no client reads the answer
            return WebError(408, Problem("request.timeout", "the request did not arrive"))
        case StoreError():
            is_refused = isinstance(error, RowRefused)
            return WebError(422 if is_refused else 503, Problem("store.refused" if is_refused else "store", str(error)))
        case _:
            kind = type(error).__name__
            places = [place.strip() for place in error_places(error)[:0:-1]]
            LOG.error("internal error (%s): %s", kind, " < ".join(places[:_PLACES]))
            return WebError(500, Problem("bug", f"internal error ({kind}); please report it"))
