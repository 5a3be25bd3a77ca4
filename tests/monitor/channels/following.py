"""A store, and a channel that shows each incident as one thing at a service on the loopback."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from monitor.alerts.dispatch import Dispatched, dispatch
from monitor.alerts.ticket_pull import PullResult, pull_tickets
from monitor.triage.incident_editor import IncidentEditor
from store import Delivery, ExternalItem
from tests.monitor.alerts.desk import Desk
from tests.monitor.alerts.made import at, project
from tests.monitor.alerts.receivers import listening
from tests.monitor.channels.fakes import FakeJira, FakePagerDuty, FakeService, FakeServiceNow, FakeSlack

SETTINGS: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "pagerduty": lambda url: {"routing_key": FakePagerDuty.ROUTING_KEY, "url": f"{url}/v2/enqueue"},
    "slack": lambda url: {"token": FakeSlack.TOKEN, "channel": FakeSlack.CHANNEL, "url": f"{url}/api"},
    "jira": lambda url: {"url": url, "email": "agent@example.org", "token": "jira-secret", "project": "OPS"},
    "servicenow": lambda url: {"url": url, "user": "agent", "password": "now-secret"},
}
FAKES: Mapping[str, type[FakeService]] = {
    "pagerduty": FakePagerDuty,
    "slack": FakeSlack,
    "jira": FakeJira,
    "servicenow": FakeServiceNow,
}
WEB = 'web: {public_url: "https://watch.example.org"}\n'


class Followed(Desk):
    """A desk whose one channel follows incidents."""

    def step(self, hours: float) -> Dispatched:
        """Let time pass, then decide and send."""
        self.project.clock.advance(at(hours) - self.project.clock.now())
        self.told(at(hours), arrives=False)
        return dispatch(self.project, self.store, holder="me")

    def acknowledge(self, incident: Any, hours: float, by: str = "mia") -> None:
        """Take care of an incident, as a person does."""
        self.project.clock.advance(at(hours) - self.project.clock.now())
        IncidentEditor(self.project, self.store, actor=by).acknowledge(incident.id)

    def pull(self, hours: float) -> PullResult:
        """Read tickets."""
        self.project.clock.advance(at(hours) - self.project.clock.now())
        return pull_tickets(self.project, self.store, "desk")

    def item(self, number: int = 1) -> ExternalItem:
        """Return what an incident is at the other side."""
        with self.store.reading() as tx:
            (item,) = tx.external_items.of_incident(number)
        return item

    def messages(self) -> list[Delivery]:
        """Return the messages, oldest first."""
        with self.store.reading() as tx:
            return tx.deliveries.since(at(-100), 1000)[::-1]

    def incident(self, number: int = 1) -> Any:
        """Return an incident as it stands."""
        with self.store.reading() as tx:
            return tx.incidents.get(number)

    def events(self, number: int = 1) -> list[tuple[str, str]]:
        """Return who did what to an incident."""
        with self.store.reading() as tx:
            return [(event.actor, event.change.kind) for event in tx.incidents.events(number)]


@contextmanager
def following(folder: Path, kind: str, alerts: str = "", **settings: Any) -> Iterator[tuple[Followed, Any]]:
    """Run a service, and give a desk whose channel leads there, and the service."""
    fake = FAKES[kind]()
    with listening(fake) as receiver:
        made = SETTINGS[kind](f"http://127.0.0.1:{receiver.port}") | {"allow_private": True} | settings
        old, new = 'desk: {apprise: "json://localhost:9/"}', f"desk: {json.dumps({kind: made})}"
        routes = "" if "routes:" in alerts else "  routes: [{to: [desk]}]\n"
        made_project = project(folder, f"{routes}{alerts}\n{WEB}", channel=(old, new))
        with made_project.open_store() as store:
            yield Followed(made_project, store), fake
