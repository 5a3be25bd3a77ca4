"""What is refused at the edge: other hosts, other sites, other methods, paths that climb, bodies that are too much."""

import logging
from collections.abc import Iterator

import anyio
import pytest
from starlette.types import Message

from monitor.web import boundary, dispatch
from monitor.web.boundary import BODY_LIMIT, SECURITY_HEADERS
from monitor.web.server import asgi, make_application
from store import StoreBusy, WebRole
from tests.monitor.web.site import Site

CANARY = "canary-4711-value-of-a-cell"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "evil.example:80", "[::2]", "", "a b"])
def test_another_host_is_refused(site: Site, host: str) -> None:
    """A page that points its own name at this machine gets nothing (DNS rebinding)."""
    done = site.client().get("/healthz", headers={"host": host})
    assert done.status_code == 400
    assert "by this name" in done.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8737", "127.0.0.1:1", "[::1]:8737"])
def test_this_machine_is_called_by_its_names(site: Site, host: str) -> None:
    """Loopback names are let in, with any port."""
    assert site.client().get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "origin": "http://localhost"},
        {"sec-fetch-site": "", "origin": "http://localhost"},
    ],
)
def test_another_site_changes_nothing(site: Site, headers: dict[str, str]) -> None:
    """A form of another site is refused although the browser sends the cookie along."""
    number = site.incident()
    done = site.signed_in().post(f"/incidents/{number}/ack", headers=headers)
    assert done.status_code == 403
    assert site.actors(number) == ["test"]


@pytest.mark.parametrize(
    ("origin", "status"), [(None, 403), ("http://evil.example", 403), ("null", 403), ("http://localhost", 303)]
)
def test_older_browsers_are_known_by_their_origin(site: Site, origin: str | None, status: int) -> None:
    """Without Sec-Fetch-Site the Origin has to be ours; a cookie without either is not enough."""
    number = site.incident()
    client = site.signed_in()
    del client.headers["sec-fetch-site"]
    headers = {} if origin is None else {"origin": origin}
    assert client.post(f"/incidents/{number}/ack", headers=headers).status_code == status


def test_nobody_is_signed_in_by_another_site(site: Site) -> None:
    """Signing a user in as another is an attack too."""
    headers = {"sec-fetch-site": "cross-site"}
    assert site.client().post("/sign-in", data={"name": "x", "password": "y"}, headers=headers).status_code == 403


def test_a_token_needs_no_origin_and_a_cookie_does_not_help_it(site: Site) -> None:
    """Programs send a token; a wrong one is refused even beside a good cookie."""
    number = site.incident()
    client = site.signed_in()
    del client.headers["sec-fetch-site"]
    good = {"authorization": f"Bearer {site.token(WebRole.RESPONDER)}"}
    path = f"/api/v1/incidents/{number}/ack"
    assert client.post(path, headers={"authorization": "Bearer tww_wrong"}).status_code == 401
    assert client.post(path, headers=good).status_code == 200
    assert site.actors(number) == ["test", "ci (token)"]


def test_a_program_without_credentials_is_told_that(site: Site) -> None:
    """Not that another site has sent its request; a cookie from another site is refused as before."""
    client = site.client()
    del client.headers["sec-fetch-site"]
    done = client.post("/api/v1/runs", json={"tables": ["orders"]})
    assert (done.status_code, done.headers["www-authenticate"]) == (401, "Bearer")
    client = site.signed_in()
    del client.headers["sec-fetch-site"]
    assert client.post("/api/v1/runs", json={"tables": ["orders"]}).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../../../etc/passwd",
        "/static/..%2f..%2fpyproject.toml",
        "/static/%2e%2e/web.css",
        "/static/web.css",
        "/static/",
        "/static/tablewatch.css/..",
        "/static/htmx.js%00",
    ],
)
def test_paths_that_climb_find_nothing(site: Site, path: str) -> None:
    """Two files are served, by their names."""
    assert site.client().get(path).status_code == 404


def test_a_wrong_method_is_refused(site: Site) -> None:
    """Nothing changes by reading; what is not there is said so in the shape of its kind."""
    client = site.signed_in()
    number = site.incident()
    assert client.get(f"/incidents/{number}/ack").status_code == 405
    assert client.delete(f"/api/v1/incidents/{number}").status_code == 405
    assert set(client.delete("/api/v1/incidents").headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    assert client.head(f"/incidents/{number}").status_code == 200
    gone = client.get("/api/v1/nothing")
    assert (gone.status_code, gone.json()["errors"][0]["code"]) == (404, "request.not_found")
    assert "<h1>There is no such page</h1>" in client.get("/nothing").text


def test_a_large_body_is_refused_by_its_length_at_once(site: Site) -> None:
    """100 MB that are announced are not even read."""
    received: list[str] = []

    async def receive() -> Message:
        received.append("a part")
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}

    status = _call(site, receive, [(b"content-length", b"100000000")])
    assert (status, received) == (413, [])


def test_a_large_body_is_refused_while_it_comes(site: Site) -> None:
    """100 MB that are not announced are read up to the limit."""
    received: list[int] = []

    async def receive() -> Message:
        received.append(65_536)
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}

    assert _call(site, receive, []) == 413
    assert sum(received) <= BODY_LIMIT + 65_536


def test_a_client_that_sends_nothing_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body has to arrive in time."""
    monkeypatch.setattr(boundary, "BODY_TIMEOUT_S", 0.0)

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    assert _call(site, receive, []) == 408


def _call(site: Site, receive: object, headers: list[tuple[bytes, bytes]]) -> int:
    """Send a form to the sign-in page by ASGI itself, and return the status."""
    statuses: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/sign-in",
        "raw_path": b"/sign-in",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"sec-fetch-site", b"same-origin"), *headers],
        "client": ("127.0.0.1", 1),
        "scheme": "http",
        "server": ("localhost", 80),
    }
    app = asgi(make_application(site.project, site.store))
    anyio.run(app, scope, receive, send)
    return statuses[0]


@pytest.mark.parametrize("path", ["/", "/sign-in", "/api/v1/incidents", "/nothing", "/static/htmx.js", "/healthz"])
def test_every_answer_has_the_headers_of_safety(site: Site, path: str) -> None:
    """Pages, JSON, files and errors: no inline script or style, no frame, no sniffing; only files are kept."""
    done = site.client().get(path)
    for name, value in SECURITY_HEADERS.items():
        assert done.headers[name] == value
    assert "unsafe" not in done.headers["content-security-policy"]
    assert (done.headers["cache-control"] == "no-store") == (not path.startswith("/static"))


def test_pages_have_no_inline_script_or_style(site: Site) -> None:
    """The policy would break them."""
    number = site.incident()
    client = site.signed_in()
    for path in ("/", "/incidents", f"/incidents/{number}", "/sign-in", "/nothing"):
        text = client.get(path).text
        assert "<style" not in text
        assert " style=" not in text
        assert " on" not in {part[:3] for part in text.split("<")}
        assert text.count("<script") == text.count("<script src=")


def test_bodies_that_are_no_json_are_refused(site: Site) -> None:
    """Half a value, another type, deep nesting, half a character: none is an internal error, and none is repeated."""
    number = site.incident()
    client = site.signed_in()
    path = f"/api/v1/incidents/{number}/comment"
    kind = {"content-type": "application/json"}
    for body in (b"{", b"\xff", b"[" * 100_000, b"[]", b'{"text": 3}', b'{"text": "x", "more": "' + CANARY.encode()):
        done = client.post(path, content=body, headers=kind)
        assert done.status_code in {400, 422}, body[:30]
        assert CANARY not in done.text
    assert client.post(path, json={"text": "x", "more": CANARY}).status_code == 422
    assert client.post(path, content=b'{"text": "\\ud800"}', headers=kind).status_code == 422
    assert client.post(path, content=b"text=x", headers={"content-type": "text/plain"}).status_code == 415


def test_an_internal_error_tells_its_kind_only(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the page nor the log holds what the error quotes."""

    def fail(*_: object, **__: object) -> None:
        raise KeyError(CANARY)

    monkeypatch.setattr(dispatch, "_values", fail)
    client = site.signed_in()
    logging.getLogger("tablewatch").propagate = True
    with caplog.at_level(logging.ERROR, "tablewatch"):
        page, data = client.get("/incidents"), client.get("/api/v1/incidents")
    assert (page.status_code, data.status_code) == (500, 500)
    assert data.json()["detail"] == "internal error (KeyError); please report it"
    assert "internal error (KeyError)" in caplog.text
    for text in (page.text, data.text, caplog.text):
        assert CANARY not in text


def test_a_busy_store_is_no_bug(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 says to try again; the readiness probe says the same."""

    def busy() -> Iterator[None]:
        raise StoreBusy("somebody else writes")

    client = site.signed_in()
    monkeypatch.setattr(site.store, "reading", busy)
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


def test_an_error_page_leads_on_for_who_is_signed_in(site: Site) -> None:
    """It has the navigation, by role; for who is not, it has none."""
    viewer = site.signed_in(WebRole.VIEWER)
    for path, status in (("/incidents/999", 404), ("/tables/nothing", 404), ("/budgets", 403)):
        page = viewer.get(path)
        assert page.status_code == status
        assert 'href="/downtime"' in page.text
        assert 'href="/budgets"' not in page.text
    assert 'href="/downtime"' not in site.client().get("/nowhere").text
