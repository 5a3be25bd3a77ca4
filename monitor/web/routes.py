"""All routes of the application: one table, from which access, documentation and tests are derived.

A page is read at its path; its model is JSON below `/api/v1`, where the same path with `.json` redirects.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final
from urllib.parse import quote

from pydantic import BaseModel
from starlette.responses import JSONResponse, RedirectResponse, Response

from monitor.answers.ask import Answer, AnswerPlan
from monitor.config.web_model import cookie_name
from monitor.integrations.results import ExternalRun
from monitor.summaries.audit import PromiseAudit
from monitor.summaries.coverage import CheckCoverage
from monitor.verbs.configuration import CHANGE, TableSettings
from monitor.verbs.release import ReleaseName
from monitor.verbs.verb import Access, Nothing
from monitor.web import sign_in
from monitor.web.accounts import account_routes
from monitor.web.bulk import BulkBody, BulkQuery, act_on_all, show_again, show_bulk
from monitor.web.call import Call, SharedView, View, WebRoute
from monitor.web.config_changes import (
    ChangePage,
    ChangeQuery,
    applied_change,
    download_patch,
    preview_change,
    show_change_form,
)
from monitor.web.config_changes import show_again as show_change_again
from monitor.web.event_stream import ChangeEvent, EventQuery, follow_changes
from monitor.web.long_commands import long_routes
from monitor.web.openapi import api_page, document
from monitor.web.pages import AssetName, serve_asset
from monitor.web.pipeline_requests import (
    RecordedRun,
    RequestedRuns,
    RunBody,
    RunForm,
    record_run,
    request_run,
    request_runs,
)
from monitor.web.private_answers import (
    QuestionBody,
    QuestionPage,
    give_answer,
    list_questions,
    plan_answer,
    show_answer,
    show_plan,
)
from monitor.web.rate_limit import RequestCost
from monitor.web.reports import ReportListQuery, ReportQuery, list_reports, show_record, show_report
from monitor.web.status import TableName, show_badge, show_liveness, show_metrics, show_readiness
from monitor.web.status_pages import (
    StatusSecret,
    show_status,
    show_status_badge,
)
from monitor.web.verb_routes import API, INCIDENT, form_routes, table_page, verb_routes
from monitor.web.views.alert_log import AlertLogPage, AlertLogQuery, list_alerts
from monitor.web.views.audit import show_audit
from monitor.web.views.budgets import BudgetListPage, list_budgets
from monitor.web.views.checks import CheckCostPage, CheckCostQuery, CheckPage, CheckQuery, list_check_costs, show_check
from monitor.web.views.configuration import ConfigPage, show_configuration
from monitor.web.views.coverage import show_coverage
from monitor.web.views.downtime import DowntimePage, DowntimeQuery, show_downtime
from monitor.web.views.incident_list import IncidentListPage, IncidentQuery, list_incidents
from monitor.web.views.incidents import IncidentPage, IncidentRequest, show_incident
from monitor.web.views.overview import OverviewPage, show_overview
from monitor.web.views.products import (
    ProductListPage,
    ProductPage,
    ProductQuery,
    list_products,
    show_product,
)
from monitor.web.views.releases import (
    ReleaseComparisonPage,
    ReleaseListPage,
    ReleasePage,
    list_releases,
    show_comparison,
    show_release,
)
from monitor.web.views.search import SearchPage, SearchQuery, search
from monitor.web.views.shapes import NameListQuery
from monitor.web.views.table import TablePage, TableQuery, show_table
from monitor.web.views.tables import TableListPage, TableListQuery, list_tables

_HEAVY_VIEWS: Final = (show_downtime, show_comparison, show_audit)
"""Views that compute for long over a large store: they have few places, so that other pages have theirs."""


@cache
def routes() -> Sequence[WebRoute]:
    """Return every route of the application."""
    return (
        *_pages(),
        *verb_routes(),
        *_bulk(),
        *_asking(),
        *_running(),
        *_recording(),
        *_configuring(),
        *_signing_in(),
        *account_routes(),
        *long_routes(),
        WebRoute(
            "GET", "/badge/{table:path}.svg", Access.READ, show_badge, "A table's health as a picture", query=TableName
        ),
        WebRoute("GET", f"{API}/openapi.json", Access.READ, _describe, "This document"),
        WebRoute(
            "GET", "/api", Access.READ, lambda call: api_page(_document(call)), "The API, for people", template="api"
        ),
        WebRoute(
            "GET",
            f"{API}/events",
            Access.READ,
            follow_changes,
            "Follow changes of incidents as server-sent events; the data of each is of this shape",
            reply=ChangeEvent,
            query=EventQuery,
            media_type="text/event-stream",
        ),
        WebRoute(
            "GET",
            "/static/{name}",
            Access.PUBLIC,
            serve_asset,
            "A file that pages load",
            query=AssetName,
            load=RequestCost.NONE,
        ),
        WebRoute(
            "GET",
            "/status/{secret}",
            Access.PUBLIC,
            show_status,
            "Whether the data of a table or a data product may be used, at a secret address",
            query=StatusSecret,
            load=RequestCost.VIEW,
        ),
        WebRoute(
            "GET",
            "/status/{secret}/badge.svg",
            Access.PUBLIC,
            show_status_badge,
            "The same as a picture, which other sites may show",
            query=StatusSecret,
            load=RequestCost.VIEW,
        ),
        WebRoute("GET", "/metrics", Access.READ, show_metrics, "Metrics for Prometheus", load=RequestCost.VIEW),
        WebRoute("GET", "/healthz", Access.PUBLIC, show_liveness, "Whether the process answers", load=RequestCost.NONE),
        WebRoute("GET", "/readyz", Access.PUBLIC, show_readiness, "Whether the store can be read"),
    )


def _bulk() -> Iterator[WebRoute]:
    """Yield how a verb is applied to several incidents; programs call the address of each."""
    yield WebRoute(
        "GET",
        "/incidents/bulk",
        Access.RESPOND,
        show_bulk,
        "Confirm a verb on several incidents",
        template="bulk",
        query=BulkQuery,
    )
    yield WebRoute(
        "POST",
        "/incidents/bulk",
        Access.RESPOND,
        act_on_all,
        "Apply a verb to several incidents",
        body=BulkBody,
        refill=("bulk", show_again),
    )


def _pages() -> Iterator[WebRoute]:
    """Yield the pages that read the store, each with its twins."""
    yield from _page("/", "overview", show_overview, OverviewPage, "What is open and how tables are")
    yield from _page("/incidents", "incidents", list_incidents, IncidentListPage, "List incidents", IncidentQuery)
    yield from _page(INCIDENT, "incident", show_incident, IncidentPage, "Show an incident", IncidentRequest)
    yield from _page("/tables", "tables", list_tables, TableListPage, "List tables", TableListQuery)
    yield from _page("/tables/{name:path}", "table", show_table, TablePage, "Show a table", TableQuery)
    yield from _page("/search", "search", search, SearchPage, "Find tables, checks, incidents and owners", SearchQuery)
    yield WebRoute("GET", "/keys", Access.READ, lambda _: Nothing(), "The keys of the pages", template="keys")
    yield from _page("/products", "products", list_products, ProductListPage, "List data products", NameListQuery)
    yield from _page("/products/{name}", "product", show_product, ProductPage, "Show a data product", ProductQuery)
    yield from _page("/coverage", "coverage", show_coverage, CheckCoverage, "Show tables and columns without checks")
    yield from _page("/audit", "audit", show_audit, PromiseAudit, "Show how often printed statements came true")
    yield from _page("/checks", "checks", list_check_costs, CheckCostPage, "What checks cost and find", CheckCostQuery)
    yield from _page("/checks/{id:path}", "check", show_check, CheckPage, "Show the history of a check", CheckQuery)
    yield from _page("/downtime", "downtime", show_downtime, DowntimePage, "Downtime of some days", DowntimeQuery)
    yield from _page("/releases", "releases", list_releases, ReleaseListPage, "List releases")
    yield from _page("/releases/{name}", "release", show_release, ReleasePage, "Show a release", ReleaseName)
    comparison = _page(
        "/releases/{name}/comparison",
        "release_comparison",
        show_comparison,
        ReleaseComparisonPage,
        "How the remedies of a release compare",
        ReleaseName,
    )
    yield from (replace(route, access=Access.RELEASE) for route in comparison)
    yield WebRoute(
        "GET",
        "/releases/{name}/record",
        Access.READ,
        show_record,
        "The record of a release with the certificates of its exports",
        query=ReleaseName,
        load=RequestCost.HEAVY_VIEW,
    )
    budgets = _page("/budgets", "budgets", list_budgets, BudgetListPage, "List privacy budgets")
    yield from (replace(route, access=Access.RELEASE) for route in budgets)
    yield from _page("/alerts", "alerts", list_alerts, AlertLogPage, "Who was notified, and why not", AlertLogQuery)
    yield from _page(
        "/configuration",
        "configuration",
        show_configuration,
        ConfigPage,
        "The configuration as it was loaded",
    )
    yield WebRoute(
        "GET", "/reports", Access.READ, list_reports, "The reports", template="reports", query=ReportListQuery
    )
    yield WebRoute(
        "GET",
        "/reports/{period}",
        Access.READ,
        show_report,
        "The report of a week, month or quarter",
        template="report",
        query=ReportQuery,
        load=RequestCost.HEAVY_VIEW,
    )


def _page(
    path: str,
    template: str,
    view: View,
    reply: type[BaseModel],
    summary: str,
    query: type[BaseModel] = Nothing,
) -> Iterator[WebRoute]:
    """Yield a page, and its model below `/api/v1`."""
    load = RequestCost.HEAVY_VIEW if view in _HEAVY_VIEWS else RequestCost.VIEW
    page = WebRoute(
        "GET", path, Access.READ, SharedView(view), summary, template=template, reply=reply, query=query, load=load
    )
    yield replace(page, path=f"{API}{page.name}", template=None)
    yield page


def _asking() -> Iterator[WebRoute]:
    """Yield how noisy answers are asked for: by the page, and by the API."""
    pages = _page("/ask", "ask", list_budgets, QuestionPage, "What may be asked of protected tables")
    yield from (replace(route, access=Access.ASK, handle=list_questions, load=RequestCost.PAGE) for route in pages)
    for path, by_form, by_program, reply, summary in (
        ("/ask", show_answer, give_answer, Answer, "Ask a question: the noisy answer is charged to the budget"),
        ("/ask/plan", show_plan, plan_answer, AnswerPlan, "What an answer would cost, and its noise"),
    ):
        form = WebRoute(
            "POST",
            path,
            Access.ASK,
            by_form,
            summary,
            template="ask",
            body=QuestionBody,
            load=RequestCost.OTHER_SYSTEM,
            refill=("ask", lambda call, _: list_questions(call)),
        )
        yield form
        yield replace(form, refill=None, path=f"{API}{path}", handle=by_program, template=None, reply=reply)


def _running() -> Iterator[WebRoute]:
    """Yield how checks are run on request: by the button of a table's page, and by the API."""

    def by_form(call: Call) -> Response:
        request_run(call)
        back = call.body.back and sign_in.local_path(call.body.back)
        return RedirectResponse(back or f"/tables/{quote(call.query.name, safe='')}#does", 303)

    run = WebRoute(
        "POST",
        f"{API}/runs",
        Access.RESPOND,
        request_runs,
        "Run the checks of some tables now",
        reply=RequestedRuns,
        body=RunBody,
        status=202,
    )
    yield run
    yield replace(
        run,
        path=f"{API}/tables/{{name:path}}/loaded",
        handle=request_run,
        summary="Run the checks of a table whose data has arrived",
        query=TableQuery,
        body=Nothing,
    )
    yield WebRoute(
        "POST",
        "/tables/{name:path}/run",
        Access.RESPOND,
        by_form,
        "Run the checks of a table now",
        query=TableQuery,
        body=RunForm,
        refill=("table", lambda call, _: table_page(call, call.query.name)),
    )


def _recording() -> Iterator[WebRoute]:
    """Yield how results of other tools are recorded."""
    yield WebRoute(
        "POST",
        f"{API}/results",
        Access.RESPOND,
        record_run,
        "Record a run of another tool, for checks of type external",
        reply=RecordedRun,
        body=ExternalRun,
    )


def _configuring() -> Iterator[WebRoute]:
    """Yield how an administrator changes tables, by a file that Tablewatch owns."""
    address, refill = "/configuration/changes", ("config_change", show_change_again)
    form = WebRoute(
        "GET",
        address,
        Access.ADMINISTER,
        show_change_form,
        "The form that changes a table of the configuration",
        template="config_change",
        query=ChangeQuery,
    )
    yield form
    preview = replace(
        form,
        method="POST",
        path=f"{address}/preview",
        handle=preview_change,
        summary="The diff of a change, and what it would have noticed in the last 28 days; nothing is written",
        query=Nothing,
        body=TableSettings,
        load=RequestCost.HEAVY_VIEW,
        refill=refill,
    )
    yield preview
    yield replace(preview, path=f"{API}{address}/preview", template=None, refill=None, reply=ChangePage)
    yield replace(
        preview,
        path=f"{address}/patch",
        handle=download_patch,
        summary="A change as a patch",
        template=None,
    )
    yield from form_routes(CHANGE, address, "config_change", applied_change, refill=refill)


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
        "POST",
        sign_in.SIGN_IN,
        Access.PUBLIC,
        sign_in.sign_in,
        "Sign in by password",
        body=sign_in.SignInBody,
        load=RequestCost.SIGN_IN,
        refill=("sign_in", lambda call, sent: sign_in.sign_in_page(call, sent.get("next", ["/"])[0])),
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
    yield WebRoute(
        "GET",
        sign_in.OIDC,
        Access.PUBLIC,
        sign_in.redirect_to_provider,
        "Redirect to the identity provider",
        query=sign_in.SignInQuery,
        load=RequestCost.OTHER_SYSTEM,
    )
    yield WebRoute(
        "GET",
        sign_in.CALLBACK,
        Access.PUBLIC,
        sign_in.handle_callback,
        "Callback of the identity provider",
        query=sign_in.CallbackQuery,
        load=RequestCost.OTHER_SYSTEM,
    )
    yield WebRoute("POST", "/sign-out", Access.PUBLIC, sign_in.sign_out, "Sign out", body=Nothing)


def _document(call: Call) -> Mapping[str, Any]:
    web = call.project.config.web
    return _document_of(web.public_url or "/", cookie_name(web))


@cache
def _document_of(server: str, session: str) -> Mapping[str, Any]:
    described = [route for route in routes() if route.is_api and route.reply is not None]
    return document(described, server=server, session=session)


def _describe(call: Call) -> Response:
    return JSONResponse(_document(call))
