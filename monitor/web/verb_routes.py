"""Verbs over HTTP: the form of a page and an address in the API for each, on behalf of who is signed in."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar, get_type_hints
from urllib.parse import quote

from annotated_types import MaxLen
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from incidents import Commented, Incident
from incidents.verbs import available
from monitor.config.project import Project
from monitor.summaries.channel import EnabledChannelPage, ResentMessagePage, SentTestPage
from monitor.summaries.logged_event import LoggedEventPage
from monitor.summaries.silence import SilenceListPage, SilencePage
from monitor.summaries.status_address import StatusAddressLine, StatusAddressListPage, StatusAddressPage
from monitor.terminal.localizer import Localizer
from monitor.terminal.problem import Problem, Stop
from monitor.triage.errors import explained
from monitor.verbs import channel, event, incident, release, silence, status_page
from monitor.verbs.incident import IncidentNumber
from monitor.verbs.verb import Access, Acting, Nothing, Query, Verb
from monitor.web.access import is_allowed, may_act_on
from monitor.web.call import Call, Refill, SharedView, WebRoute
from monitor.web.dispatch import as_json
from monitor.web.incident_brief import incident_brief
from monitor.web.problems import WebError, of_stop
from monitor.web.rate_limit import RequestCost
from monitor.web.views.alert_log import AlertLogPage, AlertLogQuery, list_alerts
from monitor.web.views.incidents import IncidentPage, show_incident
from monitor.web.views.releases import ReleasePage, show_release
from monitor.web.views.table import TablePage, TableQuery, show_table
from store import LoggedEvent, ReadTransaction, Silence, StatusAddress, StatusScope

API: Final = "/api/v1"
INCIDENT: Final = "/incidents/{id:int}"
_HOW_TO_FORCE: Final = "tick the box that begins with 'even if'; programs send 'force': true"
_OFFERED: Final = 1_000
"""Tables whose names the form suggests; with more tables there are no suggestions."""

Done = TypeVar("Done")


def perform(call: Call, verb: Verb[Done]) -> Done:
    """Apply a verb on behalf of the caller.

    Raises:
        WebError: 404 for what its path names and is not there, 403 for a table of others, 409 with what is possible now
            where an incident does not allow it or was changed meanwhile, 422 for what cannot be.
    """
    try:
        with explained(call.project.config.timezone, how_to_force=_HOW_TO_FORCE):
            if call.if_match is not None:
                _check_version(call, call.if_match)
            return verb.act(acting_of(call), call.query, call.body)
    except Stop as stop:
        refused = of_stop(stop)
        if refused.status == 404 and verb.target is Nothing:
            raise WebError(422, *refused.problems) from None
        if refused.status == 409 and verb.target is IncidentNumber:
            raise WebError(409, *refused.problems, more=_possible(call)) from None
        raise refused from None


def _check_version(call: Call, seen: frozenset[int]) -> None:
    """Check whether an incident is at a version that If-Match names, and have the verb check it where it writes.

    Raises:
        WebError: 412.
    """
    with call.store.reading() as tx:
        version = tx.incidents.version(tx.incidents.get(call.query.id).id)
    if version not in seen or call.body.if_version not in {None, version}:
        message = f"incident #{call.query.id} is at version {version}, which is none that If-Match names; read it again"
        raise WebError(412, Problem("incident.changed", message), more=_possible(call))
    call.body.if_version = version


def acting_of(call: Call) -> Acting:
    """Return on whose behalf a request acts, with the rights of its caller.

    Raises:
        WebError: the caller is not signed in.
    """
    principal = call.require_principal()
    return Acting(
        call.project,
        call.store,
        principal.name,
        str(principal.method),
        check_table=call.check_may_act,
        owners=frozenset(principal.grant.owners),
        administers=is_allowed(principal, Access.ADMINISTER),
        session=principal.session,
    )


def verb_routes() -> Iterator[WebRoute]:
    """Yield the routes of all verbs."""
    for change in incident.VERBS:
        yield from form_routes(
            change,
            f"{INCIDENT}/{change.name}",
            lambda call, _: f"/incidents/{call.query.id}#actions",
            _incident,
            refill=("incident", lambda call, _: _incident_page(call, call.query.id)),
        )
    yield from form_routes(
        incident.OPEN,
        "/incidents",
        lambda _, done: f"/incidents/{done[0].id}",
        _opened,
        status=201,
        refill=("log_form", lambda call, sent: _log_form(call, sent.get("table", [None])[0])),
    )
    yield WebRoute(
        "GET",
        "/incidents/new",
        Access.RESPOND,
        _show_log_form,
        "The form that logs an incident",
        template="log_form",
        query=LogFormQuery,
    )
    yield WebRoute(
        "GET",
        f"{INCIDENT}/post-mortem",
        Access.RESPOND,
        _show_post_mortem,
        "The draft of an incident's post-mortem, in a form",
        template="post_mortem",
        query=IncidentNumber,
    )
    for decision in release.VERBS:
        yield from form_routes(
            decision,
            f"/releases/{{name}}/{decision.name}",
            lambda call, _: f"{_of_release(call)}#decide",
            _release,
            refill=("release", _release),
        )
    yield from form_routes(
        event.ADD,
        "/events",
        lambda _, done: f"{_of_table(done[0].table)}#events",
        _event,
        status=201,
        refill=("table", lambda call, sent: table_page(call, sent.get("table", [""])[0])),
    )
    yield from form_routes(
        event.REMOVE, "/events/{id:int}/remove", lambda _, done: f"{_of_table(done.table)}#events", _removed_event
    )
    alerts, shown = ("alerts", lambda call, _: _alerts(call)), lambda *_: "/alerts#silences"
    yield from form_routes(silence.ADD, "/silences", shown, _silence, status=201, refill=alerts)
    yield from form_routes(silence.END, "/silences/{id:int}/end", shown, _silence, refill=alerts)
    for route in form_routes(channel.TEST, "/channels/{name:path}/test", "channel_test", SentTestPage):
        yield replace(route, load=RequestCost.OTHER_SYSTEM)
    yield from form_routes(channel.ENABLE, "/channels/{name:path}/enable", lambda *_: "/alerts", EnabledChannelPage)
    yield from form_routes(channel.RESEND, "/messages/{id}/resend", lambda *_: "/alerts#decisions", ResentMessagePage)
    yield WebRoute(
        "GET", f"{API}/silences", Access.READ, SharedView(list_silences), "List silences", reply=SilenceListPage
    )
    for made, path in ((status_page.ADD, "/status-pages"), (status_page.ROTATE, "/status-pages/{id:int}/rotate")):
        yield from form_routes(made, path, "status_address", _made_address, status=201)
    revoked = "/status-pages/{id:int}/revoke"
    yield from form_routes(status_page.REVOKE, revoked, lambda _, done: _of_status(done), _address)
    yield WebRoute(
        "GET",
        f"{API}/status-pages",
        Access.READ,
        SharedView(list_addresses),
        "List the addresses of status pages, without their secret parts",
        reply=StatusAddressListPage,
    )


def form_routes(
    verb: Verb[Done],
    path: str,
    shown: Callable[[Call, Done], str] | str,
    reply: Callable[[Call, Done], BaseModel] | type[BaseModel],
    status: int = 200,
    refill: Refill | None = None,
) -> Iterator[WebRoute]:
    """Yield a verb as the form of a page, which redirects to the address `shown`, and in the API, with a `reply`.

    `shown` names the template of a page instead where no other page shows what was done. `reply`: what makes the
    answer, or the model that the verb itself returns. `status`: of a reply to what made something new; what was there
    before, as the second of a pair says, is 200.
    """
    template = shown if isinstance(shown, str) else None

    def by_form(call: Call) -> Response | BaseModel:
        done: Any = perform(call, verb)
        if callable(shown):
            return RedirectResponse(shown(call, done), 303)
        return done if isinstance(reply, type) else reply(call, done)

    def by_program(call: Call) -> Response:
        done: Any = perform(call, verb)
        is_new = not isinstance(done, tuple) or done[-1] is not False
        model = done if isinstance(reply, type) else reply(call, done)
        place = shown(call, done) if callable(shown) else "#"
        headers = {"location": f"{API}{place}"} if is_new and status == 201 and "#" not in place else {}
        value = model.model_dump(mode="json", by_alias=True)
        return as_json(call.application, value, status if is_new else 200, headers)

    form = WebRoute(
        "POST",
        path,
        verb.access,
        by_form,
        verb.summary,
        query=verb.target,
        body=verb.body,
        secret=verb.secret,
    )
    yield replace(form, template=template, refill=refill)
    answer = reply if isinstance(reply, type) else get_type_hints(reply)["return"]
    yield replace(form, path=f"{API}{path}", handle=by_program, reply=answer, status=status)


class LogFormQuery(Query):
    """The table that the form begins with."""

    table: Annotated[str, MaxLen(500)] | None = None


class LogForm(BaseModel):
    """The form: the table it begins with, and those that the person may name."""

    table: str | None
    tables: tuple[str, ...]


class PostMortem(BaseModel):
    """The draft of a post-mortem in Markdown."""

    id: int
    text: str


def _show_post_mortem(call: Call) -> PostMortem:
    localizer = Localizer(call.language, call.project.config.timezone)
    with call.store.reading() as tx:
        written = [
            event.change.text
            for event in tx.incidents.events(call.query.id)
            if isinstance(event.change, Commented) and event.change.kind == "post-mortem"
        ]
        text = written[-1] if written else incident_brief(call.project, tx, call.query.id, localizer, post_mortem=True)
    return PostMortem(id=call.query.id, text=text)


def _show_log_form(call: Call) -> LogForm:
    return _log_form(call, call.query.table)


def _log_form(call: Call, table: str | None) -> LogForm:
    grant = call.require_principal().grant
    names = [table.name for table in call.project.config.tables if may_act_on(grant, call.project.config, table.name)]
    return LogForm(table=table, tables=tuple(names[:_OFFERED]))


def _incident(call: Call, changed: Incident) -> IncidentPage:
    return _incident_page(call, changed.id)


def _incident_page(call: Call, number: int) -> IncidentPage:
    with call.store.reading() as tx:
        return show_incident(call.project, tx, IncidentNumber(id=number), call.now)


def table_page(call: Call, name: str) -> TablePage:
    """Return the page of a table, on which forms about it stand."""
    with call.store.reading() as tx:
        return show_table(call.project, tx, TableQuery(name=name), call.now)


def _alerts(call: Call) -> AlertLogPage:
    with call.store.reading() as tx:
        return list_alerts(call.project, tx, AlertLogQuery(), call.now)


def _opened(call: Call, logged: tuple[Incident, bool]) -> IncidentPage:
    return _incident(call, logged[0])


def _release(call: Call, _: object) -> ReleasePage:
    with call.store.reading() as tx:
        return show_release(call.project, tx, call.query, call.now)


def _of_release(call: Call) -> str:
    return f"/releases/{quote(call.query.name, safe='')}"


def _event(_: Call, logged: tuple[LoggedEvent, bool]) -> LoggedEventPage:
    return LoggedEventPage.of(logged[0])


def _removed_event(_: Call, removed: LoggedEvent) -> LoggedEventPage:
    return LoggedEventPage.of(removed)


def _of_table(table: str | None) -> str:
    return "/" if table is None else f"/tables/{quote(table, safe='')}"


def _silence(call: Call, changed: Silence) -> SilencePage:
    return SilencePage.of(changed, call.now)


def list_silences(_: Project, tx: ReadTransaction, __: Nothing, now: datetime) -> SilenceListPage:
    """Return the silences that hold now."""
    return SilenceListPage.of(tx.silences.all(now), now)


def _made_address(call: Call, made: tuple[StatusAddress, str]) -> StatusAddressPage:
    return StatusAddressPage.made(*made, call.project.config.web.public_url)


def _address(_: Call, changed: StatusAddress) -> StatusAddressPage:
    return StatusAddressPage.of(changed)


def _of_status(address: StatusAddress) -> str:
    section = "tables" if address.scope is StatusScope.TABLE else "products"
    return f"/{section}/{quote(address.name, safe='')}#status-pages"


def list_addresses(_: Project, tx: ReadTransaction, __: Nothing, _now: datetime) -> StatusAddressListPage:
    """Return the addresses that hold."""
    return StatusAddressListPage(addresses=tuple(map(StatusAddressLine.of, tx.status_addresses.valid())))


def _possible(call: Call) -> Mapping[str, Any]:
    number = call.query.id
    with call.store.reading() as tx:
        incident, version = tx.incidents.get(number), tx.incidents.version(number)
    return {
        "incident": number,
        "state": incident.state.value,
        "version": version,
        "available": list(available(incident)),
    }
