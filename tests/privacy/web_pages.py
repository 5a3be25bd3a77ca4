"""Read every page of the web application, each for several things, and write what it answered to standard output."""

import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from starlette.testclient import TestClient

from monitor.clock import SystemClock
from monitor.config import load
from monitor.config.project import Project
from monitor.config.web_model import cookie_name
from monitor.verbs.account_secrets import start_session
from monitor.web.change_feed import FeedTiming
from monitor.web.mcp_server import Assistant
from monitor.web.routes import routes
from monitor.web.server import asgi, make_application
from store import Grant, SignInMethod, StatusScope, Store, WebRole, WriteTransaction

_EACH: Final = 25
"""Tables, checks and incidents that are asked for."""
_QUERIES: Final = {"/sign-in/link": "?token=none", "/api/v1/events": "?after=0"}


def main(config: Path, week: str) -> None:
    """Sign in as an administrator and ask for everything; each answer is written after its status and address."""
    project = Project(load(config), SystemClock())
    with project.open_store() as store:
        app = asgi(make_application(project, store, timing=FeedTiming(stream_s=0)))
        client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
        with store.writing() as tx:
            secret = start_session(tx, "mia", SignInMethod.FORM, Grant(WebRole.ADMIN), now=project.clock.now())
        client.cookies.set(cookie_name(project.config.web), secret)
        names = _names(project, store, week)
        for path in _paths(names):
            for language in ("en", "ja"):
                answer = client.get(path, headers={"accept-language": language})
                sys.stdout.write(f"{answer.status_code} {path}\n{answer.text}\n")
        for name, arguments in _requests(names):
            answer, refused = Assistant(project, store).call(name, arguments)
            sys.stdout.write(f"{400 if refused else 200} /mcp/{name}\n{json.dumps(answer)}\n")


def _names(project: Project, store: Store, week: str) -> dict[str, list[str]]:
    tables = [table.name for table in project.config.tables]
    checks = [table.check_id(check) for table in project.config.tables for check in table.checks]
    with store.writing() as tx:
        numbers = [str(incident.id) for incident in tx.incidents.matching()]
        status = list(_secrets(tx, project, tables[:3]))
    step = max(len(checks) // _EACH, 1)
    return {
        "tables": tables[:_EACH],
        "badge": tables[:3],
        "status": status,
        "checks": checks[::step],
        "incidents": numbers[-_EACH:],
        "reports": [week, *(f"{week}?scope=product:{name}" for name in project.config.products)],
        "products": list(project.config.products),
        "releases": list(project.config.releases),
    }


def _secrets(tx: WriteTransaction, project: Project, tables: list[str]) -> Iterator[str]:
    """Make addresses of status pages, and yield the secret part of each."""
    for table in tables:
        digest = sha256(table.encode()).digest()
        tx.status_addresses.add(digest, StatusScope.TABLE, table, by="mia", at=project.clock.now())
        yield table


def _requests(names: dict[str, list[str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what an assistant may ask for."""
    yield from ((name, {}) for name in ("status", "incidents", "downtime", "what_if", "why_not_notified"))
    yield from (("incident", {"id": int(number)}) for number in names["incidents"])
    for name, key, kind in (
        ("table", "name", "tables"),
        ("explain_check", "id", "checks"),
        ("release", "name", "releases"),
    ):
        yield from ((name, {key: value}) for value in names[kind])


def _paths(names: dict[str, list[str]]) -> Iterator[str]:
    for route in routes():
        if route.method != "GET" or route.path.startswith(("/static", "/sign-in/oidc")):  # no provider is configured
            continue
        head, brace, rest = route.path.partition("{")
        if not brace:
            yield f"{head}{_QUERIES.get(head, '')}"
            continue
        kind = head.removeprefix("/api/v1").strip("/")
        tail = rest.partition("}")[2]
        yield from (f"{head}{name}{tail}" for name in names[kind])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
