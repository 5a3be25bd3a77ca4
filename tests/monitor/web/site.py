"""The application over a small shop, called without a socket; its clock stands still."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from incidents import ReportedIncident
from monitor.clock import SimulatedClock
from monitor.config.project import Project
from monitor.config.web_model import cookie_name
from monitor.triage.incident_editor import IncidentEditor
from monitor.verbs.account_secrets import make_token, start_session
from monitor.web.change_feed import FeedTiming
from monitor.web.server import NOT_KEPT, Freshness, asgi, listen, make_application, server_config
from store import Grant, Scheduled, SignInMethod, Store, WebRole
from tests.monitor.alerts.sending import SECRET

SHORT = FeedTiming(stream_s=0)
"""Streams end when they have sent what there is."""
TABLES = """
  - {name: refunds, source: shop, owner: crew, domain: sales, table: orders}
domains: {sales: {owner: crew}}
products:
  selling:
    title: All that is sold
    tables: [orders, refunds]
    owner: crew
    consumers: [finance]
    promises: {ttr: 4h, downtime: 2h per 30d}
releases:
  extract:
    table: orders
    columns: {id: other, customer: quasi-identifier, amount: sensitive, loaded_at: other}
    audience: a university
    limits: {k: 2}
    remedies: [{remedy: suppress}]
"""


def alert_channel(url: str) -> str:
    """Return the section of a channel `hook` on this machine."""
    return f"alerts: {{channels: {{hook: {{webhook: {{url: '{url}', secret: {SECRET}, allow_private: true}}}}}}}}\n"


@dataclass
class Site:
    """The application, its store and its clock."""

    project: Project
    store: Store
    clock: SimulatedClock

    def client(self, *, peer: str = "127.0.0.1", host: str = "localhost", **headers: str) -> TestClient:
        """Return a browser that is not signed in; what it sends comes from our own pages."""
        return TestClient(
            asgi(make_application(self.project, self.store, timing=SHORT)),
            base_url=f"http://{host}",
            client=(peer, 50_000),
            headers={"sec-fetch-site": "same-origin", **headers},
            follow_redirects=False,
        )

    @contextmanager
    def served(self, *, freshness: Freshness = NOT_KEPT) -> Iterator[str]:
        """Serve the application on this machine in a thread, for the block; yield its host and port."""
        application = make_application(self.project, self.store, freshness=freshness, timing=SHORT)
        with listen("127.0.0.1", 0) as listener:
            server = uvicorn.Server(server_config(application))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()
            try:
                yield f"127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.should_exit = True
                thread.join()

    def cookie(self, role: WebRole = WebRole.ADMIN, *, name: str = "mia", **limits: tuple[str, ...]) -> str:
        """Return the header of a browser that is signed in."""
        with self.store.writing() as tx:
            secret = start_session(tx, name, SignInMethod.FORM, Grant(role, **limits), now=self.clock.now())
        return f"{cookie_name(self.project.config.web)}={secret}"

    def signed_in(self, role: WebRole = WebRole.ADMIN, *, name: str = "mia", **limits: tuple[str, ...]) -> TestClient:
        """Return a browser that is signed in."""
        client = self.client()
        client.cookies.set(*self.cookie(role, name=name, **limits).split("=", 1))
        return client

    def token(self, role: WebRole, name: str = "ci", *, life: timedelta = timedelta(days=1), **limits: Any) -> str:
        """Return a new API token."""
        with self.store.writing() as tx:
            return make_token(tx, name, Grant(role, **limits), now=self.clock.now(), life=life)

    def incident(self, title: str = "late", *, table: str = "orders") -> int:
        """Log an incident that has lasted for an hour, and return its number."""
        at = self.clock.now() - timedelta(hours=1)
        desk = IncidentEditor(self.project, self.store, actor="test")
        return desk.log(ReportedIncident(table=table, title=title, detected_at=at))[0].id

    def schedule(self, *tables: str, due_in: timedelta = timedelta(minutes=30), every: str = "every 1h") -> None:
        """Write the schedule as a daemon does: each table is due some time from now."""
        due = self.clock.now() + due_in
        with self.store.writing() as tx:
            tx.schedule.reschedule([Scheduled(table, every, "UTC", due, due) for table in tables])

    def actors(self, number: int) -> list[str]:
        """Return who changed an incident, in order."""
        with self.store.reading() as tx:
            return [event.actor for event in tx.incidents.events(number)]
