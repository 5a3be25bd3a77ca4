"""Every rendering of an incident shows each of its fields, or is known to leave it out."""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from checks import Kind, Severity
from incidents import FoundBy, Incident, ReportedIncident, Resolution, State
from monitor.alerts.batch import Batch, BatchItem
from monitor.alerts.decide import NotificationReason
from monitor.alerts.hold import HoldRules, Recipients
from monitor.alerts.message import MessageComposer, compose
from monitor.reporting.build import build_report, gather
from monitor.reporting.period import parse_period
from monitor.reporting.render import as_html, as_markdown
from monitor.reporting.report_json import as_json
from monitor.reporting.terminal_views.incident import incident_lines
from monitor.summaries.incident import TEXTS, IncidentSummary
from monitor.terminal.localizer import Localizer
from monitor.triage.incident_editor import IncidentEditor, read_incident_detail
from monitor.triage.ticket_fields import FIELDS
from monitor.web.incident_brief import incident_brief
from monitor.web.mcp_server import Assistant
from store._incidents import row_of
from store._rows import EpisodeRow, IncidentRow
from tests.monitor.web.site import Site

OTHER: Mapping[str, Mapping[str, Any]] = {
    "table": {"table": "refunds"},
    "check_id": {"check_id": "orders.not-null"},
    "kind": {"kind": Kind.DISCLOSURE},
    "severity": {"severity": Severity.CRITICAL},
    "title": {"title": "lost"},
    "found_by": {"found_by": FoundBy.CHECK},
    "state": {"state": State.ACKNOWLEDGED, "resolution": None},
    "resolution": {"resolution": Resolution.NO_ACTION},
    "cause": {"cause": "disk full"},
    "assignee": {"assignee": "m.mori"},
    "snoozed_until": {"snoozed_until": None},
    "regressed": {"regressed": True},
    "flapping": {"flapping": True},
    "root": {"root": 2},
    "merged_into": {"merged_into": 2},
}
"""Another value of each field of an incident; what else it needs to be possible stands beside it."""
UNPUBLISHED = {
    "id": "says which it is",
    "fingerprint": "only where everything is shown, as JSON",
    "title_values": "a part of the title",
    "episodes": "have renderings of their own",
    "answered": "decides what a learned limit learns from",
}
WITHOUT: Mapping[str, set[str]] = {
    "command": {"check_id"},
    "page": {"found_by", "flapping", "regressed"},
    "brief": {"found_by", "flapping", "merged_into", "regressed", "snoozed_until"},
    "post-mortem": {"assignee", "check_id", "flapping", "merged_into", "regressed", "snoozed_until"},
    "report as JSON": {"assignee", "check_id", "flapping", "merged_into", "root", "snoozed_until"},
    "report as HTML": {"assignee", "flapping", "merged_into", "root", "snoozed_until"},
    "report as Markdown": {"assignee", "flapping", "merged_into", "root", "snoozed_until"},
    "alert": {"check_id", "found_by", "regressed", "severity", "snoozed_until"},
}
"""What renderings leave out; that of Python is that of `list` (tests/monitor/summaries/test_one_shape.py)."""


@pytest.fixture
def incident(site: Site) -> Incident:
    """Return an incident of the store that was resolved with a cause, beside another one."""
    now = site.clock.now()
    report = ReportedIncident("orders", "late", now - timedelta(hours=9), None, now - timedelta(hours=8), cause="index")
    desk = IncidentEditor(site.project, site.store, actor="test")
    logged, _ = desk.log(report)
    site.incident("other")
    return replace(logged, snoozed_until=now + timedelta(hours=1))


def _write(site: Site, incident: Incident) -> None:
    """Put an incident in the place of the stored one, whatever its events say."""
    with site.store.writing() as tx:
        connection = tx.incidents._connection
        ended = None if incident.resolution is None else incident.last.resolved_at
        connection.execute(
            IncidentRow.__table__.update().where(IncidentRow.__table__.c.id == 1).values(row_of(incident))
        )
        episode = EpisodeRow.__table__
        connection.execute(episode.update().where(episode.c.incident_id == 1).values(resolved_at=ended))


def _renderings(site: Site, incident: Incident) -> dict[str, str]:
    """Return what each rendering shows of the incident that is stored."""
    project, now = site.project, site.clock.now()
    localizer, browser = Localizer("en", project.config.timezone), site.signed_in()
    with site.store.reading() as tx:
        lines = list(incident_lines(project, read_incident_detail(tx, 1)))
        week = parse_period("2026-W47", project.config.timezone)
        report = build_report(gather(project, tx, week, now), week)
        briefs = [incident_brief(project, tx, 1, localizer, post_mortem=draft) for draft in (False, True)]
    reason = NotificationReason.RESOLVED if incident.state is State.RESOLVED else NotificationReason.FIRST
    rules = HoldRules(project.config, silences=(), around=(incident,), now=now, recipients=Recipients())
    message = MessageComposer(project, now).incidents(
        Batch((BatchItem(incident, reason, now),), storm=False), "desk", rules
    )
    answer, _ = Assistant(project, site.store).call("incident", {"id": 1})
    listed = browser.get("/api/v1/incidents").json()["incidents"]
    return {
        "command": "\n".join(map(str, lines)),
        "api": json.dumps(browser.get("/api/v1/incidents/1").json()),
        "list": json.dumps([item for item in listed if item["id"] == 1]),
        "page": browser.get("/incidents/1").text,
        "mcp": json.dumps(answer, default=str),
        "brief": briefs[0],
        "post-mortem": briefs[1],
        "report as JSON": json.dumps(as_json(report, localizer)["incidents"]),
        "report as HTML": as_html(report, localizer, redact=str),
        "report as Markdown": as_markdown(report, localizer, redact=str),
        "alert": f"{message['title']}\n{compose(message).text}",
        "webhook": json.dumps(message["incidents"]),
    }


def test_every_field_is_tried() -> None:
    """A new field of an incident has another value here, or a reason."""
    assert {field.name for field in fields(Incident)} == OTHER.keys() | UNPUBLISHED.keys()
    assert OTHER.keys() <= IncidentSummary.model_fields.keys()


def test_every_rendering_shows_every_field(site: Site, incident: Incident) -> None:
    """A changed field is in each rendering that does not omit it."""
    _write(site, incident)
    before = _renderings(site, incident)
    left_out: dict[str, set[str]] = {name: set() for name in before}
    for field, values in OTHER.items():
        changed = replace(incident, **values)
        if changed.resolution is None:
            changed = replace(changed, episodes=(replace(changed.last, resolved_at=None),))
        _write(site, changed)
        for name, shown in _renderings(site, changed).items():
            if shown == before[name]:
                left_out[name].add(field)
    assert {name: names for name, names in left_out.items() if names} == WITHOUT


def test_texts_of_people_are_left_out_nowhere() -> None:
    """A user's text about an incident is in every rendering, and in tickets."""
    assert not any(TEXTS.keys() & names for names in WITHOUT.values())
    assert TEXTS.keys() <= FIELDS.keys()
