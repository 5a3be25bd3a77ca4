"""The arguments of a handler: the application, the caller, and the validated request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from pydantic import BaseModel
from starlette.responses import Response

from monitor.config.project import Project
from monitor.terminal.problem import Problem
from monitor.verbs.verb import Access, Nothing
from monitor.web.access import Principal, may_act_on
from monitor.web.change_feed import ChangeFeed
from monitor.web.model_cache import ModelCache
from monitor.web.oidc import OidcProvider
from monitor.web.problems import WebError
from monitor.web.rate_limit import Gate, RequestCost, TryLimit
from store import ReadTransaction, Store


@dataclass(frozen=True, slots=True)
class Application:
    """State that all requests share."""

    project: Project
    store: Store
    limit: TryLimit
    questions: TryLimit
    status_readers: TryLimit
    models: ModelCache
    feed: ChangeFeed
    gates: Mapping[RequestCost, Gate]
    oidc: OidcProvider | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `query` holds the values of the path and of the query string, `body` the form or the JSON.

    `client` is its address, None behind a proxy that does not name it. `cookie` is that of a session, `attempt` that of
    a browser which was sent to the identity provider. `if_match`: the versions of an incident that the caller accepts.
    """

    application: Application
    now: datetime
    principal: Principal | None
    query: Any
    body: Any
    client: str | None
    cookie: str | None
    attempt: str | None = None
    language: str = "en"
    last_event_id: str | None = None
    if_match: frozenset[int] | None = None

    @property
    def project(self) -> Project:
        """Return the project."""
        return self.application.project

    @property
    def store(self) -> Store:
        """Return the store."""
        return self.application.store

    def check_may_act(self, table: str) -> None:
        """Check that the caller may act on a table.

        Raises:
            WebError: 403.
        """
        if not may_act_on(self.require_principal().grant, self.project.config, table):
            raise WebError(403, Problem("access.table", f"your role does not act on table {table}"))

    def require_principal(self) -> Principal:
        """Return the caller, on a route that requires one.

        Raises:
            WebError: the caller is not signed in.
        """
        if self.principal is None:
            raise WebError(401, Problem("sign_in.needed", "not signed in"))
        return self.principal


Refill: TypeAlias = tuple[str, Callable[[Call, Mapping[str, Sequence[str]]], BaseModel]]
"""The template of the page that has a form, and its model, by what was sent."""
Handler: TypeAlias = Callable[[Call], BaseModel | Response]
View: TypeAlias = Callable[[Project, ReadTransaction, Any, datetime], BaseModel]


@dataclass(frozen=True, slots=True)
class SharedView:
    """A view of the store, whose model is shared by readers for some seconds."""

    view: View

    async def model(self, call: Call, load: RequestCost) -> BaseModel:
        """Return the model as it is now or was a moment ago.

        Raises:
            WebError: 429 or 503: too many models are being computed.
        """
        reader, gate = call.require_principal().actor, call.application.gates[load]
        return await call.application.models.get(
            (self.view, call.query), lambda: gate.run(partial(self, call), reader), reader
        )

    def __call__(self, call: Call) -> BaseModel:
        """Return the model as it is now."""
        with call.store.reading() as tx:
            return self.view(call.project, tx, call.query, call.now)


@dataclass(frozen=True, slots=True)
class WebRoute:
    """One method of one path. A reply that is a model is a page by `template`, else JSON.

    `query` is the model of the values in the path and the query string, `body` that of a form or of JSON. `refill`: the
    page that shows the form of this route again where it is refused. `secret`: what is sent or answered is, so that
    it is not stored under an Idempotency-Key.
    """

    method: str
    path: str
    access: Access
    handle: Handler
    summary: str
    template: str | None = None
    reply: type[BaseModel] | None = None
    query: type[BaseModel] = Nothing
    body: type[BaseModel] | None = None
    status: int = 200
    media_type: str = "application/json"
    load: RequestCost = RequestCost.PAGE
    refill: Refill | None = None
    secret: bool = False

    @property
    def name(self) -> str:
        """Return the path of a page as the API has it."""
        return "/overview" if self.path == "/" else self.path

    @property
    def is_api(self) -> bool:
        """Check whether programs call it: it is in the OpenAPI document, and its errors are JSON."""
        return is_api_path(self.path)


def is_api_path(path: str) -> bool:
    """Check whether a path is that of the API."""
    return path.startswith("/api/")
