"""Describe an incident in the reader's language: a headline and facts.

All of it is metadata: names from the configuration, times, figures, and the title of an incident, which is made of
counts and names. Text of users (names of tables, titles, owners) is one line with visible control characters, and can
neither mention a whole channel nor make a link.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from checks import Kind, Message, MessageFormatter
from incidents import NOT_CONFIGURED, WITHOUT_ROWS, Durations, Incident, State, to_us
from monitor.alerts.batch import BatchItem
from monitor.alerts.decide import NotificationReason, is_warning
from monitor.config.project import Project
from monitor.reporting.filters import format_title
from monitor.reporting.sentences import length, some
from monitor.reporting.words import SEVERITIES
from monitor.summaries.incident import RESOLUTIONS, TEXTS, IncidentFigures, is_downtime, texts_of
from monitor.terminal.localizer import Money
from monitor.terminal.redaction import visible

LONGEST: Final = 200
"""Characters of a name or a title."""
LONGEST_RUNBOOK: Final = 2_000
"""Characters of a runbook in a message; the page of the incident has all of it."""
_RUNBOOK: Final = Message("Runbook")
_CAUSES: Final = {
    WITHOUT_ROWS: Message("the segment has no rows any more"),
    NOT_CONFIGURED: Message("the check is no longer configured"),
}
"""Why Tablewatch itself closes incidents, as their events have it."""
_COMMAND: Final = re.compile(r"<(?=[^\s\d=<])")
_MENTION: Final = re.compile(r"@(?=(channel|here|everyone|all)\b)", re.IGNORECASE)

_LASTING: Final[Mapping[NotificationReason, Message]] = {
    NotificationReason.FIRST: Message("[{severity}] {table}: {title} (#{id})"),
    NotificationReason.REOPENED: Message("[{severity}] {table}, recurred: {title} (#{id})"),
    NotificationReason.ESCALATED: Message("[{severity}] {table}, severity raised: {title} (#{id})"),
    NotificationReason.REMINDER: Message("[{severity}] {table}, still open: {title} (#{id})"),
    NotificationReason.ACKNOWLEDGED: Message("[acknowledged] {table}: {title} (#{id})"),
    NotificationReason.FLAPPING: Message("[flapping] {table}: {title} (#{id})"),
}
_NEXT: Final = Message("[{severity}] {table}, not acknowledged for {waited:hours}: {title} (#{id})")
_OVER: Final = Message("[resolved] {table}: {title} (#{id})")
_PASSED: Final = Message("[already resolved] {table}: {title} (#{id})")
_SEVERAL: Final = Message("[{severity}] {place}: {n:count} incidents")
_SEVERAL_OVER: Final = Message("[resolved] {place}: {n:count} incidents")
_SEVERAL_MIXED: Final = Message("[{severity}] {place}: {n:count} incidents, {over:count} of them resolved")
_PLACES: Final = Message("{tables:count} tables")
_WARNING: Final = Message("[{severity}] {table}: {title}")
_WARNING_OVER: Final = Message("[{severity}, ended] {table}: {title}")
_WARNINGS: Final = Message("[warning] {place}: {n:count} warnings")
_WARNINGS_OVER: Final = Message("[warning, ended] {place}: {n:count} warnings")
_AND_WARNINGS: Final = Message("{incidents}; {n:count} warnings", {}, one="{incidents}; {n:count} warning", counted="n")


def plain(text: str, most: int = LONGEST) -> str:
    r"""Return the text of a user as harmless text.

    One line, `\x1b` for control characters, no `<!channel>`, no link.
    """
    line = _without_commands(" ".join(visible(text).split()).replace("](", "] ("))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _without_commands(text: str) -> str:
    return _MENTION.sub("@\N{WORD JOINER}", _COMMAND.sub("\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", text))


def is_over(item: BatchItem) -> bool:
    """Check whether the problem is over."""
    return item.incident.state is State.RESOLVED and item.reason is not NotificationReason.FLAPPING


def alert_headline(item: BatchItem, localizer: MessageFormatter) -> str:
    """Format one incident in one line."""
    incident = item.incident
    form = _LASTING.get(item.reason, _OVER) if item.unacknowledged is None else _NEXT
    if is_over(item):
        form = _OVER if item.reason is NotificationReason.RESOLVED else _PASSED
    if is_warning(incident):
        form = _WARNING_OVER if is_over(item) else _WARNING
    title = format_title(Message(incident.title, incident.title_values), localizer)
    return form.given(
        severity=SEVERITIES[incident.severity],
        table=plain(incident.table),
        title=plain(title),
        id=incident.id,
        waited=item.unacknowledged,
    ).render(localizer)


def title_of(items: Sequence[BatchItem], localizer: MessageFormatter) -> str:
    """Format one or more incidents, the worst first, in one line; warnings that are none are counted beside them."""
    if len(items) == 1:
        return alert_headline(items[0], localizer)
    warnings = [item for item in items if is_warning(item.incident)]
    if len(warnings) == len(items):
        form = _WARNINGS_OVER if all(is_over(item) for item in items) else _WARNINGS
        return form.given(place=_place_of(items), n=len(items)).render(localizer)
    if warnings:
        return beside_warnings(title_of(without_warnings(items), localizer), len(warnings), localizer)
    over = sum(is_over(item) for item in items)
    form = _SEVERAL_MIXED if over else _SEVERAL
    if over == len(items):
        form = _SEVERAL_OVER
    worst = max(
        (item.incident.severity for item in items if not is_over(item)), default=None, key=lambda entry: entry.rank
    )
    severity = None if worst is None else SEVERITIES[worst]
    return form.given(severity=severity, place=_place_of(items), n=len(items), over=over).render(localizer)


def without_warnings(items: Sequence[BatchItem]) -> Sequence[BatchItem]:
    """Return the items that are incidents."""
    return [item for item in items if not is_warning(item.incident)]


def beside_warnings(title: str, n: int, localizer: MessageFormatter) -> str:
    """Format a title of incidents with how many warnings there are beside them."""
    return _AND_WARNINGS.given(incidents=title, n=n).render(localizer) if n else title


def _place_of(items: Sequence[BatchItem]) -> Any:
    tables = {item.incident.table for item in items}
    return plain(items[0].incident.table) if len(tables) == 1 else _PLACES.given(tables=len(tables))


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about an incident: a label and a text."""

    label: Message
    text: Message

    def render(self, localizer: MessageFormatter) -> tuple[str, str]:
        """Format it in the localizer's language."""
        return self.label.render(localizer), self.text.render(localizer)


def facts(
    project: Project, item: BatchItem, figures: IncidentFigures, *, muted: Sequence[Incident], now: datetime
) -> Iterator[Fact]:
    """Yield the facts that a person needs to act on an incident, the most important first.

    `muted`: the incidents downstream of which no channel is notified because of this one.
    """
    incident = item.incident
    over = is_over(item)
    check = project.check_of(incident)
    if not over and check is not None and check.why:
        yield Fact(Message("Why it matters"), _verbatim(check.why))
    if item.reason is NotificationReason.FLAPPING or incident.flapping:
        settled = Message(
            "The check alternates between pass and fail too often. Notifications are paused until it is stable."
        )
        yield Fact(Message("Flapping"), settled)
    if incident.kind is Kind.DISCLOSURE:
        yield Fact(Message("Kind"), Message("data release at risk"))
    yield from _times(incident, figures, over=over)
    yield from _money(project, incident, figures, over=over, now=now)
    yield from _people(project, item)
    yield from _products(project, incident)
    if incident.root is not None:
        yield Fact(Message("Caused by"), Message("#{id}", {"id": incident.root}))
    if muted:
        tables = tuple(dict.fromkeys(plain(current_incident.table) for current_incident in muted))
        yield Fact(Message("Also affected"), Message("{tables}; muted", {"tables": some(tables)}))
    steps = runbook_of(project, item)
    if steps is not None and "\n" not in steps:
        yield Fact(_RUNBOOK, _verbatim(steps))
    if incident.state is State.OPEN:
        yield Fact(Message("Acknowledge"), _verbatim(f"tablewatch incident ack {incident.id}"))
    page = page_of(project, incident)
    if page is not None:
        yield Fact(Message("Page"), _verbatim(page))


def warning_facts(project: Project, item: BatchItem) -> Iterator[Fact]:
    """Yield the facts about a warning that opened no incident, the most important first."""
    incident, over = item.incident, is_over(item)
    check = project.check_of(incident)
    if not over and check is not None and check.why:
        yield Fact(Message("Why it matters"), _verbatim(check.why))
    yield Fact(Message("Check"), _verbatim(incident.fingerprint))
    yield Fact(Message("Started"), Message("{at:time}", {"at": incident.last.detected_at}))
    if over:
        yield Fact(Message("Ended"), Message("{at:time}", {"at": incident.last.resolved_at}))
    yield from _people(project, item)
    yield from _products(project, incident)
    steps = runbook_of(project, item)
    if steps is not None and "\n" not in steps:
        yield Fact(_RUNBOOK, _verbatim(steps))


def _products(project: Project, incident: Incident) -> Iterator[Fact]:
    """Yield the data products with the table of an incident, and their consumers."""
    products = {name: project.config.products[name] for name in project.config.products_of(incident.table)}
    if products:
        yield Fact(Message("Data products"), some([plain(item.title or name) for name, item in products.items()]))
    consumers = list(dict.fromkeys(plain(name) for item in products.values() for name in item.consumers))
    if consumers:
        yield Fact(Message("Consumers"), some(consumers))


def runbook_of(project: Project, item: BatchItem) -> str | None:
    """Return the runbook of an incident that is not over: an address, or Markdown; None if its check has none."""
    check = None if is_over(item) else project.check_of(item.incident)
    return None if check is None else project.runbook(check)


def runbook_block(project: Project, item: BatchItem, localizer: MessageFormatter) -> Mapping[str, Mapping[str, str]]:
    """Return a runbook of several lines as a part of a message, Markdown without mentions; else nothing."""
    steps = runbook_of(project, item)
    if steps is None or "\n" not in steps:
        return {}
    lines = _without_commands(visible(steps, keep="\n"))
    if len(lines) > LONGEST_RUNBOOK:
        lines = f"{lines[:LONGEST_RUNBOOK].rpartition(chr(10))[0]}\n…"
    return {"runbook": {"label": _RUNBOOK.render(localizer), "text": lines}}


def page_of(project: Project, incident: Incident) -> str | None:
    """Return the address of an incident in the web application; None if that has no address of its own."""
    address = project.config.web.public_url
    return None if address is None or not incident.id else f"{address.rstrip('/')}/incidents/{incident.id}"


_OF_EPISODE: Final = Message("{label} (this episode)")
_OF_ALL: Final = Message("{label} (all {n:count} episodes)")


def _this(incident: Incident, label: Message) -> Message:
    """Return a label that states its scope where an incident has several episodes: the last one."""
    return _OF_EPISODE.given(label=label) if len(incident.episodes) > 1 else label


def _whole(incident: Incident, label: Message) -> Message:
    """Return a label that states its scope where an incident has several episodes: all of them."""
    return _OF_ALL.given(label=label, n=len(incident.episodes)) if len(incident.episodes) > 1 else label


def _times(incident: Incident, figures: IncidentFigures, *, over: bool) -> Iterator[Fact]:
    last = incident.last
    since = {"occurred": last.onset.at, "detected": last.detected_at}
    yield Fact(_this(incident, Message("Started")), Message("{occurred:time}, detected {detected:time}", since))
    if len(incident.episodes) > 1:
        yield Fact(Message("Episode"), Message("number {n:count}", {"n": len(incident.episodes)}))
    yield from _texts(incident, is_of_end=False)
    if not over:
        return
    if incident.merged_into is not None:
        same = Message("duplicate of #{id}; notifications continue there", {"id": incident.merged_into})
        yield Fact(Message("Ended"), same)
        return
    ended = {"at": last.resolved_at, "resolution": RESOLUTIONS[incident.resolution] if incident.resolution else ""}
    yield Fact(_this(incident, Message("Ended")), Message("{at:time}, {resolution}", ended))
    yield from _texts(incident, is_of_end=True)
    if len(incident.episodes) > 1:
        yield Fact(_this(incident, Message("Duration")), _durations(figures.episodes[-1]))
    yield Fact(_whole(incident, Message("Duration")), _durations(figures.whole))
    if figures.whole.maintenance:
        planned = {"hours": length(figures.whole.maintenance)}
        left_out = Message("{hours:hours} of planned maintenance", planned)
        yield Fact(_whole(incident, Message("Not counted")), left_out)


def _texts(incident: Incident, *, is_of_end: bool) -> Iterator[Fact]:
    for name, text in texts_of(incident).items():
        if TEXTS[name].is_of_end == is_of_end:
            yield Fact(TEXTS[name].label, _CAUSES.get(text, _verbatim(text)) if name == "cause" else _verbatim(text))


def _durations(durations: Durations) -> Message:
    values = {"whole": length(durations.total), "ttd": length(durations.ttd), "ttr": length(durations.ttr)}
    return Message("{whole:hours}: time to detection (TTD) {ttd:hours}, time to resolution (TTR) {ttr:hours}", values)


def _money(
    project: Project, incident: Incident, figures: IncidentFigures, *, over: bool, now: datetime
) -> Iterator[Fact]:
    if figures.cost is None or not is_downtime(incident):
        return
    label = Message("Cost") if over else Message("Cost so far")
    if len(incident.episodes) > 1:
        yield Fact(_this(incident, label), _amount(project, figures.episode_costs[-1]))
    if over:
        yield Fact(_whole(incident, label), _amount(project, figures.cost))
        return
    rate = project.pricing.per_hour(incident.table, to_us(now)) or Fraction(0)
    values = {"cost": Money(figures.cost, project.currency.code), "rate": Money(rate, project.currency.code)}
    yield Fact(_whole(incident, label), Message("{cost:money}; {rate:money} an hour", values))


def _amount(project: Project, cost: Fraction | None) -> Message:
    return Message("{cost:money}", {"cost": Money(cost or Fraction(), project.currency.code)})


def _people(project: Project, item: BatchItem) -> Iterator[Fact]:
    incident = item.incident
    table = project.config.table(incident.table)
    owner = None if table is None else project.config.owner_of(table)
    if owner is not None:
        yield Fact(Message("Owner"), _verbatim(project.config.owner_name(owner) or owner))
    if incident.assignee is not None:
        yield Fact(Message("Assigned to"), _verbatim(incident.assignee))
    if incident.state is State.ACKNOWLEDGED and item.acknowledged_by is not None:
        who = {"at": incident.acknowledged_at, "who": plain(item.acknowledged_by)}
        yield Fact(Message("Acknowledged"), Message("{at:time}, {who}", who))


def _verbatim(text: str) -> Message:
    """Return the text of a user as a message; braces in it are no placeholders."""
    return Message("{text}", {"text": plain(text)})
