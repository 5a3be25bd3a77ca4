"""Print an incident: its times and their sources, figures, and events."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from rich.text import Text

from checks import OccurrenceMethod
from incidents import (
    AGENT,
    Acknowledged,
    Assigned,
    Change,
    Commented,
    Corrected,
    Durations,
    Episode,
    Escalated,
    Event,
    Flapped,
    FoundBy,
    Incident,
    Merged,
    Opened,
    Renamed,
    Reopened,
    Resolved,
    RootNamed,
    Snoozed,
    State,
    TicketSaid,
    to_us,
)
from incidents.verbs import available
from monitor.config.project import Project
from monitor.summaries.incident import (
    ExternalItemLine,
    IncidentFigures,
    english_title,
    incident_figures,
    is_downtime,
    owner_of,
    texts_of,
)
from monitor.terminal.redaction import visible
from monitor.triage.create import ticket_of, tidy
from monitor.triage.incident_editor import IncidentDetail
from monitor.triage.ticket_fields import FIELDS
from monitor.triage.time_parsing import format_hours, format_time

if TYPE_CHECKING:
    from monitor.summaries.causes import IncidentCauses  # its module is for what asks for causes

_METHODS: Final = {
    OccurrenceMethod.LAST_GOOD_RUN: "the last passing run",
    OccurrenceMethod.FRESHNESS_DEADLINE: "the first missed arrival",
    OccurrenceMethod.BAD_ROWS: "the load time of the first bad rows",
    OccurrenceMethod.FIRST_OBSERVATION: "first observed; it may have started earlier",
    OccurrenceMethod.PERSON: "reported by a person",
}


def incident_headline(incident: Incident) -> Text:
    """Return an incident in one line: number, table, what is wrong, where it stands."""
    state = incident.state.value.upper()
    if incident.resolution is not None:
        state += f" ({incident.resolution.value})"
    parts = [f"#{incident.id}", incident.table, english_title(incident), state, incident.severity.value]
    return Text("  ".join(parts), "bold")


def format_event(event: Event, zone: str) -> Text:
    """Return an event in one line: its time, change and actor."""
    return Text(f"  {format_time(event.recorded_at, zone)}  {_format(event.change, zone)}, by {tidy(event.actor)}")


def incident_lines(project: Project, sheet: IncidentDetail) -> Iterator[Text]:
    """Yield the lines of `tablewatch incident show`."""
    incident = sheet.incident
    figures = incident_figures(project, [incident])[incident.id]
    zone = project.config.timezone
    yield incident_headline(incident)
    for number, (episode, finder) in enumerate(zip(incident.episodes, _finders(sheet), strict=True), start=1):
        if len(incident.episodes) > 1:
            yield Text(f"episode {number} of {len(incident.episodes)}")
        yield from _times(episode, figures.episodes[number - 1], text=finder, zone=zone)
    yield _line("so far" if incident.state is not State.RESOLVED else "total", _lengths(project, incident, figures))
    for label, wording in (*_facts(project, incident), *_external_items(project, sheet)):
        yield _line(label, wording)
    if sheet.duplicates:
        yield _line("merged", ", ".join(f"#{duplicate}" for duplicate in sheet.duplicates))
    yield Text(f"history ({zone})")
    for event in sheet.events:
        yield format_event(event, zone)
    yield _line("now", ", ".join(available(incident)))
    yield from _runbook(project, incident)


def show_causes(causes: "IncidentCauses", zone: str) -> Iterator[Text]:
    """Yield the lines of `tablewatch incident causes`."""
    from monitor.terminal.localizer import Localizer  # imports babel, which other lines do not need

    localizer, began = Localizer("en", zone), causes.beginning
    earliest, latest = format_time(began.earliest, zone), format_time(began.latest, zone)
    yield _line("began", earliest if earliest == latest else f"between {earliest} and {latest}")
    searched = f"{causes.tables} table{'' if causes.tables == 1 else 's'}, this one and those upstream"
    yield _line("searched", searched + (f"; {causes.left_out} more are further away" if causes.left_out else ""))
    for number, cause in enumerate(causes.causes, start=1):
        label = f"{number} {cause.candidate.likelihood.value}"
        yield _line(label, f"may have been: {tidy(cause.message.render(localizer))}")
        for comment in cause.comments:
            yield _line("", f"comment then: {tidy(comment)}")
    if causes.causes:
        yield Text("Facts near the beginning, by a fixed score; none is known to be the cause.", "dim")
    else:
        yield Text("nothing in the store changed near the beginning")


def _finders(sheet: IncidentDetail) -> Iterator[str]:
    """Yield for each episode who or what detected it."""
    check = f"by {sheet.incident.check_id or 'a check'}"
    for event in sheet.events:
        match event.change:
            case Opened(found_by=FoundBy.PERSON):
                yield "by a person"
            case Reopened() if event.actor != AGENT:
                yield f"by {tidy(event.actor)}"
            case Opened() | Reopened():
                yield check


def _times(episode: Episode, length: Durations, *, text: str, zone: str) -> Iterator[Text]:
    onset = episode.onset
    method = _METHODS[onset.method]
    earliest, latest = format_time(onset.earliest, zone), format_time(onset.latest, zone)
    if earliest != latest:
        method += f"; between {earliest} and {latest}"
    yield _line("occurred", f"{format_time(onset.at, zone)}  {method}")
    if episode.first_failed_at is not None and episode.first_failed_at < episode.detected_at:
        text += f"; it failed first at {format_time(episode.first_failed_at, zone)}"
    yield _line("detected", f"{format_time(episode.detected_at, zone)}  {text}  TTD {format_hours(length.ttd)}")
    if episode.acknowledged_at is not None and length.tta is not None:
        yield _line("acknowledged", f"{format_time(episode.acknowledged_at, zone)}  TTA {format_hours(length.tta)}")
    if episode.resolved_at is not None:
        yield _line("resolved", f"{format_time(episode.resolved_at, zone)}  TTR {format_hours(length.ttr)}")
    if length.maintenance:
        yield _line(
            "maintenance", f"{format_hours(length.maintenance)} of planned maintenance are excluded from TTD and TTR"
        )


def _lengths(project: Project, incident: Incident, figures: IncidentFigures) -> str:
    if not incident.counts:
        return f"not counted as downtime: {incident.resolution}"
    if not is_downtime(incident):
        return f"not counted as downtime: release at risk for {format_hours(figures.whole.total)}"
    parts = [f"downtime {format_hours(figures.downtime_us)}"]
    if len(incident.episodes) > 1:
        parts.append(f"TTD {format_hours(figures.ttd_us)}")
        parts += [] if figures.ttr_us is None else [f"TTR {format_hours(figures.ttr_us)}"]
    if figures.cost is not None:
        parts.append(f"cost {project.currency.text(figures.cost)}{_rate(project, incident.table)}")
    return "  ".join(parts)


def _rate(project: Project, table: str) -> str:
    rate = project.pricing.per_hour(table, to_us(project.clock.now()))
    if rate is None:
        return ""
    hours = ", business hours" if any(card.business_hours for card in project.pricing.cards) else ""
    return f" ({project.currency.text(rate)} an hour{hours})"


def _facts(project: Project, incident: Incident) -> Iterator[tuple[str, str]]:
    ticket = ticket_of(incident)
    if ticket is not None:
        yield "ticket", ticket
    owner = owner_of(project, incident)
    yield "owner", owner or "none"
    if incident.assignee is not None:
        yield "assigned", f"to {tidy(incident.assignee)}"
    yield from ((name, tidy(text)) for name, text in texts_of(incident).items())
    if incident.root is not None:
        yield "caused by", f"#{incident.root}"
    if incident.merged_into is not None:
        yield "duplicate of", f"#{incident.merged_into}"
    if incident.snoozed_until is not None:
        yield (
            "snoozed",
            f"until {format_time(incident.snoozed_until, project.config.timezone)}; downtime is still counted",
        )
    flags = [word for word, text in (("recurred", incident.regressed), ("flapping", incident.flapping)) if text]
    if flags:
        yield "note", ", ".join(flags)
    if incident.found_by is FoundBy.PERSON:
        yield "note", "no check detected this; adding one reduces TTD"


def _runbook(project: Project, incident: Incident) -> Iterator[Text]:
    check = project.check_of(incident)
    lines = [] if check is None else (project.runbook(check) or "").splitlines()
    if len(lines) == 1:
        yield _line("runbook", visible(lines[0]))
    elif lines:
        yield Text("runbook")
        yield from (Text(f"  {visible(line)}".rstrip()) for line in lines)


def _external_items(project: Project, sheet: IncidentDetail) -> Iterator[tuple[str, str]]:
    for line in (ExternalItemLine.of(project, item) for item in sheet.external_items):
        name = "not confirmed yet" if line.item is None else tidy(line.item)
        status = "" if line.status is None else f" ({line.status})"
        yield line.service, f"{name}{status}" + ("" if line.url is None else f"  {line.url}")


def _format(  # noqa: C901, PLR0911, PLR0912 - one line for each kind of change is the clearest form
    change: Change, zone: str
) -> str:
    match change:
        case Opened():
            return f"opened, {change.severity.value}"
        case Escalated(severity):
            return f"severity is now {severity.value}"
        case Acknowledged():
            return "acknowledged"
        case Assigned(assignee):
            return f"assigned to {tidy(assignee)}"
        case Snoozed(until):
            return f"snoozed until {format_time(until, zone)}"
        case Commented(text, kind):
            return f"{'comment' if kind == 'commented' else kind}: {tidy(text)}"
        case Resolved(at, resolution, cause):
            return f"resolved as {resolution.value} at {format_time(at, zone)}" + (
                f", cause: {tidy(cause)}" if cause else ""
            )
        case Reopened(episode):
            return (
                f"{'recurred' if change.regressed else 'reopened'}, detected {format_time(episode.detected_at, zone)}"
            )
        case Corrected():
            return f"corrected: {_corrections(change, zone)}"
        case Merged(into):
            return f"merged into #{into}"
        case RootNamed(root):
            return "its root cause was removed" if root is None else f"caused by #{root}"
        case Flapped(flapping):
            return "started flapping" if flapping else "stopped flapping"
        case Renamed(table, _, check_id):
            return f"renamed to {check_id or table}"
        case TicketSaid(says):
            return f"ticket: {', '.join(_word(name, value, zone) for name, value in says.items())}"


def _word(name: str, value: str | None, zone: str) -> str:
    """Return the value of a field in a ticket; of texts only that they differ."""
    if value is None:
        return f"no {name}"
    if name not in FIELDS:  # of another version
        return f"{name} {tidy(value)}"
    if FIELDS[name].is_time:
        return f"{name} {format_time(datetime.fromisoformat(value), zone)}"
    return f"changed {name}" if FIELDS[name].is_text else f"{name} {tidy(value)}"


def _corrections(change: Corrected, zone: str) -> str:
    times = ((name, getattr(change, f"{name}_at")) for name in ("occurred", "detected", "acknowledged", "resolved"))
    text = ", ".join(f"{name} {format_time(at, zone)}" for name, at in times if at is not None)
    return text if change.episode in {0, -1} else f"{text} (episode {change.episode + 1})"


def _line(label: str, text: str) -> Text:
    return Text.assemble((f"{label:<14}", "dim"), text)
