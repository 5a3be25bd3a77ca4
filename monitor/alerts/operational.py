"""Notify operators of the state of Tablewatch itself, and channels of error budgets: messages about no incident."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

from checks import Message, Severity
from monitor.alerts.message import MessageComposer
from monitor.alerts.route import operators
from monitor.alerts.wording import plain
from monitor.config.project import Project
from monitor.reporting.words import SEVERITIES
from monitor.terminal.localizer import Localizer
from store import Delivery, MessageSubject

_REPEAT_AFTER: Final = timedelta(hours=1)
_REPEAT_STATISTICS_AFTER: Final = timedelta(days=366)
_LONGEST_WHY: Final = 1_000


class Operation(StrEnum):
    """What an operational message is about."""

    CONFIG_FAILED = "config-failed"
    CONFIG_FINE = "config-fine"
    SOURCE_UNREACHABLE = "source-unreachable"
    SOURCE_REACHABLE = "source-reachable"
    TABLE_LOST = "table-lost"
    TABLE_BACK = "table-back"
    PATTERN_JOINED = "pattern-joined"
    PATTERN_GONE = "pattern-gone"
    CHECK_QUARANTINED = "check-quarantined"
    CHECK_RELEASED = "check-released"
    ROTA_UNKNOWN = "rota-unknown"
    ROTA_INCOMPLETE = "rota-incomplete"
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
    Operation.TABLE_LOST: Message("[tablewatch] table {name} can no longer be checked"),
    Operation.TABLE_BACK: Message("[tablewatch] table {name} can be checked again"),
    Operation.PATTERN_JOINED: Message("[tablewatch] new tables are monitored, such as {name}"),
    Operation.PATTERN_GONE: Message("[tablewatch] tables are gone from their source, such as {name}"),
    Operation.CHECK_QUARANTINED: Message("[tablewatch] check {name} crashes repeatedly and is suspended"),
    Operation.CHECK_RELEASED: Message("[tablewatch] check {name} has recovered"),
    Operation.ROTA_UNKNOWN: Message("[tablewatch] who is on call for {name} is not known; its fallback is notified"),
    Operation.ROTA_INCOMPLETE: Message("[tablewatch] the calendar of {name} has events that are ignored"),
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
    Operation.TABLE_LOST: Message(
        "Checks that worked before do not any more, and open no incident until then. If the table was renamed, "
        "'tablewatch table rename' keeps its history."
    ),
    Operation.PATTERN_JOINED: Message(
        "A pattern of the configuration matches them; 'tablewatch table list' shows them."
    ),
    Operation.PATTERN_GONE: Message(
        "They are listed until the pattern excludes them, and so are their incidents. Of a table that was renamed, "
        "'tablewatch table rename' keeps the history."
    ),
    Operation.ROTA_UNKNOWN: Message("Run 'tablewatch alert on-call' for who is on call by the calendar."),
    Operation.ROTA_INCOMPLETE: Message("Who is on call is known from its other events, and may be another person."),
    Operation.STATISTIC_HELD: Message("This notification is sent once; 'tablewatch status' shows the current state."),
    Operation.BUDGET_BURNING: Message("'tablewatch contract show' lists the incidents and what is left of the budget."),
    Operation.CHECK_QUARANTINED: Message("The check does not run on its table until then; it is retried periodically."),
}


@dataclass(frozen=True, slots=True)
class OperationalEvent:
    """An event about a source, check or contract: its `name`, since when, until when, and why.

    `why`: the message of a problem, without data values; secrets of the configuration are masked here. `facts`: more
    lines.
    """

    operation: Operation
    name: str = ""
    why: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    severity: Severity | None = None
    facts: Sequence[tuple[Message, Message]] = ()

    @property
    def repeat_after(self) -> timedelta:
        """Return for how long the same message is not repeated, unless another about the same was sent meanwhile.

        A budget that is spent stays so, and a scheduled query may be due every minute.
        """
        return _REPEAT_STATISTICS_AFTER if _family(self.operation) == "statistic" else _REPEAT_AFTER


def operations(
    project: Project, event: OperationalEvent, *, now: datetime, deliveries: Sequence[Delivery] = ()
) -> Sequence[Delivery]:
    """Return the messages to the operators, one for each of their channels.

    `deliveries`: messages of the last `repeat_after`, newest first. A channel whose newest one about this source, check
    or statistic, or the configuration, is equal gets none. Several daemons detect the same event: they give their
    messages the same ids, so of two that write at the same moment only one succeeds.
    """
    composer = MessageComposer(project, now)
    results = []
    for channel in operators(project.config):
        message = operation_message(composer, channel, event, now=now)
        before = next(
            (delivery for delivery in deliveries if delivery.channel == channel and _is_about(delivery, event)), None
        )
        if before is None or _fact(before.payload) != _fact(message.payload):
            results.append(replace(message, id=_id_after(before, project, message)))
    return results


def operation_message(composer: MessageComposer, channel: str, event: OperationalEvent, *, now: datetime) -> Delivery:
    """Return the message about an event to a channel."""
    return enqueue(channel, MessageSubject.OPERATIONS, _operation(composer, channel, event), now=now)


def _is_about(message: Delivery, event: OperationalEvent) -> bool:
    """Check whether a message is about the same source or check, or the configuration too."""
    if message.subject is not MessageSubject.OPERATIONS or message.payload.get("name") != event.name:
        return False
    return _family(str(message.payload.get("operation"))) == _family(event.operation)


def _family(operation: str) -> str:
    return operation.partition("-")[0]


def _fact(payload: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the content of a message without its times, which differ between daemons."""
    return str(payload.get("operation")), str(payload.get("name")), str(payload.get("why"))


def _id_after(before: Delivery | None, project: Project, message: Delivery) -> str:
    hour = message.created_at.strftime("%Y-%m-%dT%H")
    parts = (project.config.project, message.channel, *_fact(message.payload), hour if before is None else before.id)
    return f"msg_{sha256(chr(0).join(parts).encode()).hexdigest()[:24]}"


def _operation(composer: MessageComposer, channel: str, event: OperationalEvent) -> Mapping[str, Any]:
    localizer = composer.localizer(channel)
    title = _TITLES[event.operation].given(name=plain(event.name)).render(localizer)
    facts = list(event.facts)
    if event.severity is not None:
        facts.insert(0, (Message("Severity"), SEVERITIES[event.severity]))
    if event.why is not None:
        facts.append((Message("Why"), Message("{text}", {"text": plain(event.why, _LONGEST_WHY)})))
    if event.since is not None:
        facts.append((Message("Started"), Message("{at:time}", {"at": event.since})))
    if event.until is not None:
        facts.append((Message("Until"), Message("{at:time}", {"at": event.until})))
    advice = _ADVICE.get(event.operation)
    content = {
        "subject": MessageSubject.OPERATIONS.value,
        "title": title,
        "blocks": [{"headline": title, "facts": rendered(facts, localizer)}],
        "lines": [] if advice is None else [advice.render(localizer)],
        "operation": event.operation.value,
        "name": event.name,
        "severity": None if event.severity is None else event.severity.value,
        "why": None if event.why is None else plain(event.why, _LONGEST_WHY),
        "since": None if event.since is None else event.since.isoformat(),
        "until": None if event.until is None else event.until.isoformat(),
    }
    return composer.payload("tablewatch.operations/1", channel, content)


def rendered(facts: Sequence[tuple[Message, Message]], localizer: Localizer) -> list[list[str]]:
    """Return facts in the language of a channel."""
    return [[label.render(localizer), text.render(localizer)] for label, text in facts]


def enqueue(
    channel: str, subject: MessageSubject, payload: Mapping[str, Any], *, now: datetime, about: str | None = None
) -> Delivery:
    """Return a new message to be sent at once, under a random id; `about`: its one table."""
    return Delivery(
        id=f"msg_{secrets.token_hex(12)}",
        channel=channel,
        subject=subject,
        payload=payload,
        created_at=now,
        next_try_at=now,
        about=about,
    )
