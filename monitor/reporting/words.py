"""The closed word sets as messages, to be said in the reader's language, with a shape beside each colour."""

from collections.abc import Mapping
from typing import Final

from checks import Message, Severity, UnknownReason
from incidents import NOT_RUN, FoundBy, Level, LevelVerdict, State
from incidents.causes import Likelihood
from monitor.config.alerts_model import OTHER
from monitor.releases.overview import ReleaseWord
from monitor.summaries.patterns import UNLISTED

SEVERITIES: Final[Mapping[Severity, Message]] = {
    Severity.CRITICAL: Message("critical"),
    Severity.ERROR: Message("error"),
    Severity.WARNING: Message("warning"),
    Severity.INFO: Message("info"),
}
SEVERITY_SHAPES: Final[Mapping[Severity, str]] = {
    Severity.CRITICAL: "◆",
    Severity.ERROR: "▲",
    Severity.WARNING: "■",
    Severity.INFO: "●",
}
STATES: Final[Mapping[State, Message]] = {
    State.OPEN: Message("open"),
    State.ACKNOWLEDGED: Message("acknowledged"),
    State.RESOLVED: Message("resolved"),
}
STATE_SHAPES: Final[Mapping[State, str]] = {State.OPEN: "●", State.ACKNOWLEDGED: "◎", State.RESOLVED: "○"}
CAUSES: Final[Mapping[str | None, Message]] = {
    None: Message("no cause given"),
    OTHER: Message("other cause"),
    UNLISTED: Message("not in the list of causes"),
}
"""Causes that stand in no configuration."""
FOUND_BY: Final[Mapping[FoundBy, Message]] = {
    FoundBy.CHECK: Message("detected by a check"),
    FoundBy.PERSON: Message("reported by a person"),
}
LEVELS: Final[Mapping[Level, Message]] = {
    Level.TIME_TO_DETECT: Message("time to detect"),
    Level.TIME_TO_NOTIFY: Message("time to notify"),
    Level.TIME_TO_REPAIR: Message("time to repair"),
    Level.AVAILABILITY: Message("availability"),
}
LEVEL_VERDICTS: Final[Mapping[LevelVerdict, Message]] = {
    LevelVerdict.KEPT: Message("kept"),
    LevelVerdict.PENDING: Message("may still be kept"),
    LevelVerdict.UNKNOWN: Message("not known"),
    LevelVerdict.BROKEN: Message("broken"),
}
LEVEL_VERDICT_SHAPES: Final[Mapping[LevelVerdict, str]] = {
    LevelVerdict.KEPT: "●",
    LevelVerdict.PENDING: "○",
    LevelVerdict.UNKNOWN: "△",
    LevelVerdict.BROKEN: "▲",
}
LIKELIHOODS: Final[Mapping[Likelihood, Message]] = {
    Likelihood.STRONG: Message("much speaks for it"),
    Likelihood.MODERATE: Message("some speaks for it"),
    Likelihood.WEAK: Message("little speaks for it"),
}
LIKELIHOOD_SHAPES: Final[Mapping[Likelihood, str]] = {
    Likelihood.STRONG: "●",
    Likelihood.MODERATE: "◎",
    Likelihood.WEAK: "○",
}
RELEASES: Final[Mapping[ReleaseWord, Message]] = {
    ReleaseWord.HOLD: Message("on hold"),
    ReleaseWord.EXPIRED: Message("expired"),
    ReleaseWord.APPROVED: Message("approved"),
    ReleaseWord.CLEAR: Message("within its limits"),
}
RELEASE_SHAPES: Final[Mapping[ReleaseWord, str]] = {
    ReleaseWord.HOLD: "▲",
    ReleaseWord.EXPIRED: "△",
    ReleaseWord.APPROVED: "●",
    ReleaseWord.CLEAR: "○",
}
NOT_WATCHED: Final = Message("monitoring had not started")
NOT_KEPT: Final = Message("past retention")
NOT_EVALUATED: Final = Message("could not be evaluated")
"""Why nobody knows of a week."""
REASONS: Final[Mapping[str, Message]] = {
    NOT_RUN: Message("not run"),
    UnknownReason.NO_DATA: Message("no data to evaluate"),
    UnknownReason.TIMEOUT: Message("the query timed out"),
    UnknownReason.UNREACHABLE: Message("the source could not be reached"),
    UnknownReason.PERMISSION: Message("permission denied"),
    UnknownReason.MISCONFIGURED: Message("the check is not applicable to the table"),
    UnknownReason.BUG: Message("the check failed with an internal error"),
}
