"""Write an incident down in Markdown: a hand-over of one page, or the draft of a post-mortem from its events."""

from datetime import datetime
from typing import Any

from markupsafe import Markup

from incidents import Resolution
from monitor.config.project import Project
from monitor.reporting.render import environment, escape_markdown, show_hours_as_length, without_gaps
from monitor.summaries.incident import title_of
from monitor.terminal.localizer import Localizer
from monitor.terminal.redaction import visible
from monitor.triage.create import tidy
from monitor.verbs.incident import IncidentNumber
from monitor.web.views.incidents import IncidentPage, show_incident
from monitor.web.words import page_words
from store import ReadTransaction


def incident_brief(
    project: Project, tx: ReadTransaction, number: int, localizer: Localizer, *, post_mortem: bool = False
) -> str:
    """Return what is known of an incident, as Markdown in the localizer's language.

    Args:
        project: its configuration has the tables that the table feeds, and the runbook.
        tx: the store.
        number: of the incident.
        localizer: the language and the time zone.
        post_mortem: whether it is a draft of a post-mortem, else a hand-over to the next shift.

    Raises:
        Stop: there is none of that number.
    """
    page = show_incident(project, tx, IncidentNumber(id=number), project.clock.now())
    redact = project.loaded.redactor

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else escape_markdown(redact(str(value)))

    env = environment(localizer, project.currency.code, finalize)
    show_hours_as_length(env)
    env.filters["masked"] = lambda text: visible(redact(text), keep="\n")
    latest = {} if page.check_id is None else tx.results.latest([page.check_id])
    env.globals.update(
        words=page_words(),
        resolution=Resolution,
        timeline=_timeline(page),
        latest=next(iter(latest.values()), None),
    )
    template = env.get_template(f"incident/{'post_mortem' if post_mortem else 'brief'}.md.j2")
    return without_gaps(
        template.render(
            page=page,
            title=tidy(title_of(tx.incidents.get(number)).render(localizer)),
            project_name=project.config.project,
            zone=localizer.zone.key,
        )
    )


def _timeline(page: IncidentPage) -> list[tuple[datetime, str, Any]]:
    """Return what happened in order of time: moment, kind, and the episode, event or candidate that it is of."""
    moments: list[tuple[datetime, str, Any]] = []
    for episode in page.episodes:
        moments.append((episode.occurred_at, "occurred", episode))
        moments.append((episode.detected_at, "detected", episode))
        if episode.resolved_at is not None:
            moments.append((episode.resolved_at, "resolved", episode))
    in_episodes = {"opened", "reopened", "resolved"}
    moments += [(event.recorded_at, "event", event) for event in page.events if event.kind not in in_episodes]
    moments += [(cause.since, "logged", cause) for cause in page.causes if cause.event is not None and cause.since]
    return sorted(moments, key=lambda moment: (moment[0], moment[1] == "resolved"))
