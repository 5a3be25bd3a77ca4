"""Compose the message with the report of a period: a mail body, and the whole report as an attached file.

Mail programs drop SVG, embedded images and style sheets, and Gmail cuts a body off at about 102 KB: the body is made of
tables with inline styles, needs no chart, and is kept under 90 KB by showing fewer rows.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from checks import Message
from monitor.alerts.message import MessageComposer
from monitor.alerts.operational import enqueue, rendered
from monitor.alerts.wording import plain
from monitor.config import Channel
from monitor.config.project import Project
from monitor.reporting import render
from monitor.reporting import report_json as shape
from monitor.reporting.figures import Figures
from monitor.reporting.filters import format_title
from monitor.reporting.model import PeriodReport
from monitor.reporting.scope import ScopeKind
from monitor.reporting.sentences import length
from monitor.reporting.words import PERIOD_WORDS
from monitor.terminal.localizer import Localizer, Money
from monitor.terminal.redaction import Redactor
from store import Delivery, MessageSubject

MOST_BYTES: Final = 90_000
"""A body is shorter than this, in bytes of UTF-8."""
_BODY_ROWS: Final = (30, 20, 10, 5, 0)
_TEXT_ROWS: Final = 10
_LONGEST: Final = 200
"""Characters of a name or a title in the body; the attached report has all of them."""


def report_delivery(project: Project, report: PeriodReport, channel: str, *, now: datetime) -> Delivery:
    """Return the message with the report of a period to a channel, in the channel's language.

    People get the figures as text, HTML for mail, and the report as a file; a webhook gets it as JSON (`parts_of`).
    """
    composer = MessageComposer(project, now)
    localizer = composer.localizer(channel)
    dates = (report.period.first, report.period.last)
    title = Message("Data downtime, {dates:dates}: {headline}", {"dates": dates, "headline": report.headline})
    scope = report.scope
    if scope is not None:
        title = Message("{domain}: {title}", {"domain": plain(scope.name), "title": title})
    content = {
        "subject": MessageSubject.REPORT.value,
        "title": title.render(localizer),
        "blocks": list(_report_blocks(report, localizer)),
        "lines": [],
        report.period.unit: str(report.period),
        **{kind.value: scope.key if scope is not None and scope.kind is kind else None for kind in ScopeKind},
    }
    parts = parts_of(
        report, project.config.alerts.channels[channel], localizer, project.loaded.redactor
    )  # masks itself
    payload = {**composer.payload("tablewatch.report-mail/1", channel, content), **parts}
    return enqueue(channel, MessageSubject.REPORT, payload, now=now)


def _report_blocks(report: PeriodReport, localizer: Localizer) -> Iterator[Mapping[str, Any]]:
    this, before = report.figures.this, report.figures.before
    last = PERIOD_WORDS[type(report.period)].last
    figures = (
        (Message("Incidents (N)"), "n"),
        (Message("Data downtime"), "downtime_us"),
        (Message("time to detection"), "undetected_us"),
        (Message("time to resolution"), "repair_us"),
        *([(Message("Cost"), "cost")] if report.method.priced else []),
    )
    facts = [(label, _beside(name, this, before, currency=report.currency, last=last)) for label, name in figures]
    yield {"headline": Message("Figures").render(localizer), "facts": rendered(facts, localizer)}
    if report.tables:
        most = (
            Message("Tables with the highest downtime cost")
            if report.by_cost
            else Message("Tables with the most downtime")
        )
        rows = [
            (
                Message("{name}", {"name": plain(table.name or "")}),
                _loss(table.downtime_us, table.cost, report.currency),
            )
            for table in report.tables[:_TEXT_ROWS]
        ]
        yield {"headline": most.render(localizer), "facts": rendered(rows, localizer)}
    if report.incidents.rows:
        rows = [
            (
                Message("#{id} {table}", {"id": row.id, "table": plain(row.table)}),
                Message("{title}", {"title": plain(format_title(row.title, localizer))}),
            )
            for row in report.incidents.rows[:_TEXT_ROWS]
        ]
        yield {"headline": Message("Incidents").render(localizer), "facts": rendered(rows, localizer)}


def _beside(name: str, this: Figures | None, before: Figures | None, *, currency: str, last: Message) -> Message:
    now, then = (_figure(name, column, currency) for column in (this, before))
    return Message("{now} ({last}: {then})", {"now": now, "last": last, "then": then})


def _figure(name: str, column: Figures | None, currency: str) -> Message:
    value = None if column is None else getattr(column, name)
    if value is None:
        return Message("unknown")
    if name == "n":
        return Message("{n:number}", {"n": int(value)})
    if name == "cost":
        return Message("{cost:money}", {"cost": Money(value, currency)})
    return Message("{time:hours}", {"time": length(value)})


def _loss(downtime_us: int, cost: Fraction | None, currency: str) -> Message:
    if cost is None:
        return Message("{time:hours}", {"time": length(downtime_us)})
    return Message("{time:hours}, {cost:money}", {"time": length(downtime_us), "cost": Money(cost, currency)})


def parts_of(report: PeriodReport, channel: Channel, localizer: Localizer, redactor: Redactor) -> Mapping[str, Any]:
    """Return the contents of a report's message beside title and text: HTML and a file, or JSON for a webhook.

    The file is in `attachments`: a sequence of `{name, mime, text}`. All of it is composed now, so that a message that
    is sent again is the same.
    """
    if channel.kind.reads_json:
        return {"report": redactor.value(shape.as_json(report, localizer))}
    page = render.as_html(report, localizer, redact=redactor)
    name = report.period.file_name(report.scope, localizer.language)
    return {
        "html": body_of(report, localizer, redact=redactor),
        "attachments": [{"name": name, "mime": "text/html", "text": page}],
    }


def body_of(report: PeriodReport, localizer: Localizer, *, redact: Callable[[str], str] = str) -> str:
    """Return the body of the mail: tables only, nothing fetched, under `MOST_BYTES`."""
    body = ""
    for rows in _BODY_ROWS:
        body = _body(report, localizer, redact, rows)
        if len(body.encode()) < MOST_BYTES:
            break
    return body


def _body(report: PeriodReport, localizer: Localizer, redact: Callable[[str], str], rows: int) -> str:
    environment = render.environment(localizer, report.currency, render.masking(redact))
    environment.filters["short"] = _short
    template = environment.get_template("mail/report.html.j2")
    return template.render(**render.period_values(report, localizer), rows=rows)


def _short(text: str, most: int = _LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
