"""Compose test messages for channels: like real ones, with a title that marks them as tests."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from checks import Kind, Message, OccurrenceMethod, Severity
from incidents import Episode, FoundBy, Incident, Onset, Resolution, State
from monitor.alerts.batch import Batch, BatchItem
from monitor.alerts.decide import NotificationReason
from monitor.alerts.hold import HoldRules
from monitor.alerts.message import SCHEMA, MessageComposer
from monitor.alerts.operational import enqueue
from monitor.config.project import Project
from store import Delivery, MessageSubject

if TYPE_CHECKING:
    from monitor.reporting.model import PeriodReport

_TITLE: Final = Message("[test] {title}")
_LINE: Final = Message("This is a test message for channel {name}; no incident occurred.")
_DURATION: Final = timedelta(minutes=90)


class TrialMessageKind(StrEnum):
    """What a test message looks like."""

    INCIDENT = "incident"
    RESOLVED = "resolved"
    WARNING = "warning"
    """One that opened no incident."""
    REPORT = "report"


def trial_message(
    project: Project, channel: str, like: TrialMessageKind, *, now: datetime, report: "PeriodReport | None" = None
) -> Delivery:
    """Return a message of subject `test` about the first configured table, with invented figures.

    Args:
        project: whose channel it is.
        channel: its name.
        like: what it looks like.
        now: the present, UTC.
        report: the report to send; required for `TrialMessageKind.REPORT`, whose figures are real.
    """
    composer = MessageComposer(project, now)
    localizer = composer.localizer(channel)
    if like is TrialMessageKind.REPORT:
        if report is None:
            raise ValueError("a test message in the form of a report needs a report")
        from monitor.alerts.report_message import report_delivery

        payload = report_delivery(project, report, channel, now=now).payload
        lines: list[str] = []
    else:
        payload = _incidents(project, composer, channel, like, now)
        lines = [_LINE.given(name=channel).render(localizer)]
    title = _TITLE.given(title=payload["title"]).render(localizer)
    content = {**payload, "subject": MessageSubject.TEST.value, "title": title, "lines": [*lines, *payload["lines"]]}
    test = composer.payload(payload.get("schema", SCHEMA), channel, content)
    return enqueue(channel, MessageSubject.TEST, test, now=now)


def _incidents(
    project: Project, composer: MessageComposer, channel: str, like: TrialMessageKind, now: datetime
) -> Mapping[str, Any]:
    config = project.config
    resolved = like is TrialMessageKind.RESOLVED
    example = _example(config.tables[0].name if config.tables else "example", now, resolved=resolved)
    if like is TrialMessageKind.WARNING:
        example = replace(example, id=-1, severity=Severity.WARNING)
    item = BatchItem(
        example,
        NotificationReason.RESOLVED if resolved else NotificationReason.FIRST,
        now,
    )
    hold_rules = HoldRules(config, silences=(), around=(), now=now)
    return composer.incidents(Batch((item,)), channel, hold_rules)


def _example(table: str, now: datetime, *, resolved: bool) -> Incident:
    detected = now - (_DURATION if resolved else timedelta())
    began = detected - _DURATION
    onset = Onset(began, began, detected, OccurrenceMethod.LAST_GOOD_RUN)
    return Incident(
        id=0,
        fingerprint=f"{table}.example",
        table=table,
        check_id=None,
        kind=Kind.QUALITY,
        severity=Severity.ERROR,
        title="{column}: {nulls:count} of {rows:count} rows are NULL ({ratio:ratio})",
        title_values={"column": "example", "nulls": 1_204, "rows": 26_115, "ratio": 1_204 / 26_115},
        found_by=FoundBy.CHECK,
        state=State.RESOLVED if resolved else State.OPEN,
        episodes=(Episode(onset, detected, now if resolved else None),),
        resolution=Resolution.FIXED if resolved else None,
    )
