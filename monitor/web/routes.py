"""Everything that can be asked of the application: one table, from which come access, documentation and tests.

A page is read at its path; its model is JSON at the same path with `.json`, and below `/api/v1`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from pydantic import BaseModel
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from monitor.web import sign_in
from monitor.web.access import Access
from monitor.web.assets import AssetName, serve_asset
from monitor.web.badge import TableName, show_badge
from monitor.web.call import Call, Nothing, View, WebRoute, reading
from monitor.web.dispatch import as_json
from monitor.web.incident_pages import (
    IncidentListPage,
    IncidentPage,
    IncidentQuery,
    list_incidents,
    list_lasting,
    read_incident,
)
from monitor.web.incident_verbs import VERBS, IncidentNumber, OpenBody, Verb, open_incident, perform
from monitor.web.openapi import document

API: Final = "/api/v1"
_INCIDENT: Final = "/incidents/{id:int}"


@cache
def routes() -> Sequence[WebRoute]:
    """Return every route of the application."""
    return (
        *_page("/", "overview", list_lasting, IncidentListPage, "Incidents that last"),
        *_page("/incidents", "incidents", list_incidents, IncidentListPage, "List incidents", query=IncidentQuery),
        *_page(_INCIDENT, "incident", read_incident, IncidentPage, "Show an incident", query=IncidentNumber),
        *_opening(),
        *(route for name, verb in VERBS.items() for route in _verb(name, verb)),
        *_signing_in(),
        WebRoute(
            "GET", "/badge/{table}.svg", Access.READ, show_badge, "A table's health as a picture", query=TableName
        ),
        WebRoute("GET", f"{API}/openapi.json", Access.READ, _describe, "This document"),
        WebRoute("GET", "/static/{name}", Access.PUBLIC, serve_asset, "A file that pages load", query=AssetName),
        WebRoute("GET", "/healthz", Access.PUBLIC, lambda _: PlainTextResponse("ok\n"), "Whether the process answers"),
        WebRoute("GET", "/readyz", Access.PUBLIC, _is_ready, "Whether the store can be read"),
    )


def _page(
    path: str, template: str, view: View, reply: type[BaseModel], summary: str, query: type[BaseModel] = Nothing
) -> Iterator[WebRoute]:
    """Yield a page that reads the store, with its twins."""
    page = WebRoute("GET", path, Access.READ, reading(view), summary, template=template, reply=reply, query=query)
    name = "/overview" if path == "/" else path
    yield page
    yield from (replace(page, path=twin, template=None) for twin in (f"{name}.json", f"{API}{name}"))


def _verb(name: str, verb: Verb) -> Iterator[WebRoute]:
    """Yield a verb of an incident: the form of its page, and its address in the API."""

    def by_form(call: Call) -> Response:
        return RedirectResponse(f"/incidents/{perform(call, verb).id}", 303)

    def by_program(call: Call) -> BaseModel:
        perform(call, verb)
        return _incident(call, call.query)

    form = WebRoute(
        "POST", f"{_INCIDENT}/{name}", Access.RESPOND, by_form, verb.summary, query=IncidentNumber, body=verb.body
    )
    yield form
    yield replace(form, path=f"{API}{form.path}", handle=by_program, reply=IncidentPage)


def _opening() -> Iterator[WebRoute]:
    """Yield how an incident is logged by hand."""

    def by_form(call: Call) -> Response:
        return RedirectResponse(f"/incidents/{open_incident(call)[0].id}", 303)

    def by_program(call: Call) -> Response:
        incident, is_new = open_incident(call)
        page = _incident(call, IncidentNumber(id=incident.id))
        return as_json(call.application, page.model_dump(mode="json", by_alias=True), 201 if is_new else 200)

    form = WebRoute("POST", "/incidents", Access.RESPOND, by_form, "Log an incident that no check found", body=OpenBody)
    yield form
    yield replace(form, path=f"{API}/incidents", handle=by_program, reply=IncidentPage, status=201)


def _incident(call: Call, number: IncidentNumber) -> IncidentPage:
    with call.store.reading() as tx:
        return read_incident(call.project, tx, number, call.now)


def _signing_in() -> Iterator[WebRoute]:
    """Yield how people sign in and out."""
    yield WebRoute(
        "GET",
        sign_in.SIGN_IN,
        Access.PUBLIC,
        sign_in.show_sign_in,
        "The sign-in page",
        template="sign_in",
        query=sign_in.SignInQuery,
    )
    yield WebRoute(
        "POST", sign_in.SIGN_IN, Access.PUBLIC, sign_in.sign_in, "Sign in by password", body=sign_in.SignInBody
    )
    yield WebRoute(
        "GET",
        sign_in.LINK,
        Access.PUBLIC,
        sign_in.show_link,
        "The page of a login link",
        template="login_link",
        query=sign_in.LinkQuery,
    )
    yield WebRoute("POST", sign_in.LINK, Access.PUBLIC, sign_in.use_link, "Use a login link", body=sign_in.LinkBody)
    yield WebRoute("POST", "/sign-out", Access.PUBLIC, sign_in.sign_out, "Sign out", body=Nothing)


def _describe(_: Call) -> Response:
    return JSONResponse(document([route for route in routes() if route.is_api and route.reply is not None]))


def _is_ready(call: Call) -> Response:
    with call.store.reading() as tx:
        tx.project()
    return PlainTextResponse("ready\n")
