"""What there is to know of an incident: its figures, and the models that lists, pages and messages show of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self

from checks import Kind, Message, OccurrenceMethod, Severity
from checks.classes.arrays import np
from incidents import (
    DowntimeCost,
    Durations,
    Episode,
    FoundBy,
    Incident,
    MaintenanceSpans,
    Resolution,
    Spans,
    State,
    Window,
    durations,
    encode,
    episode_durations,
    price_by,
    to_us,
)
from incidents.verbs import available
from monitor.config.project import Project
from monitor.summaries.shapes import Amount, Moment, Money, Shape, Title, as_hours
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


class IncidentText(NamedTuple):
    """A text that people write about an incident: its label, the note in a report, and whether it is of its end."""

    label: Message
    note: Message
    is_of_end: bool = False

    def noted(self, text: str) -> Message:
        """Return the note with a text."""
        return replace(self.note, values={"text": text})


TEXTS: Final[Mapping[str, IncidentText]] = {
    "cause": IncidentText(Message("Cause"), Message("cause: {text}"), is_of_end=True),
}
"""By field. Every rendering of an incident shows all of these (tests/monitor/web/test_every_rendering.py)."""


def texts_of(incident: "Incident | IncidentSummary") -> Mapping[str, str]:
    """Return the texts that people wrote about an incident, by field, in the order of `TEXTS`."""
    texts = ((name, getattr(incident, name)) for name in TEXTS)
    return {name: text for name, text in texts if text}


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


def title_of(incident: Incident) -> Message:
    """Return the title as a message; braces in one that a person wrote are no places."""
    title = Message(incident.title, incident.title_values)
    try:
        str(title)
    except (KeyError, ValueError, IndexError):  # values that do not fit its places: a title from elsewhere
        return replace(title, text=_without_places(title.text), values={})
    return title if title.values else replace(title, text=_without_places(title.text))


def _without_places(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def english_title(incident: Incident) -> str:
    """Return the title in English, on one line."""
    return tidy(str(title_of(incident)))


def owner_of(project: Project, incident: Incident) -> str | None:
    """Return the owner of its table; None if there is none, or the table is no longer configured."""
    table = project.config.table(incident.table)
    return None if table is None else project.config.owner_of(table)


class EpisodeTimes(Shape):
    """When it happened, and how long it took; null lengths: it lasts, or it is unacknowledged."""

    occurred_at: Moment
    occurred_earliest: Moment
    occurred_latest: Moment
    occurrence_method: OccurrenceMethod
    detected_at: Moment
    acknowledged_at: Moment | None
    resolved_at: Moment | None
    ttd_h: float
    tta_h: float | None
    ttr_h: float | None


class IncidentEpisode(EpisodeTimes):
    """An episode with its times, and what it cost."""

    first_failed_at: Moment | None
    cost: Money

    @classmethod
    def of(cls, project: Project, incident: Incident, figures: IncidentFigures, number: int) -> Self:
        """Return one of an incident's episodes; `number` counts from 0, -1 is the last."""
        episode, length = incident.episodes[number], figures.episodes[number]
        return cls(
            **_onset(episode),
            first_failed_at=episode.first_failed_at,
            detected_at=episode.detected_at,
            acknowledged_at=episode.acknowledged_at,
            resolved_at=episode.resolved_at,
            ttd_h=as_hours(length.ttd),
            tta_h=_hours(length.tta),
            ttr_h=_hours(None if length.lasts else length.ttr),
            cost=project.currency.number(figures.episode_costs[number]),
        )


class IncidentEvent(Shape):
    """Something that happened to it; `change` as the store keeps it."""

    recorded_at: Moment
    actor: str
    kind: str
    change: dict[str, Any]


class ExternalItemLine(Shape):
    """What it is in a service that shows it: a ticket with its status, a page or a message.

    `item` is what the service calls it, null until its answer is known; `url` where people see it, null if that is
    unknown, or its channel leads to another place now.
    """

    channel: str
    service: str
    item: str | None
    status: str | None
    url: str | None

    @classmethod
    def of(cls, project: Project, item: ExternalItem) -> Self:
        """Return an item with its address, while its channel still leads to the place where it is."""
        channel = project.channel(item.channel)
        is_there = channel is not None and channel.kind.target(channel.settings) == item.target
        return cls(
            channel=item.channel,
            service=item.target.partition(" ")[0],
            item=item.item,
            status=item.status,
            url=channel.kind.item_url(channel.settings, item.item) if channel and is_there and item.item else None,
        )


class IncidentSummary(EpisodeTimes):
    """An incident without its history: what a list, a message and a page hold of it."""

    id: int
    table: str
    check_id: str | None
    kind: Kind
    severity: Severity
    title: Title
    state: State
    resolution: Resolution | None
    cause: str | None
    found_by: FoundBy
    owner: str | None
    assignee: str | None
    snoozed_until: Moment | None
    regressed: bool
    flapping: bool
    root: int | None
    merged_into: int | None
    counts: bool
    downtime_h: float
    maintenance_h: float
    cost: Amount
    available: tuple[str, ...]

    @property
    def texts(self) -> Sequence[tuple[Message, str]]:
        """Return what people wrote about it, each with its label."""
        return [(TEXTS[name].label, text) for name, text in texts_of(self).items()]

    @classmethod
    def of(cls, project: Project, incident: Incident, figures: IncidentFigures, **more: Any) -> Self:
        """Return an incident with its figures; `more`: the fields that a wider model adds.

        Fields of `Incident` are published under their own names.
        """
        first, last = incident.episodes[0], incident.last
        own = {name: getattr(incident, name) for name in IncidentSummary.model_fields if hasattr(incident, name)}
        computed = {
            **_onset(first),
            "detected_at": first.detected_at,
            "resolved_at": last.resolved_at if incident.state is State.RESOLVED else None,
            "title": title_of(incident),
        }
        return cls(
            **own | computed | more,
            owner=owner_of(project, incident),
            ttd_h=as_hours(figures.ttd_us),
            tta_h=_hours(figures.whole.tta),
            ttr_h=_hours(figures.ttr_us),
            downtime_h=as_hours(figures.downtime_us),
            maintenance_h=as_hours(figures.whole.maintenance),
            cost=Amount.of(project, figures.cost),
            available=available(incident),
        )


class IncidentSheet(IncidentSummary):
    """An incident with its episodes and its history; `version` counts its events."""

    version: int
    fingerprint: str
    duplicates: tuple[int, ...]
    external_items: tuple[ExternalItemLine, ...]
    episodes: tuple[IncidentEpisode, ...]
    events: tuple[IncidentEvent, ...]

    @classmethod
    def read(cls, project: Project, detail: IncidentDetail, now: datetime, /, **more: Any) -> Self:
        """Return an incident with its history, its figures up to now; `more`: the fields that a wider model adds."""
        incident = detail.incident
        figures = incident_figures(project, [incident], now)[incident.id]
        return cls.of(
            project,
            incident,
            figures,
            version=len(detail.events),
            fingerprint=incident.fingerprint,
            duplicates=detail.duplicates,
            external_items=[ExternalItemLine.of(project, item) for item in detail.external_items],
            episodes=[
                IncidentEpisode.of(project, incident, figures, number) for number in range(len(incident.episodes))
            ],
            events=[
                IncidentEvent(
                    recorded_at=event.recorded_at,
                    actor=event.actor,
                    kind=event.change.kind,
                    change=encode(event.change),
                )
                for event in detail.events
            ],
            **more,
        )


def summaries_of(
    project: Project, incidents: Sequence[Incident], as_of: datetime | None = None
) -> tuple[IncidentSummary, ...]:
    """Return incidents in their order, each with its figures up to now unless another moment is given."""
    figures = incident_figures(project, incidents, as_of)
    return tuple(IncidentSummary.of(project, incident, figures[incident.id]) for incident in incidents)


def _onset(episode: Episode) -> dict[str, Any]:
    onset = episode.onset
    return {
        "occurred_at": onset.at,
        "occurred_earliest": onset.earliest,
        "occurred_latest": onset.latest,
        "occurrence_method": onset.method,
    }


def _hours(microseconds: int | None) -> float | None:
    return None if microseconds is None else as_hours(microseconds)
