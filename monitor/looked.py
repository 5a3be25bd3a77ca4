"""What came back from a look at a table. Importing this is cheap: who only judges needs no engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from checks import Check, Earlier, Json, Measurement, Message, Outcome, UnknownReason, unknown
from monitor.target import Target
from sources import PermissionDenied, QueryFailed, SourceError, TableNotFound, TimedOut, Unreachable

REASONS: Mapping[type[SourceError], UnknownReason] = {
    Unreachable: UnknownReason.UNREACHABLE,
    PermissionDenied: UnknownReason.PERMISSION,
    TimedOut: UnknownReason.TIMEOUT,
    TableNotFound: UnknownReason.MISCONFIGURED,
    QueryFailed: UnknownReason.MISCONFIGURED,
}


@dataclass(frozen=True, slots=True)
class CheckMeasurement:
    """What came back for one check: numbers to judge, or the outcome of a question that could not be asked."""

    check_id: str
    check: Check
    answer: Measurement | Outcome
    duration_s: float = 0.0
    earlier: Earlier | None = None
    """Which earlier measurements it wants to be judged against."""


@dataclass(frozen=True, slots=True)
class TableResult:
    """A table that was looked at: when, and what came back for each check.

    `told`: what came back for the target's question; an outcome says why that cannot be asked. None without a question,
    and where one that is paid for brought nothing: why may tell of the data.
    """

    target: Target
    started_at: datetime
    ended_at: datetime
    measured: Sequence[CheckMeasurement]
    told: Mapping[str, Json] | Outcome | None = None


def not_evaluated(error: SourceError) -> Outcome:
    """Give the outcome of a check whose source answered with an error."""
    return unknown(REASONS.get(type(error), UnknownReason.BUG), Message("{problem}", {"problem": str(error)}))


def misconfigured(error: Exception) -> Outcome:
    """Give the outcome of a check that does not fit its table."""
    return unknown(UnknownReason.MISCONFIGURED, Message("{problem}", {"problem": str(error)}))


def timed_out(query_timeout: timedelta) -> Outcome:
    """Return the outcome of a check whose statement went on after its limit and could not be stopped."""
    text = (
        "no answer within {deadline:duration}, and the statement could not be stopped; see query_timeout of the source"
    )
    return unknown(UnknownReason.TIMEOUT, Message(text, {"deadline": query_timeout.total_seconds()}))


def unscanned(target: Target, outcome: Outcome, now: datetime) -> TableResult:
    """Give what is known of a table that was not looked at: the same outcome for each of its checks."""
    measured = [CheckMeasurement(check_id, check, outcome) for check_id, check in target.subject.checks]
    return TableResult(target, now, now, measured, told=unanswered(target, outcome))


def unanswered(target: Target, outcome: Outcome) -> Outcome | None:
    """Give what may be heard of a question that was not answered."""
    return None if target.question is None or target.question.charged else outcome
