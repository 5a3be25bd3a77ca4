"""Dispatch of a request: authenticate, authorise, validate; then its handler, in a thread, and its reply."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args, get_origin
from urllib.parse import parse_qs, parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from monitor.config.web_model import attempt_cookie_name, cookie_name
from monitor.summaries.monitoring import show_monitoring
from monitor.terminal.problem import Problem, Stop
from monitor.terminal.redaction import json_text
from monitor.verbs.incident import IncidentNumber
from monitor.verbs.verb import Access
from monitor.web.access import Principal, is_allowed
from monitor.web.call import Application, Call, SharedView, WebRoute, is_api_path
from monitor.web.credentials import UNSAFE, check_same_site, client_of, identify
from monitor.web.idempotency import answer_once, key_of
from monitor.web.pages import Pages
from monitor.web.private_answers import QuestionBody
from monitor.web.problems import PROBLEM_TYPE, WebError, of_stop, of_validation
from monitor.web.rate_limit import RequestCost
from monitor.web.refused_forms import RefusedForm
from monitor.web.representation import compressed, etag_of, is_known, versions_seen
from monitor.web.sign_in import sign_in_address
from store import SignInMethod, WebRole

_MOST_FIELDS = 100
_REFILLED = (400, 401, 404, 409, 422, 429)
"""Statuses of a refused form that is shown again."""
_BLOCK = 16_384
"""Bytes to whose multiples answers of privacy budgets are filled up."""
_IDENTIFIED = "tablewatch.principal"
_MONITORING = "tablewatch.monitoring"


def endpoint(route: WebRoute, application: Application, pages: Pages) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers the requests of a route."""
    gates = application.gates
    load = RequestCost.WRITE if route.load is RequestCost.PAGE and route.method in UNSAFE else route.load

    async def respond(request: Request) -> Response:
        authorise = partial(_authorise, route, application, request)
        is_public = route.access is Access.PUBLIC  # then nothing is read, and no thread is needed
        principal = authorise() if is_public else await gates[RequestCost.PAGE].run(authorise, None)
        if isinstance(principal, Response):
            return principal
        raw = await request.body() if request.method in UNSAFE else b""
        client = client_of(application.project.config.web, request) if principal is None else principal.actor
        is_page = route.template is not None or route.refill is not None
        if is_page and principal is not None and is_allowed(principal, Access.READ):
            request.scope[_MONITORING] = await monitoring_of(application, principal)
        if isinstance(route.handle, SharedView):
            call = _call(route, application, pages, request, principal)
            model = await route.handle.model(call, load)
            show = partial(_shown, route, call, pages, request, model)
            return await gates[RequestCost.PAGE].run(show, None)
        answer = partial(_answer, route, application, pages, request, principal, raw)
        if load is RequestCost.NONE:
            return answer()
        try:
            return await gates[load].run(answer, client)
        finally:
            if principal is not None and request.method in UNSAFE:
                application.models.change(client)

    return respond


async def monitoring_of(application: Application, principal: Principal) -> BaseModel:
    """Return how far pages can be relied on, as of now or a moment ago: one bar on each of them says it."""
    project, store = application.project, application.store

    def read() -> BaseModel:
        with store.reading() as tx:
            return show_monitoring(project, tx, project.clock.now())

    gate = application.gates[RequestCost.VIEW]
    key = (show_monitoring, None)
    return await application.models.get(key, lambda: gate.run(read, principal.actor), principal.actor)


def _authorise(route: WebRoute, application: Application, request: Request) -> Principal | Response | None:
    """Return who sent a request to a route that they may use; on a page that needs a user, the redirect to sign in.

    Raises:
        WebError: 401, 403.
    """
    web = application.project.config.web
    if not route.is_api:
        check_same_site(web, request)
    if route.access is Access.PUBLIC:
        return None
    principal = identify(web, application.store, request, application.project.clock.now())
    if principal is not None:
        request.scope[_IDENTIFIED] = principal
        check_same_site(web, request)
    if is_allowed(principal, route.access):
        return principal
    if principal is not None and principal.grant.role is WebRole.ASK and request.url.path == "/":
        return RedirectResponse("/ask", 303)
    if principal is not None:
        message = f"your role, {principal.grant.role}, does not allow this; it needs the right to {route.access}"
        raise WebError(403, Problem("access.role", message))
    is_page = route.template is not None or (not route.is_api and "text/html" in request.headers.get("accept", ""))
    if is_page and request.method not in UNSAFE:
        return RedirectResponse(sign_in_address(request.url.path, request.url.query), 303)
    hint = "open /sign-in, or send 'Authorization: Bearer TOKEN'"
    headers = {"www-authenticate": "Bearer"} if route.is_api else {}
    raise WebError(401, Problem("sign_in.needed", "not signed in", hint=hint), headers=headers)


def _answer(
    route: WebRoute,
    application: Application,
    pages: Pages,
    request: Request,
    principal: Principal | None,
    raw: bytes,
) -> Response:
    call = _call(route, application, pages, request, principal)
    try:
        filled = _with_body(route, call, request, raw)
        key = key_of(request) if route.is_api and route.method in UNSAFE and not route.secret else None
        if key is not None and isinstance(filled.body, QuestionBody):  # whose answers the ledger keeps
            filled.body.request_id = filled.body.request_id or key
            key = None
        answer = partial(_carry_out, route, filled, pages, request)
        return _finished(
            route, request, answer() if key is None else answer_once(filled, request, raw, key=key, answer=answer)
        )
    except (WebError, Stop) as error:
        refused = of_stop(error) if isinstance(error, Stop) else error
        if route.refill is None or refused.status not in _REFILLED:
            raise
        sent = parse_qs(raw.decode(errors="replace"), max_num_fields=_MOST_FIELDS)
        template, model = route.refill
        try:
            page = model(call, sent)
        except Stop:
            raise refused from None
    form = RefusedForm(_action_of(request), sent, refused.problems)
    text = form.shown_on(_page(pages, template, call, request, page))
    return _finished(route, request, _html(text, call.language, refused.status, refused.headers))


def _carry_out(route: WebRoute, call: Call, pages: Pages, request: Request) -> Response:
    return _reply(route, call, pages, request, route.handle(call))


def _page(pages: Pages, template: str, call: Call, request: Request, page: BaseModel) -> str:
    return pages.render(
        template,
        language=call.language,
        path=request.url.path,
        principal=call.principal,
        page=page,
        now=call.now,
        monitoring=request.scope.get(_MONITORING),
    )


def _action_of(request: Request) -> str:
    """Return the path of a request as the address of its form has it."""
    raw_path: bytes = request.scope.get("raw_path") or request.url.path.encode()
    return raw_path.decode("ascii", "replace")


def _call(
    route: WebRoute,
    application: Application,
    pages: Pages,
    request: Request,
    principal: Principal | None,
) -> Call:
    """Return a request as its handler takes it, without what was sent.

    Raises:
        WebError: a value of the query that is not valid.
    """
    web = application.project.config.web
    try:
        query = route.query.model_validate(
            {
                **_values(route.query, request.query_params.multi_items(), keep_empty=route.is_api),
                **request.path_params,
            }
        )
    except ValidationError as error:
        raise of_validation(error) from None
    return Call(
        application=application,
        now=application.project.clock.now(),
        principal=principal,
        query=query,
        body=None,
        client=client_of(web, request),
        cookie=request.cookies.get(cookie_name(web)),
        attempt=request.cookies.get(attempt_cookie_name(web)),
        language=pages.language(request.headers.get("accept-language", "")),
        last_event_id=request.headers.get("last-event-id"),
        if_match=versions_seen(request, has_version=route.query is IncidentNumber),
    )


def _with_body(route: WebRoute, call: Call, request: Request, raw: bytes) -> Call:
    """Return a call with what was sent.

    Raises:
        WebError: a value that is not valid.
    """
    if route.body is None:
        return call
    try:
        sent = _body(route, request, raw)
        if route.is_api:  # strictly: 0 is no false, and "3" no 3
            return replace(call, body=route.body.model_validate_json(raw or b"{}", strict=True))
        return replace(call, body=route.body.model_validate(sent))
    except ValidationError as error:
        raise of_validation(error) from None


def _reply(route: WebRoute, call: Call, pages: Pages, request: Request, reply: BaseModel | Response) -> Response:
    """Return the response of a reply: as it is, as JSON, or as a page."""
    if isinstance(reply, Response):
        return reply
    if route.template is not None:
        text = _page(pages, route.template, call, request, reply)
        return _html(text, call.language, route.status)
    value = reply.model_dump(mode="json", by_alias=True)
    response = as_json(call.application, value, route.status)
    if route.method in UNSAFE:
        return response
    etag = etag_of(bytes(response.body).decode(), value)
    is_program = call.principal is not None and call.principal.method is SignInMethod.API
    headers = {"etag": etag, "cache-control": "private, no-cache" if is_program else "no-store"}
    if is_known(request, etag):
        return Response(status_code=304, headers={**headers, "vary": "Accept-Encoding"})
    response.headers.update(headers)
    return response


def _shown(route: WebRoute, call: Call, pages: Pages, request: Request, model: BaseModel) -> Response:
    return _finished(route, request, _reply(route, call, pages, request, model))


def _finished(route: WebRoute, request: Request, response: Response) -> Response:
    """Return a response as it is sent: compressed, or filled up where its size would tell something."""
    return _padded(response) if route.access is Access.ASK else compressed(request, response)


def _padded(response: Response) -> Response:
    """Return a reply filled up with white space to whole blocks: its size does not tell the digits of an answer."""
    response.body = bytes(response.body).ljust(-(-len(response.body) // _BLOCK) * _BLOCK)
    response.headers["content-length"] = str(len(response.body))
    return response


def _body(route: WebRoute, request: Request, raw: bytes) -> Any:
    """Return what was sent: JSON to the API, the fields of a form to pages.

    Raises:
        WebError: it is of another type, or none.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    expected = "application/json" if route.is_api else "application/x-www-form-urlencoded"
    if raw and kind != expected:
        raise WebError(415, Problem("request.type", f"the body is expected as {expected}"))
    try:
        if not route.is_api and route.body is not None:
            return _values(route.body, parse_qsl(raw.decode(), max_num_fields=_MOST_FIELDS))
        return json.loads(raw) if raw else {}
    except (ValueError, RecursionError):
        raise WebError(400, Problem("request.invalid", f"the body is no {expected}")) from None


def _values(model: type[BaseModel], items: Iterable[tuple[str, str]], *, keep_empty: bool = False) -> Mapping[str, Any]:
    """Return the fields of a form or query string; fields of many values are lists, and forms send empty ones."""
    many = {field.alias or name for name, field in model.model_fields.items() if _takes_many(field.annotation)}
    values: dict[str, Any] = {}
    for name, value in items:
        if (value or keep_empty) and (name in many or name in values):
            earlier = values.get(name, [])
            values[name] = [*(earlier if isinstance(earlier, list) else [earlier]), value]
        elif value or keep_empty:
            values[name] = value
    return values


def _takes_many(annotation: Any) -> bool:
    return get_origin(annotation) in {list, tuple} or any(_takes_many(part) for part in get_args(annotation))


def as_json(
    application: Application,
    value: Any,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    media_type: str = "application/json",
) -> Response:
    """Return a JSON answer, with secrets masked."""
    text = json_text(application.project.loaded.redactor.value(value), indent=None)
    return Response(text, status, headers, media_type=media_type)


def _html(text: str, language: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return Response(text, status, {"content-language": language, **(headers or {})}, media_type="text/html")


def _identified(request: Request) -> Principal | None:
    """Return who was identified before the request was refused, so that an error page leads on."""
    principal: Principal | None = request.scope.get(_IDENTIFIED)
    return principal


def refusal(application: Application, pages: Pages, request: Request, error: WebError) -> Response:
    """Return the answer of an error: a problem of RFC 9457 to programs, a plain page to people."""
    if is_api_path(request.scope["path"]):
        value = error.reply().model_dump(exclude_none=True)
        return as_json(application, value, error.status, error.headers, PROBLEM_TYPE)
    language = pages.language(request.headers.get("accept-language", ""))
    path, now = request.scope["path"], application.project.clock.now()
    text = pages.refused(
        error,
        language=language,
        path=path,
        principal=_identified(request),
        now=now,
        monitoring=request.scope.get(_MONITORING),
    )
    return _html(text, language, error.status, error.headers)
