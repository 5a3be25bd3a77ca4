"""The table of routes: who may use what, twins and documentation, all derived from it."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final

import jsonschema
import pytest

from monitor.answers.data_set import DataSet
from monitor.config import load
from monitor.config.project import Project
from monitor.config.selector import select
from monitor.scan.run import run_checks
from monitor.verbs.account_secrets import hash_password, make_token
from monitor.verbs.verb import Access
from monitor.web import long_commands
from monitor.web.access import ALLOWED
from monitor.web.call import Call, WebRoute
from monitor.web.routes import routes
from store import Grant, WebRole, WebUser
from tests.monitor.alerts.sending import add, message
from tests.monitor.web.releases import compared
from tests.monitor.web.site import Site, alert_channel

BODIES: Final[dict[str, dict[str, Any]]] = {
    "ack": {},
    "assign": {"assignee": "bob"},
    "snooze": {"for": "2h"},
    "resolve": {"resolution": "fixed"},
    "reopen": {},
    "correct": {"occurred": "3h ago"},
    "comment": {"text": "looked at it"},
    "merge": {"into": 0},
    "root": {"cause": 0},
    "incidents": {"table": "orders", "title": "amounts x100"},
    "approve": {"remedy": "suppress", "note": "ticket 4711"},
    "hold": {"note": "the contract has ended"},
    "runs": {"tables": ["orders"]},
    "test": {"as": "resolved"},
    "ask": {"table": "orders", "statistic": "count", "epsilon": "0.001"},
    "plan": {"table": "orders", "statistic": "count", "epsilon": "0.001"},
    "silences": {"table": "orders", "for": "2h", "reason": "planned"},
    "status-pages": {"table": "orders"},
    "changes": {"table": "orders", "settings": "description: all orders"},
    "preview": {"table": "orders", "settings": "tier: silver"},
    "suggestions": {},
    "compare": {},
    "patch": {"table": "orders", "settings": "tier: silver"},
    "events": {"kind": "deploy", "note": "loader 2.3", "table": "orders"},
    "results": {
        "schema": "tablewatch.results/1",
        "origin": "other",
        "run_id": "r1",
        "started_at": "2026-11-19T00:00:00Z",
        "ended_at": "2026-11-19T00:01:00Z",
        "results": [{"check": "nothing", "status": "pass"}],
    },
}
NAMES: Final = {
    "tables": "orders",
    "checks": "orders.not-null",
    "releases": "extract",
    "products": "selling",
    "channels": "hook",
    "messages": message(1).id,
}
"""What stands for the name in a path, by the kind of thing that the path begins with."""
_WHY: Final = {"silences": "reason", "events": "note"}
PASSWORD: Final = "a long password of a user"  # noqa: S105 - of a user of these tests
CANARY: Final = "canary-4711-in-a-cell"
CANARY_AMOUNT: Final = 87_654_321.25
ROLES: Final = (None, *WebRole)
GUARDED: Final = [route for route in routes() if route.access is not Access.PUBLIC]


@pytest.fixture
def web_section() -> str:
    """Return a channel, which is never called, and a budget."""
    budget = "budgets: {orders: {total: 1, domain: {amount: {low: 0, high: 9, grid: 1}}}}\n"
    return alert_channel("http://127.0.0.1:9/") + budget + "web: {changes: true}\n"


@pytest.fixture(autouse=True)
def _budget(site: Site) -> None:
    budget = DataSet.of(site.project, "orders").budget
    site.project.ledger(site.store).create(budget, actor="mia", now=site.clock.now())


@pytest.fixture(autouse=True)
def _channels_take_everything(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    add(site.store, message(1))
    monkeypatch.setattr("monitor.alerts.dispatch.send", lambda *_: None)


@pytest.fixture(autouse=True)
def _commands_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each command of a page run once in a test: routes differ in how they show its answer only."""
    answers: dict[object, Any] = {}
    run = long_commands.run_beside

    def run_once(function: Any, call: Call, *arguments: str, command: str) -> Any:
        if command not in answers:
            answers[command] = run(function, call, *arguments, command=command)
        return answers[command]

    monkeypatch.setattr(long_commands, "run_beside", run_once)


def _is_allowed(role: WebRole | None, route: WebRoute) -> bool:
    return role is not None and route.access in ALLOWED[role]


def _request(site: Site, route: WebRoute) -> tuple[str, dict[str, Any]]:
    """Return the path and the body of a request that fits a route, on an incident of its own."""
    site.schedule("orders")
    verb = route.path.rpartition("/")[2]
    body = dict(BODIES.get(verb, {}))
    if verb == "incidents":
        body["title"] = f"logged at {route.path}"
    if verb == "events":
        body["note"] = f"logged at {route.path}"
    if verb == "bulk":
        body = {"verb": "ack", "id": [site.incident(f"for {route.method} {route.path}")]}
    kind = route.path.removeprefix("/api/v1").split("/")[1]
    number = 0
    if kind == "accounts":
        path, body = _account(site, route)
        return path, body
    if "{id:int}" in route.path and kind in {"silences", "events", "status-pages"}:
        why = {_WHY[kind]: f"for {route.path}"} if kind in _WHY else {}
        made = site.signed_in().post(f"/api/v1/{kind}", json=dict(BODIES[kind], **why))
        number = made.json()["id"]
    elif "{id:int}" in route.path:
        number = site.incident(f"for {route.path}")
        other = site.incident(f"beside {route.path}")
        body = {key: other if value == 0 else value for key, value in body.items()}
        if verb == "reopen":
            done = site.signed_in().post(f"/incidents/{number}/resolve", data={"resolution": "fixed"})
            assert done.status_code == 303
    path = route.path.replace("{id:int}", str(number)).replace("{table:path}", "orders").replace("{period}", "2026-W46")
    return re.sub(r"\{(name|id)(:path)?\}", NAMES.get(kind, ""), path), body


def _account(site: Site, route: WebRoute) -> tuple[str, dict[str, Any]]:
    """Return the request of a route about an account of its own; a password is that of the caller."""
    name = sha256(f"{route.method} {route.path}".encode()).hexdigest()[:8]
    own = "mia" if route.path.endswith("/password") else name
    with site.store.writing() as tx:
        if "users/{name}" in route.path and tx.accounts.user(own) is None:
            tx.accounts.add_user(WebUser(own, Grant(WebRole.VIEWER), hash_password(PASSWORD), site.clock.now()))
        if "tokens/{name}" in route.path and not any(token.name == name for token in tx.accounts.tokens()):
            make_token(tx, name, Grant(WebRole.VIEWER), now=site.clock.now(), life=timedelta(days=1))
    session = sha256(site.cookie(WebRole.VIEWER).partition("=")[2].encode()).hexdigest()[:16]
    body = {
        "users": {"name": name, "password": PASSWORD},
        "tokens": {"name": name},
        "change": {"role": "responder"},
        "password": {"present": PASSWORD, "password": PASSWORD},
    }.get(route.path.rpartition("/")[2], {})
    return route.path.replace("{name}", own).replace("{id}", session), body


@pytest.mark.parametrize("role", ROLES, ids=str)
def test_every_route_answers_each_role_as_declared(site: Site, role: WebRole | None) -> None:
    """An allowed role gets 200, 201 or the page after; another one 403; a request without a user has to sign in."""
    limits = {"owners": ("desk",)} if role is WebRole.OWNER else {}
    client = site.client() if role is None else site.signed_in(role, **limits)
    wrong = []
    for route in GUARDED:
        path, body = _request(site, route)
        how = {"json": body} if route.is_api else {"data": body}
        done = client.request(route.method, path, **(how if route.body is not None else {}))
        downloads = route.path.endswith("/patch")
        leads_on = route.method == "POST" and not route.is_api and route.template is None and not downloads
        if _is_allowed(role, route):
            expected = {303} if leads_on else {route.status}
        elif role is WebRole.ASK and path == "/":
            expected = {303}
        elif role is not None:
            expected = {403}
        else:
            expected = {303} if route.template is not None and route.method == "GET" else {401}
        if done.status_code not in expected:
            wrong.append((route.method, path, done.status_code, expected, done.text[-300:]))
    assert wrong == []


def test_a_token_reads_and_writes_what_its_role_may(site: Site) -> None:
    """Programs are asked the same way as people."""
    for role in (WebRole.VIEWER, WebRole.RESPONDER):
        client = site.client(authorization=f"Bearer {site.token(role, role.value)}")
        for route in (route for route in GUARDED if route.is_api):
            path, body = _request(site, route)
            how = {"json": body} if route.body is not None else {}
            status = client.request(route.method, path, **how).status_code
            is_allowed = _is_allowed(role, route) and route.access is not Access.OWN_ACCOUNT
            assert status == (route.status if is_allowed else 403), (role, path)


def test_every_page_is_in_the_api() -> None:
    """A page that shows a model is JSON below `/api/v1`, for the same role and of the same model."""
    by_path = {(route.method, route.path): route for route in routes()}
    pages = [route for route in routes() if route.template is not None and route.reply is not None]
    assert pages
    for page in pages:
        twin = by_path["GET", f"/api/v1{page.name}"]
        assert (twin.access, twin.reply, twin.query) == (page.access, page.reply, page.query)


def test_a_page_with_json_leads_to_the_api(site: Site) -> None:
    """For one release; the query stays, no sign-in comes before, and a method that changes something is refused."""
    client = site.client()
    for path, address in (
        ("/overview.json", "/api/v1/overview"),
        ("/incidents.json?state=open&size=5", "/api/v1/incidents?state=open&size=5"),
        ("/tables/raw%2F%3Fodd%20name.json", "/api/v1/tables/raw%2F%3Fodd%20name"),
    ):
        done = client.get(path)
        assert (done.status_code, done.headers["location"]) == (308, address)
    assert client.post("/incidents.json").status_code == 405


def test_pages_of_an_empty_store_are_whole(site: Site) -> None:
    """Nothing has run and nothing is wrong: every page that needs no number says so, in both languages."""
    for language in ("en", "ja"):
        client = site.signed_in()
        client.headers["accept-language"] = language
        for route in routes():
            if route.method == "GET" and route.template is not None and "{id:int}" not in route.path:
                path, _ = _request(site, route)
                done = client.get(path)
                assert done.status_code == (422 if path == "/sign-in/link" else 200), path
                assert ">None<" not in done.text, path


def test_no_two_routes_are_the_same() -> None:
    """Each method of a path is declared once."""
    places = [(route.method, route.path) for route in routes()]
    assert len(places) == len(set(places))


def test_everything_that_changes_something_asks_for_a_right() -> None:
    """Only signing in and out is public."""
    open_ones = {route.path for route in routes() if route.method != "GET" and route.access is Access.PUBLIC}
    assert open_ones == {"/sign-in", "/sign-in/link", "/sign-out"}


def test_no_value_of_a_table_is_anywhere(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """Checks read cells and fail on them, a release is approved: no page, JSON, stream, error or log has a cell."""
    caplog.set_level(0)
    with closing(sqlite3.connect(site.project.loaded.path.parent / "shop.sqlite")) as shop, shop:
        shop.execute(f"UPDATE orders SET customer = '{CANARY}', amount = {CANARY_AMOUNT}")
        shop.execute(f"INSERT INTO orders SELECT id, NULL, {CANARY_AMOUNT}, loaded_at FROM orders")
    run_checks(site.project, select(["orders"], site.project.config), store=site.store)
    compared(site)
    client, asked = site.signed_in(), 0
    assert client.get("/api/v1/incidents").json()["incidents"], "a check has failed on these cells"
    for route in GUARDED:
        path, body = _request(site, route)
        how = {"json": body} if route.is_api else {"data": body}
        for words in ({}, {"params": {"odd": "x"}}):
            done = client.request(route.method, path, **(how if route.body is not None else {}), **words)
            asked += 1
            for cell in (CANARY, str(CANARY_AMOUNT), f"{CANARY_AMOUNT:,}"):
                assert cell not in done.text, (route.method, path)
    assert asked == 2 * len(GUARDED)
    assert CANARY not in caplog.text
    assert str(CANARY_AMOUNT) not in caplog.text


class TestOpenApi:
    """The document of the API."""

    @pytest.fixture
    def document(self, site: Site) -> dict[str, Any]:
        """Return the document as a viewer reads it."""
        done = site.signed_in(WebRole.VIEWER).get("/api/v1/openapi.json")
        assert done.headers["content-type"] == "application/json"
        read: dict[str, Any] = done.json()
        return read

    def test_every_route_of_the_api_is_in_it(self, document: dict[str, Any]) -> None:
        """Paths and methods are those of the table."""
        written = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
        declared = {
            (route.method, re.sub(r":\w+\}", "}", route.path))
            for route in routes()
            if route.is_api and route.path != "/api/v1/openapi.json"
        }
        assert written == declared

    def test_people_read_it_too(self, site: Site, document: dict[str, Any]) -> None:
        """The page names every operation; a body that has to be sent is said to be."""
        text = site.signed_in(WebRole.VIEWER).get("/api").text
        for path, methods in document["paths"].items():
            for method in methods:
                assert f"<code>{method.upper()} {path}</code>" in text
        required = {
            path: methods["post"]["requestBody"]["required"]
            for path, methods in document["paths"].items()
            if "post" in methods
        }
        assert (required["/api/v1/runs"], required["/api/v1/incidents/{id}/ack"]) == (True, False)

    def test_every_reference_leads_somewhere(self, document: dict[str, Any]) -> None:
        """The schemas are valid and complete."""
        schemas = document["components"]["schemas"]
        for reference in _references(document):
            assert reference.removeprefix("#/components/schemas/") in schemas
        for schema in schemas.values():
            jsonschema.Draft202012Validator.check_schema(schema)

    def test_every_number_that_is_sent_has_a_largest(self, document: dict[str, Any]) -> None:
        """What comes in fits into a database; a number of 64 bits and one more is refused, no bug."""
        operations = [operation for methods in document["paths"].values() for operation in methods.values()]
        sent = [parameter["schema"] for operation in operations for parameter in operation.get("parameters", ())]
        bodies = [operation["requestBody"]["content"] for operation in operations if "requestBody" in operation]
        unbounded, seen, waiting = [], set(), [*sent, *bodies]
        while waiting:
            schema = waiting.pop()
            if schema.get("type") == "integer" and schema.get("maximum", 2**64) >= 2**63:
                unbounded.append(schema)
            reference = schema.get("$ref")
            if reference is not None and reference not in seen:
                seen.add(reference)
                waiting.append(document["components"]["schemas"][reference.removeprefix("#/components/schemas/")])
            parts = [part for value in schema.values() for part in (value if isinstance(value, list) else [value])]
            waiting += [part for part in parts if isinstance(part, dict)]
        assert unbounded == []

    def test_replies_and_errors_are_as_described(self, site: Site, document: dict[str, Any]) -> None:
        """What the routes answer is valid by the document, and so is what they refuse."""
        number = site.incident()
        client = site.signed_in()
        for path, place in (
            ("/api/v1/overview", "/api/v1/overview"),
            ("/api/v1/incidents", "/api/v1/incidents"),
            (f"/api/v1/incidents/{number}", "/api/v1/incidents/{id}"),
            ("/api/v1/incidents/999", "/api/v1/incidents/{id}"),
            ("/api/v1/incidents?state=odd", "/api/v1/incidents"),
        ):
            done = client.get(path)
            described = document["paths"][place]["get"]["responses"][str(done.status_code)]
            schema = {
                **described["content"][done.headers["content-type"]]["schema"],
                "components": document["components"],
            }
            jsonschema.validate(done.json(), schema)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def test_names_with_slashes_have_pages(site: Site) -> None:
    """Tables and checks are named by people: a slash in a name is a part of it, in every address."""
    text = site.project.loaded.path.read_text(encoding="utf-8").replace("name: refunds", "name: raw/refunds <1>")
    text = text.replace("[orders, refunds]", "[orders, raw/refunds <1>]")
    site.project.loaded.path.write_text(text, encoding="utf-8")
    site.project = Project(load(site.project.loaded.path, environment={}), site.clock)
    client = site.signed_in()
    (address,) = re.findall(r'href="(/tables/raw[^"]+)"', client.get("/tables").text)
    assert address == "/tables/raw%2Frefunds%20%3C1%3E"
    assert "raw/refunds &lt;1&gt;" in client.get(address).text
    for path in (f"/api/v1{address}", f"/badge{address.removeprefix('/tables')}.svg"):
        assert client.get(path).status_code == 200
    assert client.post(f"{address}/run").status_code == 409  # no daemon has scheduled it
