"""What there is to know of an incident: its figures, and its published JSON form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from checks import Kind, Message, PlainEnglish
from incidents import (
    Cost,
    Downtime,
    Episode,
    Event,
    Incident,
    Spans,
    State,
    Window,
    encode,
    hours,
    measure_by,
    price_by,
    to_us,
)
from incidents.verbs import available
from monitor.desk.reported import tidy
from monitor.desk.sheet import Sheet
from monitor.wiring import Project

"""Verbs whose command has another name."""


@dataclass(frozen=True, slots=True)
class Figures:
    """How long an incident took so far, in microseconds, without planned maintenance, and what it cost.

    `ttr_us` is None while it lasts. `downtime_us` and `cost` are nothing for what does not count; `cost` is None where
    no rate is configured.
    """

    ttd_us: int
    ttr_us: int | None
    downtime_us: int
    cost: Fraction | None


def figures_of(project: Project, incidents: Sequence[Incident], as_of: datetime | None = None) -> Mapping[int, Figures]:
    """Give the figures of incidents, by id, as of now unless another moment is given."""
    if not incidents:
        return {}
    spans = Spans.of(incidents)
    as_of = as_of or project.clock.now()
    as_of_us = to_us(as_of)
    start_us = int(min(spans.earliest.min(), spans.occurred.min()))
    window = Window(start_us, max(as_of_us, start_us) + 1)
    maintenance = project.maintenance(spans.names)
    found = measure_by(spans, window, as_of_us=as_of_us, group=spans.incident, maintenance=maintenance)
    costs: Mapping[int, Cost] = {}
    if project.priced:
        costs = price_by(
            spans, window, pricing=project.pricing, as_of_us=as_of_us, group=spans.incident, maintenance=maintenance
        )
    nothing = Cost() if project.priced else None
    return {one.id: _figures(one, found.get(one.id), costs.get(one.id, nothing), as_of) for one in incidents}


def _figures(incident: Incident, found: Downtime | None, cost: Cost | None, as_of: datetime) -> Figures:
    if found is not None and incident.counts and incident.kind is Kind.QUALITY:
        ttd, ttr, downtime = found.undetected, found.repair, found.downtime
    else:
        ttd, ttr, downtime = _us(incident.undetected), _us(incident.repair(as_of)), 0
    lasts = incident.state is not State.RESOLVED
    return Figures(ttd, None if lasts else ttr, downtime, None if cost is None else cost.amount)


def title_of(incident: Incident) -> str:
    """Say what is wrong, in English, on one line; braces in a title that a person wrote are no places."""
    if not incident.title_values:
        return tidy(incident.title)
    return tidy(Message(incident.title, incident.title_values).render(PlainEnglish()))


def owner_of(project: Project, incident: Incident) -> str | None:
    """Give who answers for its table; None if nobody does, or the table is no longer configured."""
    table = project.config.table(incident.table)
    return None if table is None else project.config.owner_of(table)


def incident_as_json(project: Project, incident: Incident, figures: Figures) -> dict[str, Any]:
    """Give an incident without its history: what a list holds of it."""
    first, last = incident.episodes[0], incident.last
    return {
        "id": incident.id,
        "table": incident.table,
        "check_id": incident.check_id,
        "kind": incident.kind.value,
        "severity": incident.severity.value,
        "title": title_of(incident),
        "state": incident.state.value,
        "resolution": None if incident.resolution is None else incident.resolution.value,
        "cause": incident.cause,
        "found_by": incident.found_by.value,
        "owner": owner_of(project, incident),
        "assignee": incident.assignee,
        **_onset(first),
        "detected_at": iso(first.detected_at),
        "acknowledged_at": iso(incident.acknowledged_at),
        "resolved_at": iso(last.resolved_at) if incident.state is State.RESOLVED else None,
        "snoozed_until": iso(incident.snoozed_until),
        "regressed": incident.regressed,
        "flapping": incident.flapping,
        "root": incident.root,
        "merged_into": incident.merged_into,
        "counts": incident.counts,
        "ttd_h": float(hours(figures.ttd_us)),
        "ttr_h": None if figures.ttr_us is None else float(hours(figures.ttr_us)),
        "downtime_h": float(hours(figures.downtime_us)),
        "cost": {"amount": project.currency.number(figures.cost), "currency": project.currency.code},
        "available": list(available(incident)),
    }


def sheet_as_json(project: Project, sheet: Sheet) -> dict[str, Any]:
    """Give the published shape `tablewatch.incident/1`: an incident with its episodes and its history."""
    incident = sheet.incident
    figures = figures_of(project, [incident])[incident.id]
    return {
        "schema": "tablewatch.incident/1",
        **incident_as_json(project, incident, figures),
        "fingerprint": incident.fingerprint,
        "duplicates": list(sheet.duplicates),
        "episodes": [_episode(episode) for episode in incident.episodes],
        "events": [_event(event) for event in sheet.events],
    }


def iso(moment: datetime | None) -> str | None:
    """Give a moment as JSON has it."""
    return None if moment is None else moment.isoformat()


def _onset(episode: Episode) -> dict[str, Any]:
    onset = episode.onset
    return {
        "occurred_at": iso(onset.at),
        "occurred_earliest": iso(onset.earliest),
        "occurred_latest": iso(onset.latest),
        "occurrence_method": onset.method.value,
    }


def _episode(episode: Episode) -> dict[str, Any]:
    return {
        **_onset(episode),
        "first_failed_at": iso(episode.first_failed_at),
        "detected_at": iso(episode.detected_at),
        "resolved_at": iso(episode.resolved_at),
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "recorded_at": iso(event.recorded_at),
        "actor": event.actor,
        "kind": event.change.kind,
        "change": encode(event.change),
    }


def _us(length: timedelta) -> int:
    return length // timedelta(microseconds=1)
