"""Compose messages: the JSON that is stored, signed and sent to webhooks, and the text and HTML for people.

A payload is composed once, with the decision to notify, and is complete: the message is the same however often it is
sent. `compose` returns the title, text and HTML of a stored payload. Secrets of the configuration are masked, and no
data value of a table is in it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from checks import Message, PlainEnglish, Severity
from incidents import Incident, State
from monitor.alerts.batch import Batch, BatchItem
from monitor.alerts.decide import is_warning
from monitor.alerts.digest import title_of_digest
from monitor.alerts.hold import HoldRules
from monitor.alerts.wording import (
    alert_headline,
    facts,
    is_over,
    page_of,
    runbook_block,
    title_of,
    warning_facts,
    without_warnings,
)
from monitor.config.project import Project
from monitor.reporting.filters import texts
from monitor.reporting.render import markdown_html
from monitor.summaries.incident import IncidentEpisode, IncidentFigures, IncidentSummary, incident_figures
from monitor.terminal.localizer import Localizer
from monitor.terminal.redaction import visible

SCHEMA: Final = "tablewatch.alert/1"
LONGEST_TITLE: Final = 250
"""Characters of a title."""
LONGEST_TEXT: Final = 3_500
"""Characters of a text: the limit of the strictest chats, less their own markup."""
_MOST_BLOCKS: Final = 5
_MOST_LINES: Final = 25
_AS_JSON: Final = 50
_MORE: Final = Message("And {n:count} more incidents.", {}, one="And {n:count} more incident.", counted="n")
_NO_ROOM: Final = Message(
    "This channel reached its hourly message limit. Events until {until:time} are summarized in one message."
)

_ACKNOWLEDGE: Final = Message("Acknowledge #{id}")
_OPEN_PAGE: Final = Message("Open #{id}")

FiguresOf: TypeAlias = Mapping[int, IncidentFigures]
MutedBy: TypeAlias = Mapping[int, Sequence[Incident]]


@dataclass(frozen=True, slots=True)
class ComposedMessage:
    """A message for people: plain text and, for mail, HTML made of tables."""

    title: str
    text: str
    html: str


class MessageComposer:
    """Composes the messages of one project at one moment."""

    def __init__(self, project: Project, now: datetime) -> None:
        self._project = project
        self._now = now
        self._localizers: dict[str, Localizer] = {}

    def incidents(
        self, batch: Batch, channel: str, hold_rules: HoldRules, *, full_until: datetime | None = None
    ) -> Mapping[str, Any]:
        """Return the payload (`tablewatch.alert/1`) of a message about incidents.

        `full_until`: with this message the channel has reached its rate limit until then.
        """
        items, localizer = batch.items, self.localizer(channel)
        stored = without_warnings(items)
        shown = stored[:_AS_JSON]
        figures = incident_figures(self._project, [item.incident for item in shown], self._now)
        muted = {item.incident.id: hold_rules.muted_by(item.incident) for item in shown}
        blocks = [] if batch.storm else [self._block(item, figures, muted, localizer) for item in items[:_MOST_BLOCKS]]
        lines = [alert_headline(item, localizer) for item in items[len(blocks) : _MOST_LINES]]
        if len(items) > _MOST_LINES:
            lines.append(_MORE.given(n=len(items) - _MOST_LINES).render(localizer))
        if full_until is not None:
            lines.append(_NO_ROOM.given(until=full_until).render(localizer))
        return self.payload(
            SCHEMA,
            channel,
            {
                "subject": "incidents",
                "title": title_of(items, localizer) if batch.digest is None else title_of_digest(items, localizer),
                "blocks": blocks,
                "lines": lines,
                "table": batch.table,
                "storm": batch.storm,
                "digest": None if batch.digest is None else batch.digest.isoformat(),
                "full_until": None if full_until is None else full_until.isoformat(),
                "counts": _counts(stored, len(items) - len(stored)),
                "ids": [item.incident.id for item in stored],
                "incidents": [self._as_json(item, figures, muted, localizer) for item in shown],
                "warnings": [self._warning_as_json(item) for item in items if is_warning(item.incident)][:_AS_JSON],
            },
        )

    def payload(self, schema: str, channel: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the payload to store and send: the content with its envelope and its text, without secrets.

        `content` has a `title`, `blocks` (each a `headline`, `facts`, pairs of a label and a text, and perhaps a
        `runbook`, a `label` and Markdown) and `lines`.
        """
        localizer = self.localizer(channel)
        project = self._project.config.project
        text = _environment(localizer.language).get_template("alerts/message.txt.j2")
        wording = text.render(project=project, **{key: content[key] for key in ("title", "blocks", "lines")})
        payload = {
            "schema": schema,
            "project": project,
            "channel": channel,
            "locale": localizer.language,
            "at": self._now.isoformat(),
            **content,
            "title": _cut(content["title"]),
            "text": _cut_lines(wording),
        }
        masked: Mapping[str, Any] = self._project.loaded.redactor.value(payload)
        return masked

    def localizer(self, channel: str) -> Localizer:
        """Return the localizer of a channel's language and time zone."""
        configured = self._project.config.alerts.channels.get(channel)
        locale = (configured.locale if configured is not None else None) or self._project.config.locale
        if locale not in self._localizers:
            self._localizers[locale] = Localizer(locale, self._project.config.timezone)
        return self._localizers[locale]

    def _block(self, item: BatchItem, figures: FiguresOf, muted: MutedBy, localizer: Localizer) -> Mapping[str, Any]:
        entry = item.incident.id
        current_facts = (
            warning_facts(self._project, item)
            if is_warning(item.incident)
            else facts(self._project, item, figures[entry], muted=muted[entry], now=self._now)
        )
        return {
            "headline": alert_headline(item, localizer),
            "facts": [list(fact.render(localizer)) for fact in current_facts],
            **runbook_block(self._project, item, localizer),
        }

    def _as_json(self, item: BatchItem, figures: FiguresOf, muted: MutedBy, localizer: Localizer) -> Mapping[str, Any]:
        incident = item.incident
        label = _ACKNOWLEDGE if incident.state is State.OPEN else _OPEN_PAGE
        return {
            **IncidentSummary.of(self._project, incident, figures[incident.id]).model_dump(mode="json"),
            "reason": item.reason.value,
            "over": is_over(item),
            "unacknowledged_h": None if item.unacknowledged is None else item.unacknowledged / timedelta(hours=1),
            "acknowledged_by": item.acknowledged_by,
            "page": page_of(self._project, incident),
            "page_label": label.given(id=incident.id).render(localizer),
            "episode": len(incident.episodes),
            "this_episode": IncidentEpisode.of(self._project, incident, figures[incident.id], -1).model_dump(
                mode="json"
            ),
            **self._catalogued(incident),
            "muted": [entry.id for entry in muted[incident.id]],
        }

    def _warning_as_json(self, item: BatchItem) -> Mapping[str, Any]:
        incident, episode = item.incident, item.incident.last
        return {
            "table": incident.table,
            "check_id": incident.check_id,
            "series": incident.fingerprint,
            "kind": incident.kind.value,
            "severity": incident.severity.value,
            "title": Message(incident.title, incident.title_values).render(PlainEnglish()),
            "reason": item.reason.value,
            "over": is_over(item),
            "began_at": episode.detected_at.isoformat(),
            "ended_at": None if episode.resolved_at is None else episode.resolved_at.isoformat(),
            **self._catalogued(incident),
        }

    def _catalogued(self, incident: Incident) -> Mapping[str, Any]:
        config = self._project.config
        table, check = config.table(incident.table), self._project.check_of(incident)
        return {
            "domain": None if table is None else table.domain,
            "tier": None if table is None else table.tier,
            "products": [
                {"product": name, "consumers": list(config.products[name].consumers)}
                for name in config.products_of(incident.table)
            ],
            "why": None if check is None else check.why,
            "runbook": None if check is None else self._project.runbook(check),
        }


def compose(payload: Mapping[str, Any]) -> ComposedMessage:
    """Return a stored payload as a message for people."""
    page = payload.get("html")
    if page is None:
        template = _environment(payload["locale"]).get_template("alerts/message.html.j2")
        names = ("title", "blocks", "lines", "project", "locale")
        page = template.render({name: payload[name] for name in names})
    return ComposedMessage(payload["title"], payload["text"], page)


def _counts(items: Sequence[BatchItem], warnings: int) -> Mapping[str, Any]:
    severities = Counter(item.incident.severity for item in items)
    reasons = Counter(item.reason.value for item in items)
    return {
        "incidents": len(items),
        "warnings": warnings,
        "over": sum(is_over(item) for item in items),
        "tables": len({item.incident.table for item in items}),
        "by_severity": {severity.value: severities[severity] for severity in Severity if severities[severity]},
        "by_reason": dict(reasons),
    }


def _cut(title: str) -> str:
    line = visible(" ".join(title.split()), keep="\N{WORD JOINER}")  # the one that `plain` puts into mentions
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def _cut_lines(text: str) -> str:
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    if len(text) <= LONGEST_TEXT:
        return text
    lines = text[: LONGEST_TEXT - 2].rpartition("\n")[0]
    return f"{lines}\n…"


@cache
def _environment(language: str) -> Environment:
    environment = Environment(
        loader=PackageLoader("templates", "."),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = markdown_html
    environment.globals.update(texts(Localizer(language, "UTC")))
    return environment
