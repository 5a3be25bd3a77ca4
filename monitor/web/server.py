"""Create the application of a project, and serve it until SIGINT or SIGTERM."""

import gc
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

import uvicorn
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route as Place
from starlette.routing import Router
from starlette.types import ASGIApp

from monitor.config import Config
from monitor.config.project import Project
from monitor.web.boundary import Boundary
from monitor.web.call import Application
from monitor.web.change_feed import TIMING, ChangeFeed, FeedTiming
from monitor.web.connections import BoundedProtocol
from monitor.web.dispatch import endpoint, refusal
from monitor.web.model_cache import ModelCache
from monitor.web.oidc import OidcProvider
from monitor.web.pages import Pages
from monitor.web.private_answers import MOST_A_MINUTE
from monitor.web.rate_limit import TryLimit, make_gates
from monitor.web.routes import routes
from monitor.web.sign_in import CALLBACK
from monitor.web.status_pages import MOST_STATUS_READS
from monitor.web.verb_routes import API
from store import Store

_GRACE_S: Final = 3
"""Seconds that open requests have to finish at shutdown."""
_MOST_CONNECTIONS: Final = 512
_SWITCH_S: Final = 0.001
"""Seconds after which a thread that computes a page lets the event loop run; Python's own are five times as many."""
Freshness: TypeAlias = tuple[float, float]
"""Seconds until a cached page is recomputed in the background, and until it is no longer shown."""
Respond: TypeAlias = Callable[[Request], Awaitable[Response]]
NOT_KEPT: Final[Freshness] = (0.0, 0.0)
SERVED: Final[Freshness] = (2.0, 10.0)


def make_application(
    project: Project,
    store: Store,
    *,
    freshness: Freshness = NOT_KEPT,
    timing: FeedTiming = TIMING,
) -> Application:
    """Return the application of a project, whose store the caller closes; models of pages are kept for some seconds."""
    monotonic = project.clock.monotonic
    models = ModelCache(monotonic, *freshness)
    feed = ChangeFeed(store, models.change, timing)
    questions = TryLimit(monotonic, most=MOST_A_MINUTE, window_s=60)
    gates = make_gates(_MOST_CONNECTIONS)
    readers = TryLimit(monotonic, most=MOST_STATUS_READS, window_s=60)
    return Application(project, store, TryLimit(monotonic), questions, readers, models, feed, gates, _provider(project))


def _provider(project: Project) -> OidcProvider | None:
    web = project.config.web
    if web.oidc is None or web.public_url is None:
        return None
    return OidcProvider(web.oidc, f"{web.public_url.rstrip('/')}{CALLBACK}", project.clock.monotonic)


def asgi(application: Application) -> ASGIApp:
    """Return what a server calls for each request to an application."""
    project, pages = application.project, Pages(application.project)
    of_path: dict[str, dict[str, Respond]] = {}
    for route in routes():
        of_path.setdefault(route.path, {})[route.method] = endpoint(route, application, pages)
    in_order = sorted(of_path, key=lambda path: path.endswith(":path}"))  # such a name takes all after it
    places = [Place(path, _by_method(of_path[path]), methods=list(of_path[path])) for path in in_order]
    twins = [
        Place(f"{page.name}.json", _former_address(project.config, of_path[page.path]["GET"]))
        for page in routes()
        if page.template and page.reply
    ]
    router = Router([*twins, *places], redirect_slashes=False)
    return Boundary(router, project.config.web, lambda request, error: refusal(application, pages, request, error))


def _former_address(config: Config, page: Respond) -> Respond:
    """Return what redirects from a page with `.json` to its model in the API, unless that is the name of a thing."""
    names = {table.name for table in config.tables} | {*config.products, *config.releases}

    async def respond(request: Request) -> Response:
        name = request.path_params.get("name")
        if f"{name}.json" in names:
            request.scope["path_params"] = {"name": f"{name}.json"}
            return await page(request)
        query = f"?{request.url.query}" if request.url.query else ""
        raw: bytes = request.scope["raw_path"]
        return RedirectResponse(f"{API}{raw.decode('ascii').removesuffix('.json')}{query}", 308)

    return respond


def _by_method(of_method: Mapping[str, Respond]) -> Respond:
    """Return what answers every method of a path, so that a refusal lists all that there are."""

    async def respond(request: Request) -> Response:
        return await of_method["GET" if request.method == "HEAD" else request.method](request)

    return respond


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address.

    Raises:
        OSError: the address is in use, is none of this machine, or is not allowed.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_MOST_CONNECTIONS)


def server_config(application: Application) -> uvicorn.Config:
    """Return how an application is served. Headers of proxies are not believed: a peer is known by the socket."""
    return uvicorn.Config(
        asgi(application),
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=_GRACE_S,
    )


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, application: Application) -> None:
        super().__init__(config)
        self._application = application

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, which would else last until they are cut off, and then the rest."""
        self._application.feed.stop()
        await super().shutdown(sockets)


def serve(application: Application, listener: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; streams end at once, other open requests are given some seconds."""
    gc.collect()
    sys.setswitchinterval(_SWITCH_S)
    gc.freeze()  # the configuration stays: else each full collection walks over it, 0.4 s for 5,000 tables
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # uvicorn raises the signal again once it has stopped
    _Server(server_config(application), application).run(sockets=[listener])
