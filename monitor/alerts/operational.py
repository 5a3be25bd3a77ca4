"""Notify operators of Tablewatch itself, and readers of reports: messages that are about no single incident."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from checks import Message, Severity
from monitor.alerts.message import MessageComposer
from monitor.alerts.route import operators
from monitor.alerts.wording import plain
from monitor.config.project import Project
from monitor.reporting.filters import format_title
from monitor.reporting.sentences import length
from monitor.reporting.words import PERIOD_WORDS, SEVERITIES
from monitor.terminal.localizer import Localizer, Money
from store import Delivery, MessageSubject

if TYPE_CHECKING:
    from monitor.reporting.figures import Figures
    from monitor.reporting.model import PeriodReport

_SAID_LATELY: Final = timedelta(hours=1)
_SAID_OF_STATISTICS: Final = timedelta(days=366)
_LONGEST_WHY: Final = 1_000
_ROWS: Final = 10


class Operation(StrEnum):
    """What operators hear of."""

    CONFIG_FAILED = "config-failed"
    CONFIG_FINE = "config-fine"
    SOURCE_UNREACHABLE = "source-unreachable"
    SOURCE_REACHABLE = "source-reachable"
    CHECK_QUARANTINED = "check-quarantined"
    CHECK_RELEASED = "check-released"
    ROTA_UNKNOWN = "rota-unknown"
    ROTA_KNOWN = "rota-known"
    STATISTIC_HELD = "statistic-held"
    STATISTIC_ANSWERED = "statistic-answered"
    BUDGET_BURNING = "budget-burning"
    BUDGET_CALM = "budget-calm"


_TITLES: Final[Mapping[Operation, Message]] = {
    Operation.CONFIG_FAILED: Message("[tablewatch] the new configuration has errors"),
    Operation.CONFIG_FINE: Message("[tablewatch] configuration reloaded"),
    Operation.SOURCE_UNREACHABLE: Message("[tablewatch] source {name} is unreachable"),
    Operation.SOURCE_REACHABLE: Message("[tablewatch] source {name} is reachable again"),
    Operation.CHECK_QUARANTINED: Message("[tablewatch] check {name} crashes repeatedly and is suspended"),
    Operation.CHECK_RELEASED: Message("[tablewatch] check {name} has recovered"),
    Operation.ROTA_UNKNOWN: Message("[tablewatch] who is on call for {name} is not known; its fallback is notified"),
    Operation.ROTA_KNOWN: Message("[tablewatch] who is on call for {name} is known again"),
    Operation.STATISTIC_HELD: Message("[tablewatch] scheduled query {name} is not running"),
    Operation.STATISTIC_ANSWERED: Message("[tablewatch] scheduled query {name} is running again"),
    Operation.BUDGET_BURNING: Message("[tablewatch] the error budget of {name} is being spent too fast"),
    Operation.BUDGET_CALM: Message("[tablewatch] the error budget of {name} is no longer being spent too fast"),
}
_ADVICE: Final[Mapping[Operation, Message]] = {
    Operation.CONFIG_FAILED: Message(
        "What was valid before stays in use. Run 'tablewatch config check' for the errors and their locations."
    ),
    Operation.SOURCE_UNREACHABLE: Message("Its tables are not monitored until then; this does not open an incident."),
    Operation.ROTA_UNKNOWN: Message("Run 'tablewatch alert on-call' for who is on call by the calendar."),
    Operation.STATISTIC_HELD: Message("This notification is sent once; 'tablewatch status' shows the current state."),
    Operation.BUDGET_BURNING: Message("'tablewatch contract show' lists the incidents and what is left of the budget."),
    Operation.CHECK_QUARANTINED: Message("The check does not run on its table until then; it is retried periodically."),
}


@dataclass(frozen=True, slots=True)
class OperationalEvent:
    """Something about no single incident: which source, check or contract it is about, since when, until when, and why.

    `why` is in our own words (a problem's message), without data values; secrets of the configuration are masked here.
    `facts` are more lines about it.
    """

    operation: Operation
    name: str = ""
    why: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    severity: Severity | None = None
    facts: Sequence[tuple[Message, Message]] = ()

    @property
    def is_news_after(self) -> timedelta:
        """Return how long operators do not hear the same again, unless they heard something else about it meanwhile.

        A budget that is spent stays so, and a statistic may be due every minute.
        """
        return _SAID_OF_STATISTICS if _family(self.operation) == "statistic" else _SAID_LATELY


def operations(
    project: Project, happened: OperationalEvent, *, now: datetime, deliveries: Sequence[Delivery] = ()
) -> Sequence[Delivery]:
    """Return the messages that tell the operators: one for each of their channels; none if none.

    Several daemons notice the same thing. `deliveries` are the messages of as long as this is no news
    (`is_news_after`), newest first: a channel whose newest one about this source, check, statistic or the configuration
    says the same gets none. Daemons that notice the same thing give their messages the same ids, so of two that write
    at the same moment only one succeeds.
    """
    writer = MessageComposer(project, now)
    results = []
    for channel in operators(project.config):
        message = operation_message(writer, channel, happened, now=now)
        before = next(
            (delivery for delivery in deliveries if delivery.channel == channel and _is_about(delivery, happened)), None
        )
        if before is None or _fact(before.payload) != _fact(message.payload):
            results.append(replace(message, id=_id_after(before, project, message)))
    return results


def operation_message(writer: MessageComposer, channel: str, happened: OperationalEvent, *, now: datetime) -> Delivery:
    """Return the message that tells a channel what happened."""
    return enqueue(channel, MessageSubject.OPERATIONS, _operation(writer, channel, happened), now=now)


def _is_about(message: Delivery, happened: OperationalEvent) -> bool:
    """Check whether a message is about the same source or check, or the configuration too."""
    if message.subject is not MessageSubject.OPERATIONS or message.payload.get("name") != happened.name:
        return False
    return _family(str(message.payload.get("operation"))) == _family(happened.operation)


def _family(operation: str) -> str:
    return operation.partition("-")[0]


def _fact(payload: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what a message says, without the times: each daemon noticed at another."""
    return str(payload.get("operation")), str(payload.get("name")), str(payload.get("why"))


def _id_after(before: Delivery | None, project: Project, message: Delivery) -> str:
    hour = message.created_at.strftime("%Y-%m-%dT%H")
    parts = (project.config.project, message.channel, *_fact(message.payload), hour if before is None else before.id)
    return f"msg_{sha256(chr(0).join(parts).encode()).hexdigest()[:24]}"


def report_delivery(project: Project, report: "PeriodReport", channel: str, *, now: datetime) -> Delivery:
    """Return the message that brings the report of a period to a channel, in the channel's language.

    People get the figures as text, a page for mail, and the report as a file; a webhook gets it as JSON (`parts_of`).
    """
    from monitor.alerts.report_message import parts_of

    writer = MessageComposer(project, now)
    localizer = writer.localizer(channel)
    dates = (report.period.first, report.period.last)
    title = Message("Data downtime, {dates:dates}: {headline}", {"dates": dates, "headline": report.headline})
    if report.domain is not None:
        title = Message("{domain}: {title}", {"domain": plain(report.domain_name or ""), "title": title})
    content = {
        "subject": MessageSubject.REPORT.value,
        "title": title.render(localizer),
        "blocks": list(_report_blocks(report, localizer)),
        "lines": [],
        report.period.unit: str(report.period),
        "domain": report.domain,
    }
    parts = parts_of(
        report, project.config.alerts.channels[channel], localizer, project.loaded.redactor
    )  # masks itself
    payload = {**writer.payload("tablewatch.report-mail/1", channel, content), **parts}
    return enqueue(channel, MessageSubject.REPORT, payload, now=now)


def _operation(writer: MessageComposer, channel: str, happened: OperationalEvent) -> Mapping[str, Any]:
    localizer = writer.localizer(channel)
    title = _TITLES[happened.operation].given(name=plain(happened.name)).render(localizer)
    facts = list(happened.facts)
    if happened.severity is not None:
        facts.insert(0, (Message("Severity"), SEVERITIES[happened.severity]))
    if happened.why is not None:
        facts.append((Message("Why"), Message("{text}", {"text": plain(happened.why, _LONGEST_WHY)})))
    if happened.since is not None:
        facts.append((Message("Started"), Message("{at:time}", {"at": happened.since})))
    if happened.until is not None:
        facts.append((Message("Until"), Message("{at:time}", {"at": happened.until})))
    advice = _ADVICE.get(happened.operation)
    content = {
        "subject": MessageSubject.OPERATIONS.value,
        "title": title,
        "blocks": [{"headline": title, "facts": _said(facts, localizer)}],
        "lines": [] if advice is None else [advice.render(localizer)],
        "operation": happened.operation.value,
        "name": happened.name,
        "severity": None if happened.severity is None else happened.severity.value,
        "why": None if happened.why is None else plain(happened.why, _LONGEST_WHY),
        "since": None if happened.since is None else happened.since.isoformat(),
        "until": None if happened.until is None else happened.until.isoformat(),
    }
    return writer.payload("tablewatch.operations/1", channel, content)


def _report_blocks(report: "PeriodReport", localizer: Localizer) -> Iterator[Mapping[str, Any]]:
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
    yield {"headline": Message("Figures").render(localizer), "facts": _said(facts, localizer)}
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
            for table in report.tables[:_ROWS]
        ]
        yield {"headline": most.render(localizer), "facts": _said(rows, localizer)}
    if report.incidents.rows:
        rows = [
            (
                Message("#{id} {table}", {"id": row.id, "table": plain(row.table)}),
                Message("{title}", {"title": plain(format_title(row.title, localizer))}),
            )
            for row in report.incidents.rows[:_ROWS]
        ]
        yield {"headline": Message("Incidents").render(localizer), "facts": _said(rows, localizer)}


def _beside(name: str, this: "Figures | None", before: "Figures | None", *, currency: str, last: Message) -> Message:
    now, then = (_figure(name, column, currency) for column in (this, before))
    return Message("{now} ({last}: {then})", {"now": now, "last": last, "then": then})


def _figure(name: str, column: "Figures | None", currency: str) -> Message:
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


def _said(facts: Sequence[tuple[Message, Message]], localizer: Localizer) -> list[list[str]]:
    return [[label.render(localizer), text.render(localizer)] for label, text in facts]


def enqueue(
    channel: str, subject: MessageSubject, payload: Mapping[str, Any], *, now: datetime, about: str | None = None
) -> Delivery:
    """Return a new message, to be sent at once, under an id that is never given again; `about` names its one table."""
    return Delivery(
        id=f"msg_{secrets.token_hex(12)}",
        channel=channel,
        subject=subject,
        payload=payload,
        created_at=now,
        next_try_at=now,
        about=about,
    )
