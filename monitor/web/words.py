"""The closed word sets that only pages show, as messages in the reader's language, with a shape beside each colour."""

from collections.abc import Mapping
from typing import Any, Final

from checks import Message, Status
from incidents import Lever
from monitor.alerts.decision_record import UNDECIDED, DecisionAction
from monitor.alerts.notification_pass import NO_CHANNEL, NO_TABLE
from monitor.channels import TicketStatus
from monitor.doctor.finding import FindingStatus
from monitor.reporting import release_comparison, release_record
from monitor.reporting.words import (
    LEVEL_VERDICT_SHAPES,
    LEVEL_VERDICTS,
    LEVELS,
    LIKELIHOOD_SHAPES,
    LIKELIHOODS,
    REASONS,
    RELEASE_SHAPES,
    RELEASES,
    SEVERITIES,
)
from monitor.summaries.causes import LOGGED_EVENTS
from monitor.summaries.health import TableHealth
from monitor.web.views.downtime import SplitBy
from store import DeliveryState

HEALTH: Final[Mapping[str, tuple[str, Message]]] = {
    TableHealth.DEGRADED: ("▲", Message("degraded")),
    TableHealth.UNKNOWN: ("◇", Message("unknown")),
    TableHealth.WARNING: ("■", Message("warning")),
    TableHealth.NOT_YET_CHECKED: ("·", Message("not checked yet")),
    TableHealth.NOT_MONITORED: ("○", Message("not monitored")),
    TableHealth.HEALTHY: ("●", Message("healthy")),
}
STATUSES: Final[Mapping[str, tuple[str, Message]]] = {
    Status.PASS: ("●", Message("pass")),
    Status.WARN: ("■", Message("warn")),
    Status.FAIL: ("▲", Message("fail")),
    Status.UNKNOWN: ("◇", Message("unknown")),
    "not-yet-checked": ("·", Message("not checked yet")),
}
EVENTS: Final[Mapping[str, Message]] = {
    "opened": Message("opened"),
    "reopened": Message("reopened"),
    "acknowledged": Message("acknowledged"),
    "assigned": Message("assigned"),
    "snoozed": Message("snoozed"),
    "resolved": Message("resolved"),
    "corrected": Message("times corrected"),
    "commented": Message("comment"),
    "post-mortem": Message("post-mortem"),
    "merged": Message("merged"),
    "root-named": Message("cause linked"),
    "renamed": Message("renamed"),
    "escalated": Message("severity raised"),
    "flapped": Message("failed again after it had passed"),
    "ticket-said": Message("changed by its ticket"),
}
LEVERS: Final[Mapping[str, Message]] = {
    Lever.DETECT: Message("Most of the downtime passed before detection: review check intervals and limits."),
    Lever.REPAIR: Message("Most of the downtime came after detection: review alert routing, runbooks and pipelines."),
    Lever.BOTH_ALIKE: Message("Detection and resolution took about the same time."),
    Lever.NONE: Message(
        "The start of the downtime is too uncertain to tell whether detection or resolution is slower."
    ),
}
DAEMONS: Final[Mapping[str, tuple[str, Message]]] = {
    "running": ("●", Message("running")),
    "silent": ("▲", Message("no heartbeat")),
    "stopped": ("○", Message("stopped")),
}
TICKETS: Final[Mapping[str, Message]] = {
    TicketStatus.NEW: Message("new"),
    TicketStatus.IN_PROGRESS: Message("in progress"),
    TicketStatus.CLOSED: Message("closed"),
}
CHANNELS: Final[Mapping[str, tuple[str, Message]]] = {
    "ok": ("●", Message("ok")),
    "waiting": ("■", Message("retrying")),
    "failing": ("▲", Message("failing")),
    "disabled": ("○", Message("disabled")),
}
FINDINGS: Final[Mapping[str, tuple[str, Message]]] = {
    FindingStatus.OK: ("●", Message("ok")),
    FindingStatus.WARNING: ("■", Message("warning")),
    FindingStatus.ERROR: ("▲", Message("error")),
    FindingStatus.UNKNOWN: ("◇", Message("unknown")),
}
SPLITS: Final[Mapping[str, Message]] = {
    SplitBy.TABLE: Message("Table"),
    SplitBy.OWNER: Message("Owner"),
    SplitBy.DOMAIN: Message("Domain"),
    SplitBy.CHECK: Message("Check"),
    SplitBy.SEVERITY: Message("Severity"),
    SplitBy.CAUSE: Message("Cause"),
    SplitBy.ROOT_OWNER: Message("Owner of the root cause"),
    SplitBy.INCIDENT: Message("Incident"),
}
ACTIONS: Final[Mapping[str, Message]] = {
    DecisionAction.NOTIFIED: Message("notified"),
    DecisionAction.HELD: Message("held back"),
    DecisionAction.DROPPED: Message("dropped"),
    DecisionAction.NOTHING: Message("not notified"),
}
DELIVERIES: Final[Mapping[str, Message]] = {
    DeliveryState.WAITING: Message("waiting"),
    DeliveryState.SENT: Message("sent"),
    DeliveryState.DEAD: Message("given up"),
}
RELEASE_EVENTS: Final = {kind.value: ("", message) for kind, message in release_record.EVENTS.items()}
REMEDIES: Final = {
    status: (release_comparison.SHAPES[status], message) for status, message in release_comparison.STATUSES.items()
}


def page_words() -> Mapping[str, Mapping[str, tuple[str, Message]]]:
    """Return each word set by its name in templates: a shape (none where no colour is) and the word."""
    plain: Mapping[str, Mapping[Any, Message]] = {
        "event": EVENTS,
        "lever": LEVERS,
        "level": LEVELS,
        "logged_event": LOGGED_EVENTS,
        "action": ACTIONS,
        "delivery": DELIVERIES,
        "severity": SEVERITIES,
        "split": SPLITS,
        "ticket": TICKETS,
    }
    return {
        "health": HEALTH,
        "status": STATUSES,
        "daemon": DAEMONS,
        "channel": CHANNELS,
        "finding": FINDINGS,
        "verdict": {word: (LEVEL_VERDICT_SHAPES[word], message) for word, message in LEVEL_VERDICTS.items()},
        "likelihood": {word: (LIKELIHOOD_SHAPES[word], message) for word, message in LIKELIHOODS.items()},
        "release": {word: (RELEASE_SHAPES[word], message) for word, message in RELEASES.items()},
        "reason": {str(reason): ("", message) for reason, message in REASONS.items()},
        "release_event": RELEASE_EVENTS,
        "not_routed": {str(message): ("", message) for message in (NO_CHANNEL, NO_TABLE, *UNDECIDED)},
        "remedy": REMEDIES,
        **{name: {key: ("", message) for key, message in words.items()} for name, words in plain.items()},
    }
