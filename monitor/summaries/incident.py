"""What there is to know of an incident: its figures, and its published JSON form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from checks import Kind, Message, PlainEnglish
from checks.classes.arrays import np
from incidents import (
    DowntimeCost,
    Durations,
    Episode,
    Event,
    Incident,
    MaintenanceSpans,
    Resolution,
    Spans,
    State,
    Window,
    durations,
    encode,
    episode_durations,
    hours,
    price_by,
    to_us,
)
from incidents.verbs import available
from monitor.clock import iso
from monitor.config.project import Project
from monitor.triage.create import tidy
from monitor.triage.incident_editor import IncidentDetail
from store import ExternalItem

RESOLUTIONS: Final[Mapping[Resolution, Message]] = {
    Resolution.FIXED: Message("fixed"),
    Resolution.NO_ACTION: Message("no action"),
    Resolution.EXPECTED: Message("expected"),
    Resolution.FALSE_POSITIVE: Message("false positive"),
    Resolution.DUPLICATE: Message("duplicate"),
}


@dataclass(frozen=True, slots=True)
class IncidentFigures:
    """How long an incident took so far, without planned maintenance, and what it cost; `episodes` in their order.

    Lengths of time are microseconds. `ttr_us` is None while it lasts. `downtime_us` and `cost` are nothing for what
    does not count; `cost` is None where no rate is configured, and is the sum of `episode_costs`.
    """

    whole: Durations
    episodes: tuple[Durations, ...]
    downtime_us: int
    cost: Fraction | None
    episode_costs: tuple[Fraction | None, ...]

    @property
    def ttd_us(self) -> int:
        """TTD, its episodes summed."""
        return self.whole.ttd

    @property
    def ttr_us(self) -> int | None:
        """TTR, its episodes summed; None while it lasts."""
        return None if self.whole.lasts else self.whole.ttr


def incident_figures(
    project: Project, incidents: Sequence[Incident], as_of: datetime | None = None
) -> Mapping[int, IncidentFigures]:
    """Compute the figures of incidents, by id, as of now unless another moment is given.

    All arithmetic is that of `incidents.durations` and `incidents.price_by`.
    """
    if not incidents:
        return {}
    spans = Spans.of(incidents)
    as_of_us = to_us(as_of or project.clock.now())
    maintenance = project.maintenance(spans.names)
    whole = durations(spans, as_of_us=as_of_us, maintenance=maintenance)
    by_row = episode_durations(spans, as_of_us=as_of_us, maintenance=maintenance)
    prices = _prices(project, spans, as_of_us, maintenance)
    figures: dict[int, IncidentFigures] = {}
    for incident in incidents:
        rows = np.flatnonzero(spans.incident == incident.id).tolist()
        costs = tuple(None if prices is None else prices.get(row, DowntimeCost()).amount for row in rows)
        figures[incident.id] = IncidentFigures(
            whole=whole[incident.id],
            episodes=tuple(by_row[row] for row in rows),
            downtime_us=whole[incident.id].total if is_downtime(incident) else 0,
            cost=None if prices is None else sum((cost for cost in costs if cost is not None), Fraction()),
            episode_costs=costs,
        )
    return figures


def is_downtime(incident: Incident) -> bool:
    """Return whether its hours are data downtime: by how it ended, and by its kind."""
    return incident.counts and incident.kind is Kind.QUALITY


def _prices(
    project: Project, spans: Spans, as_of_us: int, maintenance: MaintenanceSpans | None
) -> Mapping[int, DowntimeCost] | None:
    """Price each episode, by row of the spans; None where no rate is configured."""
    if not project.priced:
        return None
    start_us = int(min(spans.earliest.min(), spans.occurred.min()))
    window = Window(start_us, max(as_of_us, start_us) + 1)
    rows = np.arange(spans.incident.size, dtype=np.int64)
    return price_by(spans, window, pricing=project.pricing, as_of_us=as_of_us, group=rows, maintenance=maintenance)


def title_of(incident: Incident) -> str:
    """Return the title in English, on one line; one that a person wrote unchanged, braces included."""
    if not incident.title_values:
        return tidy(incident.title)
    return tidy(Message(incident.title, incident.title_values).render(PlainEnglish()))


def owner_of(project: Project, incident: Incident) -> str | None:
    """Return who answers for its table; None if nobody does, or the table is no longer configured."""
    table = project.config.table(incident.table)
    return None if table is None else project.config.owner_of(table)


def incident_as_json(project: Project, incident: Incident, figures: IncidentFigures) -> dict[str, Any]:
    """Return an incident without its history: what a list holds of it."""
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
        "tta_h": _hours(figures.whole.tta),
        "ttr_h": _hours(figures.ttr_us),
        "downtime_h": float(hours(figures.downtime_us)),
        "maintenance_h": float(hours(figures.whole.maintenance)),
        "cost": {"amount": project.currency.number(figures.cost), "currency": project.currency.code},
        "available": list(available(incident)),
    }


def sheet_as_json(project: Project, sheet: IncidentDetail, as_of: datetime | None = None) -> dict[str, Any]:
    """Return the published shape `tablewatch.incident/1`: an incident with its episodes and its history.

    Its figures are as of now unless another moment is given.
    """
    incident = sheet.incident
    figures = incident_figures(project, [incident], as_of)[incident.id]
    return {
        "schema": "tablewatch.incident/1",
        **incident_as_json(project, incident, figures),
        "version": len(sheet.events),
        "fingerprint": incident.fingerprint,
        "duplicates": list(sheet.duplicates),
        "external_items": [external_item_as_json(project, item) for item in sheet.external_items],
        "episodes": [episode_as_json(project, incident, figures, number) for number in range(len(incident.episodes))],
        "events": [_event(event) for event in sheet.events],
    }


def external_item_as_json(project: Project, item: ExternalItem) -> dict[str, Any]:
    """Return a ticket, page or message; an address only while its channel still leads to the place where it is."""
    channel = project.config.alerts.channels.get(item.channel)
    is_there = channel is not None and channel.kind.target(channel.settings) == item.target
    return {
        "channel": item.channel,
        "service": item.target.partition(" ")[0],
        "item": item.item,
        "status": item.status,
        "url": channel.kind.item_url(channel.settings, item.item) if channel and is_there and item.item else None,
    }


def _onset(episode: Episode) -> dict[str, Any]:
    onset = episode.onset
    return {
        "occurred_at": iso(onset.at),
        "occurred_earliest": iso(onset.earliest),
        "occurred_latest": iso(onset.latest),
        "occurrence_method": onset.method.value,
    }


def episode_as_json(project: Project, incident: Incident, figures: IncidentFigures, number: int) -> dict[str, Any]:
    """Return one of an incident's episodes as JSON; `number` counts from 0, -1 is the last."""
    episode, length, cost = incident.episodes[number], figures.episodes[number], figures.episode_costs[number]
    return {
        **_onset(episode),
        "first_failed_at": iso(episode.first_failed_at),
        "detected_at": iso(episode.detected_at),
        "acknowledged_at": iso(episode.acknowledged_at),
        "resolved_at": iso(episode.resolved_at),
        "ttd_h": float(hours(length.ttd)),
        "tta_h": _hours(length.tta),
        "ttr_h": _hours(None if length.lasts else length.ttr),
        "cost": project.currency.number(cost),
    }


def _hours(microseconds: int | None) -> float | None:
    return None if microseconds is None else float(hours(microseconds))


def _event(event: Event) -> dict[str, Any]:
    return {
        "recorded_at": iso(event.recorded_at),
        "actor": event.actor,
        "kind": event.change.kind,
        "change": encode(event.change),
    }
