"""What the settings of channels that follow incidents change: the requests that a service gets."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from monitor.alerts.dispatch import send
from monitor.alerts.ticket_pull import ticket_channels
from monitor.alerts.trial_message import TrialMessageKind, trial_message
from tests.monitor.alerts.made import NOW
from tests.monitor.alerts.receivers import Handler, Request, listening
from tests.monitor.config.effects.effect import Effect
from tests.monitor.config.effects.folder import BASE, nested, project_of

_PORT: Final = "65000"
"""Stands for the port of the service, which is known only when it listens."""
_URL: Final = f"http://127.0.0.1:{_PORT}"
_NEAR: Final = {"allow_private": True}
_BASES: Final[Mapping[str, Mapping[str, Any]]] = {
    "pagerduty": {"routing_key": "a" * 32, "url": _URL, **_NEAR},
    "slack": {"token": "xoxb-1", "channel": "C1", "url": _URL, **_NEAR},
    "jira": {"url": _URL, "email": "a@example.org", "token": "t", "project": "OPS", **_NEAR},
    "servicenow": {"url": _URL, "user": "a", "password": "p", **_NEAR},
}
_DONE: Final = {"statusCategory": {"key": "done"}}
_STEPS: Final = [{"id": "1", "to": {"name": "Done", **_DONE}}, {"id": "2", "to": {"name": "Rejected", **_DONE}}]
_ANSWER: Final = {
    "ok": True,
    "ts": "1",
    "key": "OPS-1",
    "result": {"sys_id": "1", "state": "1"},
    "fields": {"status": {"statusCategory": {"key": "new"}}},
    "transitions": _STEPS,
}
"""An answer that each of the four services could have given."""
_TWO_NAMES: Final = (_URL, f"http://localhost:{_PORT}")
_KEYS: Final = (
    ("PagerDuty", "routing_key", ("a" * 32, "b" * 32)),
    ("PagerDuty", "url", (_URL, f"{_URL}/v2/enqueue")),
    ("Slack", "token", ("xoxb-1", "xoxb-2")),
    ("Slack", "channel", ("C1", "C2")),
    ("Slack", "url", (_URL, f"{_URL}/api")),
    ("Jira", "url", _TWO_NAMES),
    ("Jira", "email", ("a@example.org", "b@example.org")),
    ("Jira", "token", ("t", "u")),
    ("Jira", "project", ("OPS", "DATA")),
    ("Jira", "issue_type", ("Task", "Bug")),
    ("Jira", "fields", ({}, {"priority": {"name": "High"}})),
    ("Jira", "close_status", ("Done", "Rejected")),
    ("Jira", "close_fields", ({}, {"resolution": {"name": "Done"}})),
    ("ServiceNow", "url", _TWO_NAMES),
    ("ServiceNow", "user", ("a", "b")),
    ("ServiceNow", "password", ("p", "q")),
    ("ServiceNow", "table", ("incident", "sn_customerservice_case")),
    ("ServiceNow", "fields", ({}, {"category": "data"})),
    ("ServiceNow", "close_fields", ({"close_code": "Duplicate"}, {"close_code": "User error"})),
    *((section, "allow_private", (False, True)) for section in ("PagerDuty", "Slack", "Jira", "ServiceNow")),
)


def requested(config: Mapping[str, Any]) -> object:
    """Return what a trial message makes a service hear, and what came of it."""

    def answer(handler: Handler, _: Request) -> None:
        handler.say(200, json.dumps(_ANSWER).encode())

    with listening(answer) as receiver:
        placed = json.loads(json.dumps(config).replace(_PORT, str(receiver.port)))
        with project_of(placed, NOW) as project:
            trial = trial_message(project, "desk", TrialMessageKind.INCIDENT, now=NOW)
            attempt = send(project, trial)
    heard = [
        (one.method, one.path, one.headers["host"], one.headers.get("authorization"), one.body.decode())
        for one in receiver.requests
    ]
    return repr((attempt, heard)).replace(str(receiver.port), _PORT).replace(trial.id, "ID")


def pulled(config: Mapping[str, Any]) -> object:
    """Return how often tickets are read."""
    with project_of(config, NOW) as project:
        return dict(ticket_channels(project))


def entries() -> Iterator[Effect]:
    """Yield an entry for each key."""
    for section, key, values in _KEYS:
        yield _entry(section, key, values, requested)
    for section in ("Jira", "ServiceNow"):
        yield _entry(section, "pull_every_s", (60, 300), pulled)


def _entry(section: str, key: str, values: tuple[Any, Any], observe: Callable[[Mapping[str, Any]], object]) -> Effect:
    kind = section.lower()
    base = nested(BASE, "alerts", channels={"desk": {kind: _BASES[kind]}}, routes=[{"to": ["desk"]}])
    return Effect(f"{section}.{key}", base, values, observe, ("alerts", "channels", "desk", kind, key))
